/* run.c - `cairn run`: starts a service with profiling and the agent, and tells at the end what there was to see.
 *
 * Everything is done by environment variables, so it works on programs as they are: MALLOC_CONF (and _RJEM_MALLOC_CONF, which
 * Rust's jemalloc reads) gets what profiling needs behind what is there already, LD_PRELOAD gets the agent, and a jemalloc for
 * programs that have none.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/config.h"
#include "base/file.h"
#include "base/process.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/own_dumps.h"
#include "symbol/elf.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { path_size = 4096, exit_not_found = 127, exit_not_started = 126, report_rows = 10 };

struct options {
	bool active;
	uint64_t period;
	uint64_t interval;
	const char *prefix;
	const char *listen;
	bool quiet;
};

#define AT(member) offsetof(struct options, member)
static const struct cairn_option table[] = {
	{0, "active", NULL, "sample from the start; without it the profiler waits for 'cairn activate'", CAIRN_OPTION_FLAG, AT(active), 0},
	{0, "period", "SIZE", "sample once in so many bytes (512K unless told)", CAIRN_OPTION_SIZE, AT(period), 0},
	{0, "interval", "SIZE", "write a dump for every so many bytes allocated, such as 4G", CAIRN_OPTION_SIZE, AT(interval), 0},
	{0, "prefix", "PATH", "what the names of dumps begin with", CAIRN_OPTION_TEXT, AT(prefix), 0},
	{0, "listen", "ADDRESS", "let the agent listen on TCP too, such as 127.0.0.1:4000", CAIRN_OPTION_TEXT, AT(listen), 0},
	{'q', "quiet", NULL, "no report at the end", CAIRN_OPTION_FLAG, AT(quiet), 0},
	{0},
};
static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};

/* NAME as the shell would find it; false when there is no such program. */
static bool find_program(const char *name, char *out)
{
	if (strchr(name, '/')) {
		snprintf(out, path_size, "%s", name);
		return access(out, X_OK) == 0;
	}
	const char *search = getenv("PATH");
	for (size_t length; search && *search; search += length + (search[length] == ':')) {
		length = strcspn(search, ":");
		snprintf(out, path_size, "%.*s/%s", (int)length, search, name);
		if (length > 0 && access(out, X_OK) == 0)
			return true;
	}
	return false;
}

/* What PROGRAM is, as far as preloading goes. */
struct nature {
	enum { JEMALLOC_UNKNOWN, JEMALLOC_NONE, JEMALLOC_LOADED, JEMALLOC_INSIDE } jemalloc;
	bool is_static; /* no loader, so that nothing can be preloaded */
};

/* Asks the loader which libraries it would load. The program itself does not run. */
static bool loads_jemalloc(const char *loader, const char *program)
{
	struct cairn_buffer list = cairn_buffer(1 << 20);
	cairn_process_read((const char *const[]){loader, "--list", program, NULL}, &list, NULL);
	bool found = list.length && memmem(list.data, list.length, "libjemalloc", 11);
	cairn_buffer_free(&list);
	return found;
}

static struct nature study_binary(const struct cairn_elf *elf, const char *program)
{
	struct cairn_bytes loader = cairn_elf_named(elf, ".interp");
	struct nature nature = {JEMALLOC_NONE, .is_static = loader.length == 0};
	/* jemalloc begins its messages with this, in every build of it. */
	if (memmem(elf->file.bytes.data, elf->file.bytes.length, "<jemalloc>", 10))
		nature.jemalloc = JEMALLOC_INSIDE;
	else if (loader.length && loader.data[loader.length - 1] == '\0' && loads_jemalloc(loader.data, program))
		nature.jemalloc = JEMALLOC_LOADED;
	return nature;
}

