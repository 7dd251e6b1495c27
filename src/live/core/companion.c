/* companion.c - starting a companion, and being one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/core/companion.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/process.h"
#include "live/attach/memfd.h"
#include "live/core/calls.h"
#include "live/core/frames.h"
#include "live/core/view.h"
#include "live/program.h"
#include "process/proc.h"
#include "protocol/beside.h"
#include "protocol/config.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { text_most = 64 << 10 };
static const char ready_word[] = "ready ";

/* Starting. */

/* One line: "ready HELD STOPPED", or what went wrong. */
static bool read_report(int descriptor, struct cairn_companion *companion, struct cairn_error *error)
{
	char text[sizeof error->text];
	size_t length = 0;
	ssize_t got;
	while (length + 1 < sizeof text && ((got = read(descriptor, text + length, sizeof text - 1 - length)) > 0 || errno == EINTR))
		length += got > 0 ? (size_t)got : 0;
	text[length] = 0;
	text[strcspn(text, "\n")] = 0;
	if (sscanf(text, "ready %lf %lf", &companion->held_ms, &companion->stopped_ms) == 2)
		return true;
	return cairn_fail(error, "%s", text[0] ? text : "the process that is to stay beside the program ended at once");
}

bool cairn_companion_start(struct cairn_companion *companion, struct cairn_error *error)
{
	char number[16];
	int in[2], out[2];
	pid_t child;
	snprintf(number, sizeof number, "%d", companion->pid);
	char *arguments[] = {(char[]){CAIRN_COMPANION_NAME}, (char[]){"beside"}, number, companion->filtered ? (char[]){"--filtered"} : NULL, NULL};
	if (pipe2(in, O_CLOEXEC) != 0)
		return cairn_fail_errno(error, "no pipe can be made");
	if (pipe2(out, O_CLOEXEC) != 0) {
		close(in[0]);
		close(in[1]);
		return cairn_fail_errno(error, "no pipe can be made");
	}
	bool started = cairn_process_start(CAIRN_PROCESS_SELF, arguments, environ, (int[]){in[0], out[1], -1}, &child);
	int code = errno;
	close(in[0]);
	close(out[1]);
	size_t length = strlen(companion->config);
	bool good = started && write(in[1], companion->config, length) == (ssize_t)length; /* a pipe takes it at once */
	close(in[1]);
	errno = code;
	good = good ? read_report(out[0], companion, error) : cairn_fail_errno(error, "no process can be started");
	close(out[0]);
	companion->own_pid = good ? child : 0;
	if (started && !good)
		waitpid(child, NULL, 0);
	return good;
}

bool cairn_companion_is_of(int peer, int pid)
{
	struct cairn_file arguments;
	char path[CAIRN_PROC_PATH], wanted[64];
	size_t length = (size_t)snprintf(wanted, sizeof wanted, "%cbeside%c%d", 0, 0, pid) + 1; /* behind the program */
	if (!cairn_file_read(&arguments, cairn_proc_path(path, peer, "cmdline"), NULL))
		return false;
	bool found = memmem(arguments.bytes.data, arguments.bytes.length, wanted, length) != NULL;
	cairn_file_close(&arguments);
	return found;
}

bool cairn_companion_undo(int pid, struct cairn_error *error)
{
	struct cairn_subject subject;
	struct cairn_placed placed = {0};
	bool done = cairn_subject_open(&subject, pid, error) && cairn_placed_open(&placed, &subject, error);
	if (done && !(placed.base && cairn_calls_are_on(&placed)))
		done = cairn_fail(error, "process %d has no agent", pid);
	done = done && cairn_calls_end(&placed, error) && cairn_placed_tidy(&placed, error);
	cairn_placed_close(&placed);
	cairn_subject_close(&subject);
	return done;
}

/* Staying. */

struct stay {
	int pid;
	struct cairn_subject subject;
	struct cairn_placed placed;
	struct cairn_buffer config;
	struct cairn_error error;
	bool answers;
};

static bool count(void *context, bool on, struct cairn_beside_counts *counts)
{
	struct stay *stay = context;
	struct cairn_error error = {{0}};
	if (!on) {
		bool ended = cairn_calls_end(&stay->placed, &error);
		snprintf(counts->problem, sizeof counts->problem, "%.1000s", error.text);
		return ended;
	}
	struct cairn_calls calls;
	bool begun = cairn_calls_begin(&calls, &stay->placed, &error);
	stay->placed.stopped_ns = calls.stopped_ns > stay->placed.stopped_ns ? calls.stopped_ns : stay->placed.stopped_ns;
	snprintf(counts->counted, sizeof counts->counted, "%s", calls.counted.data);
	snprintf(counts->unseen, sizeof counts->unseen, "%s", calls.unseen.data);
	snprintf(counts->problem, sizeof counts->problem, "%.1000s", error.text);
	cairn_calls_free(&calls);
	return begun;
}

static void list(void *context, cairn_beside_see *see, void *to)
{
	const struct stay *stay = context;
	cairn_view_list(&stay->placed, see, to);
}

/* A process has one companion, which holds a lock until it ends: nobody else's while it begins, and then one that others can share. The lock is on
 * the process's memory, which only those can open who can trace it. */
