/* run.c - `cairn run`: starts a service with profiling and the agent, and tells at the end what there was to see.
 *
 * Everything is done by environment variables, so it works on programs as they are: MALLOC_CONF (and _RJEM_MALLOC_CONF, which
 * Rust's jemalloc reads) gets what profiling needs behind what is there already, LD_PRELOAD gets the agent, and a jemalloc for
 * programs that have none.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/own_dumps.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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

enum jemalloc_in { JEMALLOC_INSIDE, JEMALLOC_LOADED, JEMALLOC_NONE, JEMALLOC_UNKNOWN };

/* Asks the loader which libraries it would load. The program itself does not run. */
static bool loads_jemalloc(const char *program)
{
	char *arguments[] = {(char *)(uintptr_t)program, NULL};
	char trace[] = "LD_TRACE_LOADED_OBJECTS=1", library_path[path_size];
	const char *paths = getenv("LD_LIBRARY_PATH");
	snprintf(library_path, sizeof library_path, "LD_LIBRARY_PATH=%s", paths ? paths : "");
	char *environment[] = {trace, library_path, NULL};
	int ends[2];
	posix_spawn_file_actions_t actions;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	pid_t pid;
	bool started = posix_spawn(&pid, program, &actions, NULL, arguments, environment) == 0;
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	struct cairn_buffer text = cairn_buffer(1 << 20);
	for (char *room; started && (room = cairn_buffer_room(&text, 4096));) {
		ssize_t length = read(ends[0], room, 4096);
		if (length <= 0)
			break;
		text.length += (size_t)length;
	}
	close(ends[0]);
	if (started)
		waitpid(pid, NULL, 0);
	bool found = text.length && memmem(text.data, text.length, "libjemalloc", 11);
	cairn_buffer_free(&text);
	return found;
}

