/* spawn.c - starts the command through a helper process, the shepherd.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/spawn.h"

#include "base/descriptor.h"
#include "base/pages.h"
#include "base/text.h"
#include "base/time.h"
#include "process/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { stack_size = 32 << 10, said_maximum = 4 << 10, poll_ms = 200, niceness = 10, usage_code = 2 };

/* Shared by three tasks in one address space: the agent's thread, the shepherd, and the command until its exec. */
struct launch {
	const struct cairn_spawn *spawn;
	int input, output, errors, base;
	atomic_int started; /* 1 once `command` is set; the thread waits for it */
	pid_t command;      /* or -1 */
	int exec_error;     /* errno of what kept it from starting; 0 when it started */
	/* Its status, plus 1, once the shepherd has it; the shepherd's own may be taken by a host that waits with __WALL. */
	atomic_int ended;
	char stacks[2][stack_size] __attribute__((aligned(16)));
};

static_assert(stack_size % 16 == 0 && offsetof(struct launch, stacks) % 16 == 0, "both stacks begin where the ABI wants them");

#if !defined(SYS_close_range) /* the C library may be older than the kernel */
#define SYS_close_range 436
#endif

static void close_all_from(unsigned first)
{
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
	struct rlimit limit = {.rlim_cur = 1024};
	getrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned descriptor = first; descriptor < limit.rlim_cur && descriptor < 65536; descriptor++)
		syscall(SYS_close, descriptor);
}

/* The host's handlers must not run in the command's process before exec, so signals stay blocked until they are reset. */
static void reset_signals(void)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	for (int number = 1; number < NSIG; number++)
		sigaction(number, &standard, NULL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void place(int from, int to)
{
	if (from == to)
		fcntl(to, F_SETFD, 0);
	else
		dup2(from, to);
}

static int run_command(void *context)
{
	struct launch *launch = context;
	const struct cairn_spawn *spawn = launch->spawn;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* All four are ours and far above 3 (base/descriptor.h), so dup2 never overwrites one that is still needed. */
	place(launch->input, 0);
	place(launch->output, 1);
	place(launch->errors, 2);
	if (launch->base >= 0)
		place(launch->base, 3);
	close_all_from(launch->base >= 0 ? 4 : 3);
	struct rlimit memory = {spawn->memory, spawn->memory}, core = {0, 0};
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CORE, &core);
	setpriority(PRIO_PROCESS, 0, niceness);
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (score >= 0) { /* if memory runs out, the OOM killer takes the child, not the service */
		(void)!write(score, "1000", 4);
		close(score);
	}
	reset_signals();
	execve(spawn->path, (char *const *)(uintptr_t)spawn->arguments, spawn->environment);
	launch->exec_error = errno;
	_exit(127);
}

/* Runs beside the agent's thread and shares its thread-local storage: after it has announced the command, it makes only system calls that
 * cannot set errno. */
static int shepherd(void *context)
{
	struct launch *launch = context;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigaction(SIGCHLD, &standard, NULL); /* if the host ignored it, the exit status would be lost */
	launch->command = clone(run_command, launch->stacks[1] + stack_size, CLONE_VM | CLONE_VFORK | SIGCHLD, launch);
	pid_t command = launch->command;
	if (command < 0)
		launch->exec_error = errno;
	atomic_store(&launch->started, 1);
	syscall(SYS_futex, &launch->started, FUTEX_WAKE, 1, NULL, NULL, 0);
	int status = 0;
	if (command > 0)
		syscall(SYS_wait4, command, &status, 0, NULL);
	atomic_store(&launch->ended, 1 + (command < 0 || WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)));
	syscall(SYS_futex, &launch->ended, FUTEX_WAKE, 1, NULL, NULL, 0);
	syscall(SYS_exit_group, 0);
	return 0;
}

