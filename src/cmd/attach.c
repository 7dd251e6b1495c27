/* attach.c - `cairn attach` and `cairn detach`: an agent for a process that runs already, and its end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/attach/check.h"
#include "cmd/attach/inject.h"
#include "cmd/command.h"
#include "cmd/run/program.h"
#include "cmd/target.h"
#include "dump/engine_kind.h"
#include "process/clock.h"
#include "protocol/attached.h"
#include "protocol/config.h"
#include "protocol/profiler_state.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ready_ms = 10000, look_ms = 250, detach_ms = 10000 };

struct options {
	bool wait;
	uint64_t period;
	const char *engine, *listen, *token, *budget;
	bool filtered;
	bool waiting; /* only an agent that is there and has not started, with the settings that it has; for commands that find one */
	bool quiet;
};

#define AT(member) offsetof(struct options, member)
static const struct cairn_option table[] = {
	{0, "wait", NULL, "do not sample until 'cairn activate'", CAIRN_OPTION_FLAG, AT(wait), 0},
	{0, "period", "SIZE", "sample once in this many bytes (default: 512K)", CAIRN_OPTION_PERIOD, AT(period), 0},
	{0, "engine", "NAME", "profile with: auto, cairn (any allocator) or jemalloc (default: auto)", CAIRN_OPTION_TEXT, AT(engine), 0,
	 (const char *const[]){CAIRN_ENGINE_NAMES, NULL}},
	{0, "listen", "ADDRESS", "let the agent listen on TCP too, such as 127.0.0.1:9999", CAIRN_OPTION_TEXT, AT(listen), 0},
	{0, "token", "TOKEN", "the token that clients over TCP need (default: $CAIRN_TOKEN)", CAIRN_OPTION_TEXT, AT(token), 0},
	{0, "budget", "PERCENT", "lengthen the period to stay within this share of CPU time, such as 1%", CAIRN_OPTION_TEXT, AT(budget), 0},
	{0, "filtered", NULL, "attach although the process filters its system calls (seccomp)", CAIRN_OPTION_FLAG, AT(filtered), 0},
	{0, "waiting", NULL, NULL, CAIRN_OPTION_FLAG, AT(waiting), 0},
	{'q', "quiet", NULL, "print nothing when it is done", CAIRN_OPTION_FLAG, AT(quiet), 0},
	{0},
};
static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};
static const struct cairn_option_group no_groups[] = {{0}};

static void pause_ms(long milliseconds)
{
	nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * CAIRN_MILLISECOND_NS}, NULL);
}

/* The settings that the agent is given. */
static bool write_config(const struct options *options, struct cairn_attach *attach, struct cairn_error *error)
{
	char own[CAIRN_PROGRAM_PATH] = "";
	const char *token = options->token ? options->token : getenv("CAIRN_TOKEN");
	struct cairn_buffer text = cairn_buffer(sizeof attach->config);
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	own[length > 0 ? length : 0] = 0;
	cairn_buffer_format(&text, "engine:%s,enable_heap_profiling:%s",
			    options->engine ? options->engine : cairn_engine_name(CAIRN_ENGINE_AUTO), options->wait ? "false" : "true");
	cairn_buffer_format(&text, ",period:%llu", (unsigned long long)(options->period ? options->period : CAIRN_PERIOD_DEFAULT));
	if (own[0] && strlen(own) < 200 && !strchr(own, ','))
		cairn_buffer_format(&text, ",tool:%s", own);
	if (options->listen)
		cairn_buffer_format(&text, ",listen:%s", options->listen);
	if (options->listen && token)
		cairn_buffer_format(&text, ",token:%s", token);
	if (options->budget)
		cairn_buffer_format(&text, ",budget:%s", options->budget);
	bool fits = !text.failed && text.length < sizeof attach->config;
	if (fits && !options->waiting)
		memcpy(attach->config, text.data, text.length);
	cairn_buffer_free(&text);
	attach->state = CAIRN_ATTACH_WANTED;
	attach->version = CAIRN_ATTACH_VERSION;
	return fits || cairn_fail(error, "the options are too long");
}