/* Whether PROGRAM brings a jemalloc along. Of a script, its interpreter is asked. */
static enum jemalloc_in find_jemalloc(const char *program)
{
	struct cairn_file file;
	if (!cairn_file_read(&file, program, NULL))
		return JEMALLOC_UNKNOWN;
	enum jemalloc_in result = JEMALLOC_UNKNOWN;
	char interpreter[256] = "";
	if (cairn_bytes_start_with(file.bytes, "#!")) {
		struct cairn_bytes rest = cairn_bytes_skip(file.bytes, 2), line;
		cairn_text_line(&rest, &line, NULL);
		line = cairn_text_trim(line);
		snprintf(interpreter, sizeof interpreter, "%.*s", (int)line.length, line.data);
		interpreter[strcspn(interpreter, " \t")] = 0;
	} else if (cairn_bytes_start_with(file.bytes, ELFMAG)) {
		/* jemalloc begins its messages with this, in every build of it. */
		if (memmem(file.bytes.data, file.bytes.length, "<jemalloc>", 10))
			result = JEMALLOC_INSIDE;
		else
			result = loads_jemalloc(program) ? JEMALLOC_LOADED : JEMALLOC_NONE;
	}
	cairn_file_close(&file);
	return interpreter[0] && strcmp(interpreter, program) != 0 ? find_jemalloc(interpreter) : result;
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

/* Puts ADDED behind what the variable NAME holds. */
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
	char library[path_size], note[2 * path_size + 200];
	enum jemalloc_in has = find_jemalloc(program);
	if (has == JEMALLOC_NONE && find_library("libjemalloc.so.2", library)) {
		extend("LD_PRELOAD", library, ':', true);
		snprintf(note, sizeof note, "%s has no jemalloc; it runs on %s", program, library);
		cairn_say_note(note);
	} else if (has == JEMALLOC_NONE) {
		snprintf(note, sizeof note, "%s has no jemalloc and libjemalloc.so.2 is not installed, so there is nothing to profile", program);
		cairn_say_note(note);
	}
	if (find_library("libcairn.so", library) || find_library("libcairn.so.1", library))
		extend("LD_PRELOAD", library, ':', true);
	else
		cairn_say_note("libcairn.so is not beside the command, so the service has no endpoints");
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
	char text[path_size + 300], peak[24], ending[64];
	struct cairn_own_dumps dumps;
	cairn_own_dumps_find(prefix, pid, &dumps);
	cairn_text_human((double)usage->ru_maxrss * 1024, peak);
	if (WIFSIGNALED(status))
		snprintf(ending, sizeof ending, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(ending, sizeof ending, "ended with code %d", WEXITSTATUS(status));
	snprintf(text, sizeof text, "%s (process %d) %s after %.1f s, at most %s resident", name, pid, ending, seconds, peak);
	cairn_say_note(text);
	if (dumps.count > 0 && kept) {
		snprintf(text, sizeof text, "%zu dump%s, the last is %s", dumps.count, dumps.count == 1 ? "" : "s", dumps.last);
		cairn_say_note(text);
	}
	if (dumps.count > 0)
		show_top(dumps.last);
	else if (!active)
		cairn_say_note("sampling was not on from the start, so no dump was written; --active turns it on");
	else
		cairn_say_note("no dump was left: jemalloc writes its last one when a program ends by itself");
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

static int run(const void *values, int count, char **operands)
{
	struct options options = *(const struct options *)values;
	char program[path_size], folder[path_size] = "", prefix[path_size];
	if (count == 0) {
		cairn_say_error("a command is meant: cairn run [options] -- COMMAND...");
		return CAIRN_EXIT_USAGE;
	}
	const char *slash = strrchr(operands[0], '/'), *name = slash ? slash + 1 : operands[0];
	const char *risedev = getenv("RISEDEV_ENABLE_HEAP_PROFILE");
	if (risedev && risedev[0]) {
		options.active = true;
		options.interval = options.interval ? options.interval : (uint64_t)4 << 30;
		options.prefix = options.prefix ? options.prefix : name;
	}
	if (!find_program(operands[0], program)) {
		struct cairn_error error;
		bool there = strchr(operands[0], '/') && access(operands[0], F_OK) == 0;
		cairn_fail(&error, there ? "%s: no program, or not one you may run" : "%s: no such program", operands[0]);
		cairn_say_error(error.text);
		return there ? exit_not_started : exit_not_found;
	}
	if (options.prefix) {
		snprintf(prefix, sizeof prefix, "%s", options.prefix);
		char *end = strrchr(prefix, '/');
		struct stat status;
		if (end && end > prefix) {
			*end = 0;
			if (stat(prefix, &status) != 0 || !S_ISDIR(status.st_mode)) {
				struct cairn_error error;
				cairn_fail(&error, "--prefix: there is no folder %.400s", prefix);
				return cairn_say_error(error.text);
			}
			*end = '/';
		}
	} else {
		const char *temporary = getenv("TMPDIR");
		snprintf(folder, sizeof folder, "%s/cairn-run.XXXXXX", temporary && temporary[0] ? temporary : "/tmp");
		if (!mkdtemp(folder))
			return cairn_say_error("no folder for the dumps can be made; set TMPDIR or give --prefix");
		snprintf(prefix, sizeof prefix, "%.4000s/%.64s", folder, name);
	}
	set_malloc_conf(&options, prefix);
	set_preload(program);
	if (options.listen) {
		char conf[300];
		snprintf(conf, sizeof conf, "listen:%s", options.listen);
		extend("CAIRN_CONF", conf, ',', false);
	}
	struct timespec start, end;
	struct rusage usage = {0};
	pid_t pid;
	clock_gettime(CLOCK_MONOTONIC, &start);
	/* execvp would look in PATH again and find the same; the name stays as it was typed. */
	int status = run_and_wait(operands, &pid, &usage);
	clock_gettime(CLOCK_MONOTONIC, &end);
	double seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	if (status != -1 && !options.quiet)
		report(name, pid, status, seconds, &usage, prefix, options.active, !folder[0]);
	if (folder[0])
		remove_folder(folder);
	if (status == -1)
		return cairn_say_error("no process can be started");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
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
