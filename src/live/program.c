/* program.c - examines an ELF file before it runs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/program.h"

#include "arch/arch.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/text.h"
#include "protocol/config.h"
#include "protocol/listen.h"
#include "symbol/elf.h"
#include "symbol/jemalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { path_size = CAIRN_PROGRAM_PATH };

static bool is_program(const char *path)
{
	struct stat status;
	return access(path, X_OK) == 0 && stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

bool cairn_program_find(const char *name, char *out)
{
	if (strchr(name, '/')) {
		snprintf(out, path_size, "%s", name);
		return is_program(out);
	}
	const char *search = getenv("PATH");
	for (size_t length; search && *search; search += length + (search[length] == ':')) {
		length = strcspn(search, ":");
		snprintf(out, path_size, "%.*s/%s", (int)length, search, name);
		if (length > 0 && is_program(out))
			return true;
	}
	return false;
}

bool cairn_program_library(const char *file, char *out)
{
	char own[path_size] = "";
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	own[length > 0 ? length : 0] = 0;
	size_t folder = cairn_path_folder(own);
	own[folder ? folder - 1 : 0] = 0;
	static const struct {
		bool beside; /* relative to the command */
		const char *folder;
	} places[] = {
		{true, ""}, {true, "/../lib"}, {true, "/../lib/" CAIRN_ARCH_NAME "-linux-gnu"}, {true, "/../lib64"},
		{false, "/usr/lib/" CAIRN_ARCH_NAME "-linux-gnu"}, {false, "/usr/lib64"}, {false, "/usr/lib"}, {false, "/usr/local/lib"},
	};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int size = snprintf(out, path_size, "%s%s/%s", places[i].beside ? own : "", places[i].folder, file);
		if (size > 0 && size < path_size && access(out, R_OK) == 0)
			return true;
	}
	return false;
}

/* Asks the loader which libraries it would load. The program itself does not run. */
static bool loads_jemalloc(const char *loader, const char *program)
{
	struct cairn_buffer list = cairn_buffer(1 << 20);
	cairn_process_read((const char *const[]){loader, "--list", program, NULL}, &list, NULL);
	bool found = list.length && memmem(list.data, list.length, "libjemalloc", 11);
	cairn_buffer_free(&list);
	return found;
}

static struct cairn_program study_binary(const struct cairn_elf *elf, const char *path)
{
	struct cairn_bytes loader = cairn_elf_named(elf, ".interp");
	struct cairn_program program = {.jemalloc = CAIRN_JEMALLOC_NONE, .is_static = loader.length == 0};
	program.is_musl = loader.length && memmem(loader.data, loader.length, "ld-musl", 7);
	struct cairn_elf_jemalloc jemalloc;
	/* jemalloc's messages begin with this, in every build. */
	if (memmem(elf->file.bytes.data, elf->file.bytes.length, "<jemalloc>", 10)) {
		bool known = cairn_elf_jemalloc(elf, &jemalloc);
		program.jemalloc = CAIRN_JEMALLOC_INSIDE;
		/* Its malloc is found by that name. A program that has the agent inside as well may pass its mallctl. */
		program.is_hidden = known && !jemalloc.has_symbols && !cairn_elf_exports(elf, "malloc") &&
				    !memmem(elf->file.bytes.data, elf->file.bytes.length, "CAIRN_CONF", 10);
		program.is_unable = known && !jemalloc.profiles;
		if (known)
			snprintf(program.variable, sizeof program.variable, "%s", jemalloc.variable);
	} else if (loader.length && !program.is_musl && loader.data[loader.length - 1] == '\0' && loads_jemalloc(loader.data, path))
		program.jemalloc = CAIRN_JEMALLOC_LOADED;
	return program;
}

/* Interpreters may be scripts, of which the kernel starts at most INTERPRETERS_LEFT one after the other. */
static struct cairn_program study(const char *path, int interpreters_left)
{
	struct cairn_file file;
	struct cairn_program program = {.jemalloc = CAIRN_JEMALLOC_UNKNOWN};
	char interpreter[256] = "";
	if (!cairn_file_map(&file, path, NULL)) /* whatever a script names: a device has no end, and a pipe never begins */
		return program;
	if (cairn_bytes_start_with(file.bytes, "#!")) {
		struct cairn_bytes rest = cairn_bytes_skip(file.bytes, 2), line = {"", 0};
		cairn_text_line(&rest, &line, NULL);
		line = cairn_text_trim(line);
		snprintf(interpreter, sizeof interpreter, "%.*s", (int)line.length, line.data);
		interpreter[strcspn(interpreter, " \t")] = 0;
	}
	struct cairn_elf *elf = cairn_elf_open_bytes(file.bytes, path, NULL);
	if (elf)
		program = study_binary(elf, path);
	cairn_elf_close(elf);
	cairn_file_close(&file);
	if (interpreter[0] && interpreters_left > 0) {
		program = study(interpreter, interpreters_left - 1);
		program.is_script = true;
	}
	return program;
}

struct cairn_program cairn_program_study(const char *path)
{
	enum { interpreters_most = 5 };
	return study(path, interpreters_most);
}

bool cairn_program_settings_are_good(const struct cairn_program_settings *settings, struct cairn_error *error)
{
	const char *token = settings->token, *listen = settings->listen;
	struct cairn_config config;
	/* It travels in a list of settings. */
	if (token && (!token[0] || strchr(token, ',')))
		return cairn_fail_usage(error, "a token has at least one character, and no comma");
	if (listen && cairn_listen_check(listen))
		return cairn_fail_usage(error, "--listen %.80s: %s", listen, cairn_listen_check(listen));
	cairn_config_default(&config);
	if (settings->budget)
		cairn_config_set(&config, "budget", cairn_bytes_of(settings->budget), CAIRN_CONFIG_ENVIRONMENT);
	return !config.problems[0] || cairn_fail_usage(error, "--%s", config.problems);
}