/* Of a script, its interpreter is asked. */
static struct nature study(const char *program)
{
	struct cairn_file file;
	struct nature nature = {JEMALLOC_UNKNOWN, false};
	char interpreter[256] = "";
	if (!cairn_file_read(&file, program, NULL))
		return nature;
	if (cairn_bytes_start_with(file.bytes, "#!")) {
		struct cairn_bytes rest = cairn_bytes_skip(file.bytes, 2), line = {"", 0};
		cairn_text_line(&rest, &line, NULL);
		line = cairn_text_trim(line);
		snprintf(interpreter, sizeof interpreter, "%.*s", (int)line.length, line.data);
		interpreter[strcspn(interpreter, " \t")] = 0;
	}
	struct cairn_elf *elf = cairn_elf_open_bytes(file.bytes, program, NULL);
	if (elf)
		nature = study_binary(elf, program);
	cairn_elf_close(elf);
	cairn_file_close(&file);
	return interpreter[0] && strcmp(interpreter, program) != 0 ? study(interpreter) : nature;
}

/* The first of several places where FILE is; false when nowhere. */
static bool find_library(const char *file, char *out)
{
	char own[path_size] = "";
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	own[length > 0 ? length : 0] = 0;
	char *slash = strrchr(own, '/');
	if (slash)
		*slash = 0;
	static const struct {
		bool beside; /* relative to the command */
		const char *folder;
	} places[] = {
		{true, ""}, {true, "/../lib"}, {true, "/../lib/x86_64-linux-gnu"}, {true, "/../lib/aarch64-linux-gnu"}, {true, "/../lib64"},
		{false, "/usr/lib/x86_64-linux-gnu"}, {false, "/usr/lib/aarch64-linux-gnu"}, {false, "/usr/lib64"}, {false, "/usr/lib"},
		{false, "/usr/local/lib"},
	};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		int size = snprintf(out, path_size, "%s%s/%s", places[i].beside ? own : "", places[i].folder, file);
		if (size > 0 && size < path_size && access(out, R_OK) == 0)
			return true;
	}
	return false;
}

static int log2_of(uint64_t value)
{
	return value ? 63 - __builtin_clzll(value) : 0;
}

/* Puts ADDED behind what the variable NAME holds, or with FRONT before it. */
static void extend(const char *name, const char *added, char separator, bool front)
{
	const char *old = getenv(name);
	struct cairn_buffer value = cairn_buffer(1 << 20);
	if (old && old[0] && !front)
		cairn_buffer_format(&value, "%s%c", old, separator);
	cairn_buffer_text(&value, added);
	if (old && old[0] && front)
		cairn_buffer_format(&value, "%c%s", separator, old);
	cairn_buffer_byte(&value, 0);
	setenv(name, value.data, 1);
	cairn_buffer_free(&value);
}

static void set_malloc_conf(const struct options *options, const char *prefix)
{
	char text[path_size + 200];
	int length = snprintf(text, sizeof text, "prof:true,prof_active:%s,prof_final:%s,lg_prof_sample:%d", options->active ? "true" : "false",
			      options->active ? "true" : "false", options->period ? log2_of(options->period) : 19);
	if (options->interval)
		length += snprintf(text + length, sizeof text - (size_t)length, ",lg_prof_interval:%d", log2_of(options->interval));
	snprintf(text + length, sizeof text - (size_t)length, ",prof_prefix:%s", prefix);
	extend("MALLOC_CONF", text, ',', false);
	extend("_RJEM_MALLOC_CONF", text, ',', false);
}

static void set_preload(const char *program)
{
	char library[path_size];
	struct nature nature = study(program);
	if (nature.is_static) {
		cairn_note("%s is a static program, into which nothing can be preloaded; link it with %s", program,
		     nature.jemalloc == JEMALLOC_INSIDE ? "libcairn.a" : "jemalloc and libcairn.a");
	} else if (nature.jemalloc == JEMALLOC_NONE && find_library("libjemalloc.so.2", library)) {
		extend("LD_PRELOAD", library, ':', true);
		cairn_note("%s has no jemalloc; it runs on %s", program, library);
	} else if (nature.jemalloc == JEMALLOC_NONE) {
		cairn_note("%s has no jemalloc and libjemalloc.so.2 is not installed, so there is nothing to profile", program);
	}
	if (find_library("libcairn.so", library) || find_library("libcairn.so.1", library))
		extend("LD_PRELOAD", library, ':', true);
	else
		cairn_note("libcairn.so is not beside the command, so the service has no endpoints");
}

