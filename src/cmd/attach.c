/* attach.c - `cairn attach` and `cairn detach`: an agent for a process that runs already, and its end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/attach/beside.h"
#include "cmd/command.h"
#include "dump/engine_kind.h"
#include "live/attach/check.h"
#include "live/attach/inject.h"
#include "live/attach/library.h"
#include "live/attach/memfd.h"
#include "live/inside/agent.h"
#include "live/program.h"
#include "live/target.h"
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
	bool waiting; /* only an agent that waits, with the settings that it has; for commands that find one */
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

/* The settings that the agent is given. Sampling begins when all that is to be sampled is counted. */
static bool write_config(const struct options *options, struct cairn_attach *attach, struct cairn_error *error)
{
	char own[CAIRN_PROGRAM_PATH] = "";
	const char *token = options->token ? options->token : getenv("CAIRN_TOKEN");
	struct cairn_buffer text = cairn_buffer(sizeof attach->config);
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	own[length > 0 ? length : 0] = 0;
	cairn_buffer_format(&text, "engine:%s%s", options->engine ? options->engine : cairn_engine_name(CAIRN_ENGINE_AUTO),
			    options->wait ? ",enable_heap_profiling:false" : "");
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
	struct cairn_library library;
	off_t attach_offset; /* of `cairn_attached` in it */
	int number, memfd;   /* the memfd that the process loads it from: its descriptor, and ours */
	int64_t held_ns;
	unsigned calls;
	bool filtered;     /* threads with a seccomp filter may be used */
	bool only_waiting; /* nothing is started but an agent that waits, */
	bool only_jemalloc; /* and has samples of jemalloc's */
	bool has_waited;   /* there was one, which has its settings */
	bool waits; /* the process will load the library, but has not */
	size_t threads; /* that were stopped together, and for how long */
	int64_t stopped_ns;
};

static bool call(struct work *work, struct cairn_injection *injection, struct cairn_error *error)
{
	injection->filtered = work->filtered;
	injection->hasty = work->only_waiting; /* its samples start the agent, too */
	bool done = cairn_inject(&work->subject, injection, error);
	work->waits = injection->waits;
	if (!done)
		return false;
	work->calls++;
	work->held_ns = injection->held_ns > work->held_ns ? injection->held_ns : work->held_ns;
	return true;
}

