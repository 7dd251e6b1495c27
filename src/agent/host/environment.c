/* environment.c - copying the environment and finding the command.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/environment.h"

#include "agent/unwind/object.h"
#include "base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_kept(const char *variable)
{
	static const char *const dropped[] = {
		"LD_PRELOAD=", "LD_AUDIT=", "CAIRN_CONF=", "CAIRN_CONFIG=", "CAIRN_REPORT=", "CAIRN_PAGE_TOKEN="};
	for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
		if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
			return false;
	/* MALLOC_CONF, _RJEM_MALLOC_CONF, JEMALLOC_CONF, … */
	const char *equals = strchr(variable, '=');
	return !equals || equals - variable < 11 || memcmp(equals - 11, "MALLOC_CONF", 11) != 0;
}

char **cairn_environment_copy(char *const *environment)
{
	size_t count = 0, bytes = 0;
	for (size_t i = 0; environment && environment[i]; i++)
		if (is_kept(environment[i])) {
			count++;
			bytes += strlen(environment[i]) + 1;
		}
	size_t size = (count + 1) * sizeof(char *) + bytes;
	char **copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return NULL;
	char *text = (char *)(copy + count + 1);
	size_t kept = 0;
	for (size_t i = 0; environment && environment[i] && kept < count; i++)
		if (is_kept(environment[i])) {
			copy[kept++] = text;
			text = stpcpy(text, environment[i]) + 1;
		}
	return copy;
}

struct own {
	char *out;
	size_t size;
};

static bool find_own(void *context, const struct cairn_object *module)
{
	struct own *own = context;
	if (!cairn_object_executes(module, (uintptr_t)find_own))
		return false;
	snprintf(own->out, own->size, "%s", module->program ? "" : module->path);
	return true;
}

static bool is_program(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool try_tool(const char *folder, size_t length, const char *tail, char *out, size_t size)
{
	int written = snprintf(out, size, "%.*s%s", (int)length, folder, tail);
	if (written > 0 && (size_t)written < size && out[0] == '/' && is_program(out))
		return true;
	out[0] = 0;
	return false;
}

/* Takes the ".." out of PATH, which people get to see in the status and in errors. */
static void make_plain(char *path, size_t size)
{
	char link[40], real[512];
	int descriptor = open(path, O_PATH | O_CLOEXEC);
	if (descriptor < 0)
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	ssize_t length = readlink(link, real, sizeof real);
	close(descriptor);
	if (length <= 0 || (size_t)length >= sizeof real || (size_t)length >= size || real[0] != '/')
		return;
	memcpy(path, real, (size_t)length);
	path[length] = 0;
}

void cairn_environment_find_tool(const char *configured, const char *search, char *out, size_t size)
{
	char library[256] = "";
	if (configured && configured[0]) {
		snprintf(out, size, "%s", is_program(configured) ? configured : "");
		return;
	}
	cairn_objects_visit(find_own, &(struct own){library, sizeof library});
	size_t folder = cairn_path_folder(library);
	if (folder && try_tool(library, folder, "cairn", out, size))
		return;
	if (folder && (try_tool(library, folder, "../bin/cairn", out, size) || try_tool(library, folder, "../../bin/cairn", out, size))) {
		make_plain(out, size);
		return;
	}
	out[0] = 0;
	for (size_t length; search && *search; search += length + (search[length] == ':')) {
		length = strcspn(search, ":");
		if (try_tool(search, length, "/cairn", out, size))
			return;
	}
}