static volatile sig_atomic_t child_pid; /* while it runs */

static void pass_on(int number)
{
	if (child_pid > 0)
		kill((pid_t)child_pid, number);
}

/* Starts the command and waits for it, passing signals on. The wait status, or -1. */
static int run_and_wait(char **command, pid_t *started, struct rusage *usage)
{
	static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGALRM};
	sigset_t signals, before;
	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		sigaddset(&signals, passed[i]);
	sigprocmask(SIG_BLOCK, &signals, &before); /* none is lost between the start and knowing whom to pass it to */
	signal(SIGPIPE, SIG_DFL);
	pid_t pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		execvp(command[0], command);
		int code = errno;
		struct cairn_error error;
		cairn_fail_errno(&error, "%s", command[0]);
		cairn_say_error(error.text);
		_exit(code == ENOENT ? exit_not_found : exit_not_started);
	}
	child_pid = *started = pid;
	struct sigaction action = {.sa_handler = pass_on};
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		sigaction(passed[i], &action, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	int status = -1;
	if (pid > 0)
		while (wait4(pid, &status, 0, usage) < 0 && errno == EINTR)
			;
	child_pid = 0;
	return status;
}

static void show_top(const char *path)
{
	char rows[8];
	snprintf(rows, sizeof rows, "%d", report_rows);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO); /* the service's output stays its own */
		unsetenv("LD_PRELOAD");
		execl("/proc/self/exe", "cairn", "top", "-n", rows, path, (char *)NULL);
		_exit(exit_not_found);
	}
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
}

static void report(const char *name, pid_t pid, int status, double seconds, const struct rusage *usage, const char *prefix, bool active,
		   bool kept)
{
	char peak[24], ending[64];
	struct cairn_own_dumps dumps;
	cairn_own_dumps_find(prefix, pid, &dumps);
	cairn_text_human((double)usage->ru_maxrss * 1024, peak);
	if (WIFSIGNALED(status))
		snprintf(ending, sizeof ending, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(ending, sizeof ending, "ended with code %d", WEXITSTATUS(status));
	cairn_note("%s (process %d) %s after %.1f s, at most %s resident", name, pid, ending, seconds, peak);
	if (dumps.count > 0 && kept)
		cairn_note("%zu dump%s, the last is %s", dumps.count, dumps.count == 1 ? "" : "s", dumps.last);
	if (dumps.count > 0)
		show_top(dumps.last);
	else if (!active)
		cairn_note("sampling was not on from the start, so no dump was written; --active turns it on");
	else
		cairn_note("no dump was left: jemalloc writes its last one when a program ends by itself");
}

/* The folder dumps go to when no prefix was asked for; removed with all in it at the end. */
static void remove_folder(const char *folder)
{
	DIR *entries = opendir(folder);
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		char path[path_size];
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		unlink(path);
	}
	if (entries)
		closedir(entries);
	rmdir(folder);
}

/* What RisingWave's developers' tool means by its variable. */
static void follow_risedev(struct options *options, const char *name)
{
	const char *risedev = getenv("RISEDEV_ENABLE_HEAP_PROFILE");
	if (!risedev || !risedev[0])
		return;
	options->active = true;
	options->interval = options->interval ? options->interval : (uint64_t)4 << 30;
	options->prefix = options->prefix ? options->prefix : name;
}

/* Where dumps go: what --prefix says, or a new FOLDER (empty otherwise) that ends with the run. */
static bool choose_prefix(const struct options *options, const char *name, char *prefix, char *folder, struct cairn_error *error)
{
	folder[0] = '\0';
	if (!options->prefix) {
		const char *temporary = getenv("TMPDIR");
		snprintf(folder, path_size, "%s/cairn-run.XXXXXX", temporary && temporary[0] ? temporary : "/tmp");
		if (!mkdtemp(folder))
			return cairn_fail(error, "no folder for the dumps can be made; set TMPDIR or give --prefix");
		snprintf(prefix, path_size, "%.4000s/%.64s", folder, name);
		return true;
	}
	struct stat status;
	snprintf(prefix, path_size, "%s", options->prefix);
	char *slash = strrchr(prefix, '/');
	if (slash && slash > prefix) {
		*slash = '\0';
		if (stat(prefix, &status) != 0 || !S_ISDIR(status.st_mode))
			return cairn_fail(error, "--prefix: there is no folder %.400s", prefix);
		*slash = '/';
	}
	return true;
}