/* The process and what is done to it. */
struct work {
	int pid;
	struct cairn_subject subject;
	struct cairn_attach attach;
	struct cairn_file library; /* ours */
	char library_path[CAIRN_PROGRAM_PATH];
	off_t attach_offset; /* of `cairn_attached` in it */
	int number, memfd;   /* the memfd that the process loads it from: its descriptor, and ours */
	int64_t held_ns;
	unsigned calls;
	bool filtered;     /* threads with a seccomp filter may be used */
	bool only_waiting; /* nothing is started but the agent of a forked child that waits */
	bool waits; /* the process will load the library, but has not */
};

static bool call(struct work *work, struct cairn_injection *injection, struct cairn_error *error)
{
	injection->filtered = work->filtered;
	bool done = cairn_inject(&work->subject, injection, error);
	work->waits = injection->waits;
	if (!done)
		return false;
	work->calls++;
	work->held_ns = injection->held_ns > work->held_ns ? injection->held_ns : work->held_ns;
	return true;
}

/* Opens descriptor NUMBER of the process for writing if it is a memfd for the library; -1 where it is something else. The name alone proves
 * nothing: a process with mounts of its own can give a file of ours that name. What proves it is the file system, which nobody can
 * mount. */
static int open_memfd(int pid, int number)
{
	char path[64], target[64];
	struct stat own, theirs;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
	ssize_t length = readlink(path, target, sizeof target - 1);
	target[length > 0 ? length : 0] = 0;
	if (strncmp(target, "/memfd:libcairn.so", 18) != 0)
		return -1;
	int sample = memfd_create("cairn", MFD_CLOEXEC);
	int handle = open(path, O_PATH | O_CLOEXEC), opened = -1;
	bool same = sample >= 0 && handle >= 0 && fstat(sample, &own) == 0 && fstat(handle, &theirs) == 0 && own.st_dev == theirs.st_dev &&
		    S_ISREG(theirs.st_mode) && theirs.st_nlink == 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
	if (same)
		opened = open(path, O_RDWR | O_CLOEXEC);
	if (handle >= 0)
		close(handle);
	if (sample >= 0)
		close(sample);
	return opened;
}

static bool is_memfd(int pid, int number)
{
	int opened = open_memfd(pid, number);
	return opened >= 0 && close(opened) == 0;
}

/* A descriptor of the process whose file is a memfd for the library; -1 for none. */
static int find_memfd(int pid)
{
	char path[64];
	int found = -1;
	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && found < 0 && (entry = readdir(folder));)
		if (is_memfd(pid, atoi(entry->d_name)))
			found = atoi(entry->d_name);
	if (folder)
		closedir(folder);
	return found;
}

/* Has the process make a system call. Its result is -1 where it fails, or the C library has no function for it. */
static bool call_kernel(struct work *work, struct cairn_injection *injection, struct cairn_error *error)
{
	injection->function = cairn_subject_symbol(cairn_subject_find(&work->subject, CAIRN_SUBJECT_LIBC), "syscall");
	injection->result = UINT64_MAX;
	return !injection->function || call(work, injection, error);
}

/* Has the process make a memfd, and opens it here. Other processes may run from one that was found: a child that was forked while its
 * parent loaded the library has its parent's. */
static bool make_memfd(struct work *work, struct cairn_error *error)
{
	struct cairn_injection injection = {
		.arguments = {SYS_memfd_create, 0, MFD_CLOEXEC | MFD_ALLOW_SEALING},
		.text = "libcairn.so",
		.text_argument = 1,
	};
	if (!call_kernel(work, &injection, error))
		return false;
	work->number = (int)injection.result;
	work->memfd = open_memfd(work->pid, work->number);
	return true;
}

/* Has the process close a memfd from which it will not load the library. */
static bool close_memfd(struct work *work, int number, struct cairn_error *error)
{
	struct cairn_injection injection = {.arguments = {SYS_close, (uint64_t)number}};
	return !is_memfd(work->pid, number) || call_kernel(work, &injection, error);
}