/* Opens the file again, so that two commands that read one snapshot do not share a position. */
static int reopen(int descriptor)
{
	if (descriptor < 0)
		return -1;
	int again = cairn_descriptor_reopen(descriptor);
	if (again < 0) {
		lseek(descriptor, 0, SEEK_SET);
		again = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	}
	return cairn_descriptor_adopt(again);
}

/* Reads what has arrived on DESCRIPTOR; false at its end. */
static bool drain(int descriptor, struct cairn_buffer *out)
{
	char *room = cairn_buffer_room(out, 64 << 10);
	char spill[4096];
	ssize_t length = read(descriptor, room ? room : spill, room ? (size_t)(64 << 10) : sizeof spill);
	if (length > 0 && room)
		out->length += (size_t)length;
	return length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Waits a moment for the command to end; true once it has, or nothing more can be known of it. */
static bool has_ended(struct launch *launch, pid_t shepherd_pid)
{
	struct timespec moment = {.tv_nsec = poll_ms * CAIRN_MILLISECOND_NS};
	if (!atomic_load(&launch->ended))
		syscall(SYS_futex, &launch->ended, FUTEX_WAIT, 0, &moment, NULL, 0);
	return atomic_load(&launch->ended) || waitpid(shepherd_pid, NULL, __WALL | WNOHANG) != 0;
}

/* Reads both pipes to their ends and waits for that of the command, or until it has to be stopped for *REASON. The pipes may end first: the
 * command may close them, and so may a host that closes whatever it finds. */
static enum cairn_spawn_result follow(struct launch *launch, pid_t shepherd_pid, int output, int errors, struct cairn_buffer *out,
				      struct cairn_buffer *said, const char **reason)
{
	const struct cairn_spawn *spawn = launch->spawn;
	int64_t deadline = cairn_clock_ns() + spawn->seconds * CAIRN_SECOND_NS;
	struct pollfd pipes[2] = {{.fd = output, .events = POLLIN}, {.fd = errors, .events = POLLIN}};
	for (bool over = false; !over;) {
		if (pipes[0].fd >= 0 || pipes[1].fd >= 0)
			poll(pipes, 2, poll_ms);
		else
			over = has_ended(launch, shepherd_pid);
		for (int i = 0; i < 2; i++)
			if (pipes[i].fd >= 0 && pipes[i].revents && !drain(pipes[i].fd, i ? said : out))
				pipes[i].fd = -1;
		if (!over && cairn_clock_ns() > deadline) {
			*reason = "took too long";
			return CAIRN_SPAWN_TOO_LONG;
		}
		if (!over && ((spawn->gone && atomic_load(spawn->gone)) || (spawn->stop && atomic_load(spawn->stop)))) {
			*reason = "was stopped because the client left";
			return CAIRN_SPAWN_STOPPED;
		}
		if (out->failed) {
			*reason = "wrote more than fits in memory";
			return CAIRN_SPAWN_FAILED;
		}
		said->failed = false;
	}
	return CAIRN_SPAWN_DONE;
}

static bool make_pipe(int ends[2])
{
	ends[0] = ends[1] = -1;
	int made[2];
	if (pipe2(made, O_CLOEXEC) != 0)
		return false;
	ends[0] = cairn_descriptor_adopt(made[0]);
	ends[1] = cairn_descriptor_adopt(made[1]);
	return ends[0] >= 0 && ends[1] >= 0;
}

static bool wait_for_start(struct launch *launch, pid_t shepherd_pid)
{
	struct timespec second = {.tv_sec = 1};
	while (!atomic_load(&launch->started)) {
		syscall(SYS_futex, &launch->started, FUTEX_WAIT, 0, &second, NULL, 0);
		if (!atomic_load(&launch->started) && waitpid(shepherd_pid, NULL, __WALL | WNOHANG) != 0)
			return false;
	}
	return true;
}

/* CODE is the command's exit code, 128 plus the signal's number if it was killed, or -1 if unknown. */
static bool explain(const struct cairn_spawn *spawn, int code, struct cairn_buffer *said, struct cairn_error *error)
{
	struct cairn_bytes words = cairn_text_trim(cairn_buffer_bytes(said));
	int shown = words.length < 300 ? (int)words.length : 300;
	if (code == 0)
		return true;
	if (code < 0)
		return cairn_fail(error, "%s %s: exit status unknown: its parent was killed", spawn->path, spawn->arguments[1]);
	if (code > 128)
		return cairn_fail(error, "%s %s was killed by signal %d: %.*s", spawn->path, spawn->arguments[1], code - 128, shown,
				  words.data);
	cairn_fail(error, "%s %s failed with code %d: %.*s", spawn->path, spawn->arguments[1], code, shown, shown ? words.data : "");
	error->usage = code == usage_code;
	return false;
}

static enum cairn_spawn_result run(struct launch *launch, int output, int errors, struct cairn_buffer *out, struct cairn_error *error)
{
	const struct cairn_spawn *spawn = launch->spawn;
	/* No exit signal: the host gets no SIGCHLD for the shepherd, and its wait() does not find it. */
	pid_t pid = clone(shepherd, launch->stacks[0] + stack_size, CLONE_VM | CLONE_FILES | CLONE_FS, launch);
	if (pid < 0) {
		cairn_fail_errno(error, "cannot start a process");
		return CAIRN_SPAWN_FAILED;
	}
	bool started = wait_for_start(launch, pid);
	cairn_descriptor_close(launch->output);
	cairn_descriptor_close(launch->errors);
	launch->output = launch->errors = -1;
	struct cairn_buffer said = cairn_pages(said_maximum + (64 << 10));
	const char *reason = NULL;
	enum cairn_spawn_result result = CAIRN_SPAWN_FAILED;
	if (started && launch->exec_error == 0)
		result = follow(launch, pid, output, errors, out, &said, &reason);
	if (reason && launch->command > 0)
		kill(launch->command, SIGKILL);
	if (started)
		while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	if (reason) {
		cairn_fail(error, "%s %s %s", spawn->path, spawn->arguments[1], reason);
	} else if (!started) {
		cairn_fail(error, "cannot start %s", spawn->path);
	} else if (launch->exec_error) {
		errno = launch->exec_error;
		cairn_fail_errno(error, "cannot start %s", spawn->path);
	} else if (!explain(spawn, atomic_load(&launch->ended) - 1, &said, error)) {
		result = CAIRN_SPAWN_FAILED;
	}
	cairn_buffer_free(&said);
	return result;
}

enum cairn_spawn_result cairn_spawn_run(const struct cairn_spawn *spawn, struct cairn_buffer *out, struct cairn_error *error)
{
	struct launch *launch = cairn_pages_map(sizeof *launch);
	if (!launch) {
		cairn_fail_errno(error, "no memory to start %s", spawn->path);
		return CAIRN_SPAWN_FAILED;
	}
	enum cairn_spawn_result result = CAIRN_SPAWN_FAILED;
	int output[2], errors[2] = {-1, -1};
	bool good = make_pipe(output) && make_pipe(errors);
	launch->spawn = spawn;
	launch->input = reopen(spawn->input);
	launch->base = reopen(spawn->base);
	launch->output = output[1];
	launch->errors = errors[1];
	if (!good || (spawn->input >= 0 && launch->input < 0) || (spawn->base >= 0 && launch->base < 0))
		cairn_fail_errno(error, "no descriptor left to start %s", spawn->path);
	else
		result = run(launch, output[0], errors[0], out, error);
	cairn_descriptor_close(launch->input);
	cairn_descriptor_close(launch->base);
	cairn_descriptor_close(launch->output);
	cairn_descriptor_close(launch->errors);
	cairn_descriptor_close(output[0]);
	cairn_descriptor_close(errors[0]);
	cairn_pages_unmap(launch, sizeof *launch);
	return result;
}