static bool be_the_only_one(const struct cairn_subject *subject, struct cairn_error *error)
{
	enum { tries = 6000, try_ms = 10 }; /* longer than another one takes to begin */
	for (int i = 0; i < tries; i++) {
		if (flock(subject->memory, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return true;
		if (flock(subject->memory, LOCK_SH | LOCK_NB) == 0)
			return cairn_fail(error, "process %d already has an agent beside it", subject->pid);
		nanosleep(&(struct timespec){0, try_ms * 1000000L}, NULL);
	}
	return cairn_fail(error, "another agent is being put beside process %d", subject->pid);
}

/* Nobody waits for what comes now. */
static void let_go(void)
{
	int nowhere = open("/dev/null", O_RDWR);
	if (nowhere >= 0) {
		dup2(nowhere, STDIN_FILENO);
		dup2(nowhere, STDOUT_FILENO);
	}
	if (nowhere > STDERR_FILENO)
		close(nowhere);
}

static void ready(void *context, const char *problem)
{
	struct stay *stay = context;
	struct cairn_core core;
	if (cairn_placed_read(&stay->placed, &core) && core.hold) /* it has waited for this since it began (run/begin.h) */
		cairn_placed_release(&stay->placed, NULL);
	stay->answers = !problem[0];
	flock(stay->subject.memory, LOCK_SH);
	if (problem[0]) {
		cairn_fail(&stay->error, "%s", problem);
		return;
	}
	char text[64];
	int length = snprintf(text, sizeof text, "%s%.3f %.3f\n", ready_word, (double)stay->placed.held_ns / 1e6, (double)stay->placed.stopped_ns / 1e6);
	if (write(STDOUT_FILENO, text, (size_t)length) == length)
		let_go();
}

static cairn_beside_function *load_library(struct cairn_error *error)
{
	char path[CAIRN_PROGRAM_PATH];
	if (!cairn_program_library("libcairn.so", path) && !cairn_program_library("libcairn.so.1", path)) {
		cairn_fail(error, "libcairn.so is not beside the command");
		return NULL;
	}
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	cairn_beside_function *function = library ? (cairn_beside_function *)(uintptr_t)dlsym(library, "cairn_beside_run") : NULL;
	if (!function)
		cairn_fail(error, library ? "%.300s is of another version than this command" : "%.300s cannot be loaded", path);
	return function;
}

/* The core with memory for a ledger, which there may be from an earlier time; not in a child that was forked since. */
static bool have_core(struct stay *stay, bool filtered, struct cairn_core *core, struct cairn_error *error)
{
	static struct cairn_config config;
	size_t modules[CAIRN_CORE_CALLS];
	cairn_config_default(&config);
	cairn_config_environment(&config, cairn_buffer_bytes(&stay->config));
	if (!cairn_placed_open(&stay->placed, &stay->subject, error))
		return false;
	stay->placed.filtered = filtered;
	if (cairn_placed_read(&stay->placed, core)) {
		if (core->ledger && core->process == (uint32_t)cairn_placed_process(&stay->placed))
			return true;
		core->ledger = 0;
	} else {
		*core = (struct cairn_core){0};
	}
	core->ledger_bytes = config.ledger_bytes;
	cairn_core_frames_ask(&stay->placed, core, modules);
	if (!cairn_placed_visit(&stay->placed, core, 0, error))
		return false;
	return (cairn_core_frames_fill(&stay->placed, core, modules) ||
		cairn_fail_errno(error, "the memory of process %d cannot be written", stay->pid)) &&
	       cairn_placed_tidy(&stay->placed, error);
}

static bool stay_beside(struct stay *stay, bool filtered, struct cairn_error *error)
{
	struct cairn_core core;
	if (!cairn_subject_open(&stay->subject, stay->pid, error) || !be_the_only_one(&stay->subject, error) || !have_core(stay, filtered, &core, error))
		return false;
	struct cairn_beside beside = {
		.version = CAIRN_BESIDE_VERSION,
		.pid = stay->pid,
		.memory = stay->subject.memory,
		.end = (int)syscall(SYS_pidfd_open, stay->pid, 0),
		.ledger = cairn_memfd_open(stay->pid, (int)core.descriptor, "cairn-ledger"),
		.ledger_bytes = core.ledger_bytes,
		.ledger_address = core.ledger,
		.sampling = cairn_placed_symbol(&stay->placed, "cairn_sampling"),
		.objects = cairn_placed_symbol(&stay->placed, "cairn_core_objects"),
		.forget = cairn_placed_symbol(&stay->placed, "cairn_filter_remove"),
		.config = stay->config.data,
		.context = stay,
		.count = count,
		.list = list,
		.ready = ready,
	};
	if (beside.ledger < 0)
		return cairn_fail(error, "process %d has closed the memory of its ledger; only a restart makes another one", stay->pid);
	if (beside.end < 0)
		return cairn_fail_errno(error, "process %d cannot be watched", stay->pid);
	cairn_beside_function *run = load_library(error);
	if (!run)
		return false;
	run(&beside);
	return stay->answers || cairn_fail(error, "%s", stay->error.text);
}

bool cairn_companion_stay(int pid, bool filtered, struct cairn_error *error)
{
	static struct stay stay;
	stay = (struct stay){.pid = pid, .config = cairn_buffer(text_most)};
	prctl(PR_SET_NAME, CAIRN_COMPANION_NAME);
	setsid();
	unsetenv("CAIRN_REPORT");
	if (!cairn_buffer_read(&stay.config, STDIN_FILENO) || stay.config.failed)
		return cairn_fail(error, "the settings cannot be read");
	cairn_buffer_byte(&stay.config, 0);
	stay.config.length--;
	bool done = stay_beside(&stay, filtered, error);
	cairn_placed_close(&stay.placed);
	cairn_subject_close(&stay.subject);
	cairn_buffer_free(&stay.config);
	return done;
}