/* Those that a command that was killed has left, or that came with a fork. */
static bool close_left(struct work *work, struct cairn_error *error)
{
	enum { most = 16 };
	for (int i = 0, number; i < most && (number = find_memfd(work->pid)) >= 0; i++)
		if (!close_memfd(work, number, error))
			return false;
	return true;
}

/* The library into the process's memfd, with `cairn_attached` filled in. */
static bool fill_memfd(struct work *work, struct cairn_error *error)
{
	struct cairn_elf *elf = cairn_elf_open_bytes(work->library.bytes, work->library_path, error);
	if (!elf)
		return false;
	struct cairn_subject_module own = {.elf = elf};
	uint64_t offset = 0, address = cairn_subject_symbol(&own, "cairn_attached");
	bool known = address && cairn_elf_offset_of(elf, address, &offset) && offset + sizeof work->attach <= work->library.bytes.length;
	cairn_elf_close(elf);
	if (!known)
		return cairn_fail(error, "%.300s is of another version than this command", work->library_path);
	work->attach.descriptor = work->number + 1;
	work->attach_offset = (off_t)offset;
	struct cairn_bytes rest = work->library.bytes;
	return (cairn_descriptor_write_all(work->memfd, &rest) &&
		pwrite(work->memfd, &work->attach, sizeof work->attach, (off_t)offset) == (ssize_t)sizeof work->attach) ||
	       cairn_fail_errno(error, "the library cannot be written to process %d", work->pid);
}

/* A library that is loaded only later, when nobody waits for it any more, starts nothing. */
static void call_off(const struct work *work)
{
	struct cairn_attach nothing = {.version = CAIRN_ATTACH_VERSION, .descriptor = work->number + 1};
	if (pwrite(work->memfd, &nothing, sizeof nothing, work->attach_offset) < 0)
		errno = 0; /* then it starts; nothing is lost */
}

/* Has the process open PATH as a library. */
static bool open_library(struct work *work, const char *path, struct cairn_error *error)
{
	const struct cairn_subject_module *libc = cairn_subject_find(&work->subject, CAIRN_SUBJECT_LIBC);
	struct cairn_injection injection = {.arguments = {0, RTLD_NOW | RTLD_LOCAL}, .describe = cairn_subject_symbol(libc, "dlerror")};
	injection.function = cairn_subject_symbol(libc, "dlopen");
	for (size_t i = 0; i < work->subject.count && !injection.function; i++) /* before glibc 2.34 */
		if (strstr(work->subject.modules[i].path, "/libdl")) {
			injection.function = cairn_subject_symbol(&work->subject.modules[i], "dlopen");
			injection.describe = cairn_subject_symbol(&work->subject.modules[i], "dlerror");
		}
	if (!injection.function) {
		injection.function = cairn_subject_symbol(libc, "__libc_dlopen_mode");
		injection.arguments[1] = RTLD_NOW | 0x80000000;
	}
	if (!injection.function)
		return cairn_fail(error, "the C library of process %d has no dlopen", work->pid);
	snprintf(injection.text, sizeof injection.text, "%s", path);
	if (!call(work, &injection, error))
		return false;
	return injection.result != 0 ||
	       cairn_fail(error, "process %d cannot load the agent: %s", work->pid,
			  injection.description[0] ? injection.description : "dlopen fails");
}

/* Where `cairn_attached` and cairn_attach_start are in MODULE, the library as the process has loaded it. A memfd has no file any more;
 * ours has the same symbols where it begins with the same headers and build-id. */