/* A memfd for the library; -1 where it is something else. */
static int open_memfd(int pid, int number)
{
	return cairn_memfd_open(pid, number, "libcairn.so");
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
	struct cairn_elf *elf = cairn_elf_open_bytes(work->library.file.bytes, work->library.path, error);
	if (!elf)
		return false;
	struct cairn_subject_module own = {.elf = elf};
	uint64_t offset = 0, address = cairn_subject_symbol(&own, "cairn_attached");
	bool known = address && cairn_elf_offset_of(elf, address, &offset) && offset + sizeof work->attach <= work->library.file.bytes.length;
	cairn_elf_close(elf);
	if (!known)
		return cairn_fail(error, "%.300s is of another version than this command", work->library.path);
	work->attach.descriptor = work->number + 1;
	work->attach_offset = (off_t)offset;
	struct cairn_bytes rest = work->library.file.bytes;
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

/* Where the process has `cairn_attached` and cairn_attach_start. */
static bool locate(const struct work *work, uint64_t *attached, uint64_t *function)
{
	uint32_t version = 0;
	*attached = cairn_library_symbol(&work->library, &work->subject, "cairn_attached");
	*function = cairn_library_symbol(&work->library, &work->subject, "cairn_attach_start");
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
static bool start_again(struct work *work, struct cairn_error *error)
{
	uint64_t attached, function;
	if (!locate(work, &attached, &function))
		return cairn_fail(error, "process %d has loaded a libcairn of another version, which this command cannot start", work->pid);
	struct cairn_attach theirs;
	if (cairn_subject_read(&work->subject, attached, &theirs, sizeof theirs) != sizeof theirs)
		return cairn_fail_errno(error, "the memory of process %d cannot be read", work->pid);
	if (!is_whole(&theirs))
		return cairn_fail(error,
				  "process %d was forked while the agent was being loaded into its parent, and cannot load it any more",
				  work->pid);
	work->has_waited = theirs.state == CAIRN_ATTACH_WAITING || theirs.state == CAIRN_ATTACH_WAITING_JEMALLOC;
	if (work->has_waited)
		memset(work->attach.config, 0, sizeof work->attach.config);
	if (work->only_waiting && theirs.state >= CAIRN_ATTACH_WANTED && theirs.state <= CAIRN_ATTACH_RUNNING)
		return true; /* another command was faster, or the process itself */
	if (work->only_waiting && (!work->has_waited || (work->only_jemalloc && theirs.state == CAIRN_ATTACH_WAITING)))
		return cairn_fail(error, "process %d has no agent that waits for its start", work->pid);
	struct cairn_injection injection = {.function = function};
	if (!cairn_subject_write(&work->subject, attached, &work->attach, sizeof work->attach))
		return cairn_fail_errno(error, "the memory of process %d cannot be written", work->pid);
	if (!call(work, &injection, error)) {
		if (!injection.waits) /* as it was: the next command is to find one that waits */
			cairn_subject_write(&work->subject, attached, &theirs, sizeof theirs);
		return false;
	}
	return injection.result == 1 || cairn_fail(error, "process %d cannot start a thread", work->pid);
}

/* Whether the agent has said that it cannot start; *ERROR then says why. */
static bool has_failed(struct work *work, struct cairn_error *error)
{
	struct cairn_attach state = {0};
	struct cairn_error inner;
	uint64_t attached, function;
	bool failed = false;
	if (cairn_library_open(&work->library, &inner) && cairn_subject_open(&work->subject, work->pid, &inner) &&
	    locate(work, &attached, &function) &&
	    cairn_subject_read(&work->subject, attached, &state, sizeof state) == sizeof state && state.state == CAIRN_ATTACH_FAILED) {
		state.problem[sizeof state.problem - 1] = 0;
		cairn_fail(error, "the agent does not start in process %d: %s", work->pid, state.problem);
		failed = true;
	}
	cairn_subject_close(&work->subject);
	cairn_library_close(&work->library);
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
	snprintf(seen, sizeof seen, "/proc/%d/root%s", work->pid, work->library.path);
	if (stat(work->library.path, &ours) != 0 || stat(seen, &theirs) != 0 || ours.st_ino != theirs.st_ino ||
	    ours.st_size != theirs.st_size || strlen(work->library.path) > 200)
		return cairn_fail(error, "process %d can make no memfd, and does not see %.300s", work->pid, work->library.path);
	if (!open_library(work, work->library.path, error))
		return false;
	cairn_subject_close(&work->subject);
	if (!cairn_subject_open(&work->subject, work->pid, error))
		return false;
	return cairn_subject_find(&work->subject, CAIRN_SUBJECT_AGENT) ? start_again(work, error) : cairn_fail(error, "process %d has not loaded the agent", work->pid);
}

static bool load(struct work *work, struct cairn_error *error)
{
	if (!close_left(work, error) || !make_memfd(work, error))
		return false;
	return work->memfd >= 0 ? load_from_memfd(work, error) : load_from_path(work, error);
}

static bool attach(struct work *work, struct cairn_error *error)
{
	if (!cairn_library_open(&work->library, error))
		return false;
	int lock = cairn_agent_lock(work->pid);
	bool done = cairn_subject_open(&work->subject, work->pid, error) && cairn_inject_await_turn(&work->subject, error);
	cairn_subject_close(&work->subject);
	/* Once more: the call that was waited for may have loaded the library. */
	done = done && cairn_subject_open(&work->subject, work->pid, error);
	if (done) {
		if (cairn_subject_find(&work->subject, CAIRN_SUBJECT_AGENT))
			done = start_again(work, error);
		else if (work->only_waiting)
			done = cairn_fail(error, "process %d has not loaded the agent", work->pid);
		else
			done = load(work, error);
	}
	cairn_subject_close(&work->subject);
	cairn_library_close(&work->library);
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

static void say_note(const char *text)
{
	cairn_note("%s", text);
}

/* The allocators inside the process, for Cairn's own engine. What cannot be counted is no reason not to sample the rest. */
static void count_inside(struct work *work, const struct options *options, const struct cairn_target *target, const char *name)
{
	struct cairn_agent_count count;
	struct cairn_agent_door door = cairn_agent_door_of(target);
	struct cairn_error error = {.usage = false};
	struct cairn_buffer seen = cairn_buffer(1 << 16);
	bool done = cairn_agent_count_begin(&count, work->pid, &door, &error);
	work->threads = count.threads;
	work->stopped_ns = count.stopped_ns;
	for (size_t i = 0; i < count.plan.count && done; i++)
		if (count.plan.items[i].verdict == CAIRN_PLAN_COUNTED)
			cairn_buffer_format(&seen, "%s%s", seen.length ? ", and " : "", cairn_plan_describe(&count.plan, &count.plan.items[i]));
	cairn_agent_say_unseen(&count.plan, done ? "" : error.text, say_note);
	if (seen.length && !options->quiet)
		cairn_print(stdout, "%s: counts %.*s\n", name, (int)seen.length, seen.data);
	cairn_buffer_free(&seen);
	cairn_agent_count_free(&count);
}

/* Counts what is to be counted and begins to sample, unless that is to wait. */
static bool begin(struct work *work, const struct options *options, const struct cairn_target *target, const char *name,
		  struct cairn_buffer *status, struct cairn_error *error)
{
	char engine[40] = "";
	struct cairn_buffer body = {0};
	if (!cairn_target_ask(target, "GET", "/cairn/status", status, error))
		return false;
	cairn_target_field(cairn_buffer_bytes(status), "engine.name", engine, sizeof engine);
	/* An agent beside a process counts by itself. */
	if (strcmp(engine, cairn_engine_name(CAIRN_ENGINE_CAIRN)) == 0 && !options->waiting &&
	    cairn_attach_way_of(work->pid) == CAIRN_ATTACH_BY_LIBRARY)
		count_inside(work, options, target, name);
	if (options->wait || options->waiting)
		return true;
	/* Where that is not possible the status says why. */
	cairn_target_ask(target, "POST", "/cairn/activate", &body, error);
	cairn_buffer_free(&body);
	cairn_buffer_free(status);
	*status = (struct cairn_buffer){0};
	return cairn_target_ask(target, "GET", "/cairn/status", status, error);
}

/* What the agent says of itself: which engine it has, or why there is none. */
static int report(struct work *work, const struct options *options, const char *name)
{
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer status = {0};
	char engine[40] = "", state[40] = "", problem[300] = "", stopped[80] = "";
	if (!await_agent(work, name, &target, &error) || !begin(work, options, &target, name, &status, &error))
		return cairn_say_failure(&error);
	cairn_target_field(cairn_buffer_bytes(&status), "engine.name", engine, sizeof engine);
	cairn_target_field(cairn_buffer_bytes(&status), "state", state, sizeof state);
	cairn_target_field(cairn_buffer_bytes(&status), "why", problem, sizeof problem);
	cairn_buffer_free(&status);
	engine[strcspn(engine, "\n")] = state[strcspn(state, "\n")] = '\0'; /* both are words, unless somebody else answers */
	if (work->threads)
		snprintf(stopped, sizeof stopped, ", all %zu were stopped for %.1f ms", work->threads, (double)work->stopped_ns / 1e6);
	if (!options->quiet && work->calls)
		cairn_print(stdout, "%s: attached, %s%s%s; one thread was held for %.1f ms%s\n", name,
			    cairn_profiler_state_is(state, CAIRN_PROFILER_ACTIVE) ? "sampling" : state,
			    engine[0] ? " with engine " : "", engine,
			    (double)work->held_ns / 1e6, stopped);
	if (!options->wait && !cairn_profiler_state_is(state, CAIRN_PROFILER_ACTIVE))
		cairn_note(problem[0] ? "%s is not being sampled: %s" : "%s is not being sampled; 'cairn doctor %s' explains why", name,
			   problem[0] ? problem : name);
	return CAIRN_EXIT_DONE;
}

/* There is an agent already. */
static int keep(struct work *work, const struct options *options, const struct cairn_target *target, const char *name)
{
	struct cairn_error error;
	struct cairn_buffer status = {0};
	if (!options->quiet)
		cairn_print(stdout, "%s: already has an agent, which keeps its settings\n", name);
	bool done = begin(work, options, target, name, &status, &error);
	cairn_buffer_free(&status);
	return done ? CAIRN_EXIT_DONE : cairn_say_failure(&error);
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
	work.only_jemalloc = cairn_engine_parse(cairn_bytes_of(options->engine ? options->engine : "")) == CAIRN_ENGINE_JEMALLOC;
	if (options->waiting)
		work.filtered |= cairn_attach_filters_are_inherited(work.pid);
	if (cairn_target_find(&target, operands[0], NULL, &error))
		return keep(&work, options, &target, operands[0]);
	if (!write_config(options, &work.attach, &error) || !cairn_attach_is_possible(work.pid, work.filtered, &error))
		return cairn_say_failure(&error);
	if (cairn_attach_way_of(work.pid) == CAIRN_ATTACH_BY_CORE)
		return cairn_attach_beside(&(struct cairn_attach_beside){.pid = work.pid,
									 .name = operands[0],
									 .config = work.attach.config,
									 .filtered = work.filtered,
									 .waits = options->wait,
									 .quiet = options->quiet,
									 .impossible = options->waiting || work.only_jemalloc});
	if (!attach(&work, &error))
		return cairn_say_failure(&error);
	if (work.has_waited && !options->waiting)
		return await_agent(&work, operands[0], &target, &error) ? keep(&work, options, &target, operands[0]) : cairn_say_failure(&error);
	return report(&work, options, operands[0]);
}

static bool end_counting(const struct cairn_target *target, struct cairn_error *error)
{
	struct cairn_agent_door door = cairn_agent_door_of(target);
	return cairn_agent_count_end(cairn_target_process(target), &door, error);
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
	if (!cairn_target_find(&target, operands[0], NULL, &error) && cairn_attach_undo(cairn_target_pid(operands[0]))) {
		cairn_print(stdout, "%s: detached\n", operands[0]);
		return CAIRN_EXIT_DONE;
	}
	if (!cairn_target_find(&target, operands[0], NULL, &error) ||
	    !end_counting(&target, &error) ||
	    !cairn_target_ask(&target, "POST", "/cairn/detach", &body, &error)) {
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