static void listen_too(const char *address)
{
	char conf[300];
	snprintf(conf, sizeof conf, "listen:%s", address);
	extend("CAIRN_CONF", conf, ',', false);
}

/* With a token that it cannot use the agent would not listen, and nobody would know until they ask. */
static bool check_token(struct cairn_error *error)
{
	const char *path = getenv("CAIRN_CONFIG"), *text = getenv("CAIRN_CONF");
	struct cairn_config config;
	cairn_config_default(&config);
	if (path && path[0]) {
		struct cairn_file file;
		struct cairn_error ignored;
		if (cairn_file_map(&file, path, &ignored)) {
			cairn_config_file(&config, file.bytes);
			cairn_file_close(&file);
		} else {
			config.token_unusable = true;
		}
	}
	if (text)
		cairn_config_environment(&config, cairn_bytes_of(text));
	if (config.listen[0] && config.token_unusable)
		return cairn_fail(error, "the agent cannot use its token, so it would not listen on %s: %s", config.listen,
				  config.problems[0] ? config.problems : "CAIRN_CONFIG cannot be read");
	return true;
}

/* Starts COMMAND as it was set up, and returns its exit code as a shell would. */
static int run_command(const struct options *options, char **command, const char *name, const char *prefix, bool kept)
{
	struct timespec start, end;
	struct rusage usage = {0};
	pid_t pid;
	clock_gettime(CLOCK_MONOTONIC, &start);
	/* execvp would look in PATH again and find the same; the name stays as it was typed. */
	int status = run_and_wait(command, &pid, &usage);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (status == -1)
		return cairn_say_error("no process can be started");
	double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	if (!options->quiet)
		report(name, pid, status, seconds, &usage, prefix, options->active, kept);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int run(const void *values, int count, char **operands)
{
	struct options options = *(const struct options *)values;
	struct cairn_error error;
	char program[path_size], folder[path_size], prefix[path_size];
	if (count == 0) {
		cairn_say_error("a command is meant: cairn run [options] -- COMMAND...");
		return CAIRN_EXIT_USAGE;
	}
	const char *slash = strrchr(operands[0], '/'), *name = slash ? slash + 1 : operands[0];
	follow_risedev(&options, name);
	if (!find_program(operands[0], program)) {
		bool there = strchr(operands[0], '/') && access(operands[0], F_OK) == 0;
		cairn_fail(&error, there ? "%s: no program, or not one you may run" : "%s: no such program", operands[0]);
		cairn_say_error(error.text);
		return there ? exit_not_started : exit_not_found;
	}
	if (!choose_prefix(&options, name, prefix, folder, &error))
		return cairn_say_error(error.text);
	set_malloc_conf(&options, prefix);
	set_preload(program);
	if (options.listen)
		listen_too(options.listen);
	if (!check_token(&error)) {
		if (folder[0])
			remove_folder(folder);
		return cairn_say_error(error.text);
	}
	int code = run_command(&options, operands, name, prefix, !folder[0]);
	if (folder[0])
		remove_folder(folder);
	return code;
}

const struct cairn_command cairn_command_run = {
	.name = "run",
	.summary = "start a service with profiling and the agent",
	.arguments = "[--] COMMAND...",
	.detail = "The command's exit code and signals are passed through. A program without jemalloc is started on libjemalloc.so.2.\n"
		  "With RISEDEV_ENABLE_HEAP_PROFILE set it means --active --interval 4G --prefix and the name of the command.",
	.groups = groups,
	.runs_another = true,
	.options_size = sizeof(struct options),
	.run = run,
};