static bool locate(const struct work *work, const struct cairn_subject_module *module, uint64_t *attached, uint64_t *function)
{
	char theirs[1024];
	struct cairn_subject_module own = *module;
	struct cairn_elf *elf = NULL;
	if (!own.elf && work->library.bytes.length > sizeof theirs &&
	    cairn_subject_read(&work->subject, module->start, theirs, sizeof theirs) == sizeof theirs &&
	    memcmp(work->library.bytes.data, theirs, sizeof theirs) == 0)
		own.elf = elf = cairn_elf_open_bytes(work->library.bytes, work->library_path, NULL);
	if (elf && elf->segment_count)
		own.bias = module->start - elf->segments[0].address;
	*attached = cairn_subject_symbol(&own, "cairn_attached");
	*function = cairn_subject_symbol(&own, "cairn_attach_start");
	cairn_elf_close(elf);
	uint32_t version = 0;
	return *attached && *function && cairn_subject_read(&work->subject, *attached, &version, sizeof version) == sizeof version &&
	       version == CAIRN_ATTACH_VERSION;
}

/* Whether the library's constructor has run. It has not in a child that was forked while its parent loaded it: the child has what the
 * loader had mapped by then, perhaps not relocated, and a loader that is locked for ever. */
static bool is_whole(const struct cairn_attach *theirs)
{
	return theirs->descriptor == 0 || theirs->state > CAIRN_ATTACH_WANTED;
}

/* Starts the library that is loaded already. */
static bool start_again(struct work *work, const struct cairn_subject_module *module, struct cairn_error *error)
{
	uint64_t attached, function;
	if (!locate(work, module, &attached, &function))
		return cairn_fail(error, "process %d has loaded a libcairn of another version, which this command cannot start", work->pid);
	struct cairn_attach theirs;
	if (cairn_subject_read(&work->subject, attached, &theirs, sizeof theirs) != sizeof theirs)
		return cairn_fail_errno(error, "the memory of process %d cannot be read", work->pid);
	if (!is_whole(&theirs))
		return cairn_fail(error,
				  "process %d was forked while the agent was being loaded into its parent, and cannot load it any more",
				  work->pid);
	if (work->only_waiting && theirs.state != CAIRN_ATTACH_WAITING)
		return cairn_fail(error, "process %d has no agent that waits for its start", work->pid);
	struct cairn_injection injection = {.function = function};
	if (!cairn_subject_write(&work->subject, attached, &work->attach, sizeof work->attach))
		return cairn_fail_errno(error, "the memory of process %d cannot be written", work->pid);
	if (!call(work, &injection, error))
		return false;
	return injection.result == 1 || cairn_fail(error, "process %d cannot start a thread", work->pid);
}

/* Whether the agent has said that it cannot start; *ERROR then says why. */
static bool has_failed(struct work *work, struct cairn_error *error)
{
	struct cairn_attach state = {0};
	struct cairn_error inner;
	uint64_t attached, function;
	const struct cairn_subject_module *module = NULL;
	bool failed = false;
	if (cairn_file_map(&work->library, work->library_path, &inner) && cairn_subject_open(&work->subject, work->pid, &inner))
		module = cairn_subject_find(&work->subject, CAIRN_SUBJECT_AGENT);
	if (module && locate(work, module, &attached, &function) &&
	    cairn_subject_read(&work->subject, attached, &state, sizeof state) == sizeof state && state.state == CAIRN_ATTACH_FAILED) {
		state.problem[sizeof state.problem - 1] = 0;
		cairn_fail(error, "the agent does not start in process %d: %s", work->pid, state.problem);
		failed = true;
	}
	cairn_subject_close(&work->subject);
	cairn_file_close(&work->library);
	return failed;
}

/* From a memfd that the process has made. Nobody writes to it afterwards: the process runs from it, as children do that it forks. */
static bool load_from_memfd(struct work *work, struct cairn_error *error)
{
	char path[64];
	/* Not the usual spelling: the loader knows libraries by it, and the number will be another file's. */
	snprintf(path, sizeof path, "/proc/self/./fd/%d", work->number);
	bool done = fill_memfd(work, error) && open_library(work, path, error);
	if (work->waits)
		call_off(work);
	else if (!done)
		close_memfd(work, work->number, NULL);
	fcntl(work->memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	close(work->memfd);
	return done;
}

/* From a path, where the process sees the same file as we do. */
static bool load_from_path(struct work *work, struct cairn_error *error)
{
	char seen[CAIRN_PROGRAM_PATH + 32];
	struct stat ours, theirs;
	snprintf(seen, sizeof seen, "/proc/%d/root%s", work->pid, work->library_path);
	if (stat(work->library_path, &ours) != 0 || stat(seen, &theirs) != 0 || ours.st_ino != theirs.st_ino ||
	    ours.st_size != theirs.st_size || strlen(work->library_path) > 200)
		return cairn_fail(error, "process %d can make no memfd, and does not see %.300s", work->pid, work->library_path);
	if (!open_library(work, work->library_path, error))
		return false;
	cairn_subject_close(&work->subject);
	if (!cairn_subject_open(&work->subject, work->pid, error))
		return false;
	const struct cairn_subject_module *module = cairn_subject_find(&work->subject, CAIRN_SUBJECT_AGENT);
	return module ? start_again(work, module, error) : cairn_fail(error, "process %d has not loaded the agent", work->pid);
}

static bool load(struct work *work, struct cairn_error *error)
{
	if (!close_left(work, error) || !make_memfd(work, error))
		return false;
	return work->memfd >= 0 ? load_from_memfd(work, error) : load_from_path(work, error);
}

/* One command at a time in processes of one program; one that holds this for ever is not waited for. */
static int lock_process(int pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	/* Some file systems have no locks: then there is nothing to wait for. */
	for (int i = 0; i < 1000 && descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
		pause_ms(10);
	return descriptor;
}

static bool attach(struct work *work, struct cairn_error *error)
{
	if (!cairn_program_library("libcairn.so", work->library_path) && !cairn_program_library("libcairn.so.1", work->library_path))
		return cairn_fail(error, "libcairn.so is not beside the command");
	if (!cairn_file_map(&work->library, work->library_path, error))
		return false;
	int lock = lock_process(work->pid);
	bool done = cairn_subject_open(&work->subject, work->pid, error) && cairn_inject_await_turn(&work->subject, error);
	cairn_subject_close(&work->subject);
	/* Once more: the call that was waited for may have loaded the library. */
	done = done && cairn_subject_open(&work->subject, work->pid, error);
	if (done) {
		const struct cairn_subject_module *module = cairn_subject_find(&work->subject, CAIRN_SUBJECT_AGENT);
		if (module)
			done = start_again(work, module, error);
		else if (work->only_waiting)
			done = cairn_fail(error, "process %d has not loaded the agent", work->pid);
		else
			done = load(work, error);
	}
	cairn_subject_close(&work->subject);
	cairn_file_close(&work->library);
	if (lock >= 0)
		close(lock);
	return done;
}

static bool await_agent(struct work *work, const char *name, struct cairn_target *target, struct cairn_error *error)
{
	int64_t now = cairn_clock_ns(), until = now + ready_ms * CAIRN_MILLISECOND_NS, look = now + look_ms * CAIRN_MILLISECOND_NS;
	for (; (now = cairn_clock_ns()) < until; pause_ms(10)) {
		if (cairn_target_find(target, name, NULL, error))
			return true;
		if (now < look)
			continue;
		if (has_failed(work, error))
			return false;
		look = now + look_ms * CAIRN_MILLISECOND_NS;
	}
	return false;
}

/* What the agent says of itself: which engine it has, or why there is none. */
static int report(struct work *work, const struct options *options, const char *name)
{
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer status = {0};
	char engine[40] = "", state[40] = "", problem[300] = "";
	if (!await_agent(work, name, &target, &error) || !cairn_target_ask(&target, "GET", "/cairn/status", &status, &error))
		return cairn_say_failure(&error);
	cairn_target_field(cairn_buffer_bytes(&status), "engine.name", engine, sizeof engine);
	cairn_target_field(cairn_buffer_bytes(&status), "state", state, sizeof state);
	cairn_target_field(cairn_buffer_bytes(&status), "why", problem, sizeof problem);
	cairn_buffer_free(&status);
	if (!options->quiet && work->calls)
		cairn_print(stdout, "%s: attached, %s%s%s; one thread was held for %.1f ms\n", name,
			    cairn_profiler_state_is(state, CAIRN_PROFILER_ACTIVE) ? "sampling" : state,
			    engine[0] ? " with engine " : "", engine,
			    (double)work->held_ns / 1e6);
	if (!options->wait && !cairn_profiler_state_is(state, CAIRN_PROFILER_ACTIVE))
		cairn_note(problem[0] ? "%s is not being sampled: %s" : "%s is not being sampled; 'cairn doctor %s' explains why", name,
			   problem[0] ? problem : name);
	return CAIRN_EXIT_DONE;
}

static int run_attach(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct cairn_target target;
	struct cairn_error error;
	if (count != 1)
		return cairn_say_not_one(count, "PID", "cairn attach [options] PID");
	if (!cairn_target_pid(operands[0])) {
		cairn_fail_usage(&error, "%s: not a PID; 'pgrep NAME' prints the PID of a program", operands[0]);
		return cairn_say_failure(&error);
	}
	struct cairn_program_settings settings = {options->token, options->listen, options->budget};
	if (!cairn_program_settings_are_good(&settings, &error))
		return cairn_say_failure(&error);
	static struct work work;
	work = (struct work){.pid = cairn_target_pid(operands[0]), .only_waiting = options->waiting, .filtered = options->filtered};
	if (options->waiting)
		work.filtered |= cairn_attach_filters_are_inherited(work.pid);
	if (cairn_target_find(&target, operands[0], NULL, &error)) {
		struct cairn_buffer body = {0};
		if (!options->quiet)
			cairn_print(stdout, "%s: already has an agent, which keeps its settings\n", operands[0]);
		bool done = options->wait || options->waiting || cairn_target_ask(&target, "POST", "/cairn/activate", &body, &error);
		cairn_buffer_free(&body);
		return done ? CAIRN_EXIT_DONE : cairn_say_failure(&error);
	}
	if (!write_config(options, &work.attach, &error) || !cairn_attach_is_possible(work.pid, work.filtered, &error) ||
	    !attach(&work, &error))
		return cairn_say_failure(&error);
	return report(&work, options, operands[0]);
}

/* The socket is gone once the agent has ended. */
static int run_detach(const void *values, int count, char **operands)
{
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer body = {0};
	(void)values;
	if (count != 1)
		return cairn_say_not_one(count, "TARGET", "a PID or the socket of an agent");
	if (!cairn_target_find(&target, operands[0], NULL, &error) || !cairn_target_ask(&target, "POST", "/cairn/detach", &body, &error)) {
		cairn_buffer_free(&body);
		return cairn_say_failure(&error);
	}
	cairn_buffer_free(&body);
	for (int64_t until = cairn_clock_ns() + detach_ms * CAIRN_MILLISECOND_NS; cairn_target_find(&target, operands[0], NULL, &error);
	     pause_ms(10))
		if (cairn_clock_ns() > until)
			return cairn_say_error("the agent has not ended within 10 s");
	cairn_print(stdout, "%s: detached\n", operands[0]);
	return CAIRN_EXIT_DONE;
}

const struct cairn_command cairn_command_attach = {
	.name = "attach",
	.summary = "profile a process that is already running",
	.arguments = "PID",
	.detail = "Loads the agent into the process and starts sampling. Memory allocated before is not sampled.\n"
		  "Requires permission to trace the process: run as its user if the system allows that, or as root.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run_attach,
};

const struct cairn_command cairn_command_detach = {
	.name = "detach",
	.summary = "stop profiling a process and end its agent",
	.arguments = "TARGET",
	.detail = "TARGET is a PID or the socket of an agent. The allocator is called directly again; "
		  "the library's code stays in memory, unused.",
	.groups = no_groups,
	.options_size = sizeof(struct options),
	.run = run_detach,
};
