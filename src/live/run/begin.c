/* begin.c - from exec to the thread pointer, system call by system call.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/run/begin.h"

#include "arch/machine.h"
#include "live/core/companion.h"
#include "live/core/frames.h"
#include "live/core/placed.h"
#include "protocol/config.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { calls_most = 1000 };

void cairn_begin_in_child(void)
{
	ptrace(PTRACE_TRACEME, 0, 0, 0);
}

static bool await_stop(pid_t child, int *status, struct cairn_error *error)
{
	while (waitpid(child, status, __WALL) < 0)
		if (errno != EINTR)
			return cairn_fail_errno(error, "the command cannot be traced");
	return WIFSTOPPED(*status) || cairn_fail(error, "the command ended before it was profiled");
}

static bool has_pointer(pid_t child)
{
	static struct cairn_machine machine;
	return cairn_machine_read_registers(child, &machine) && cairn_machine_thread_pointer(child, &machine) != 0;
}

/* Lets it run to the end of the system call, or on x86_64 behind the one, that has set the thread pointer. */
static bool await_pointer(pid_t child, int *status, struct cairn_error *error)
{
	enum { call_stop = SIGTRAP | 0x80 };
	bool leaves = false;
	if (!await_stop(child, status, error))
		return false;
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
	for (int pass_on = 0, calls = 0; calls < calls_most;) {
		if (ptrace(PTRACE_SYSCALL, child, 0, pass_on) != 0)
			return cairn_fail_errno(error, "the command cannot be traced");
		if (!await_stop(child, status, error))
			return false;
		bool is_call = WSTOPSIG(*status) == call_stop;
		pass_on = is_call ? 0 : WSTOPSIG(*status);
		calls += is_call;
		leaves = is_call ? !leaves : leaves;
		if (is_call && !leaves && has_pointer(child))
			return true;
	}
	return cairn_fail(error, "the command never set a thread pointer: it has no libc that could be profiled");
}

static bool put_core(pid_t child, const struct cairn_config *config, struct cairn_error *error)
{
	struct cairn_subject subject;
	struct cairn_placed placed;
	struct cairn_core core = {.ledger_bytes = config->ledger_bytes};
	size_t modules[CAIRN_CORE_CALLS];
	bool done = cairn_subject_open(&subject, child, error) && cairn_placed_open(&placed, &subject, error);
	if (done) {
		cairn_core_frames_ask(&placed, &core, modules);
		done = cairn_placed_visit(&placed, &core, child, error) &&
		       (cairn_core_frames_fill(&placed, &core, modules) || cairn_fail_errno(error, "the memory of the command cannot be written"));
	}
	cairn_placed_close(&placed);
	cairn_subject_close(&subject);
	return done;
}

static void release(pid_t child)
{
	struct cairn_subject subject;
	struct cairn_placed placed;
	if (cairn_subject_open(&subject, child, NULL) && cairn_placed_open(&placed, &subject, NULL) && placed.base)
		cairn_placed_release(&placed, NULL);
	cairn_placed_close(&placed);
	cairn_subject_close(&subject);
}

bool cairn_begin(pid_t child, const char *text, int *status, struct cairn_error *error)
{
	static struct cairn_config config;
	cairn_config_default(&config);
	cairn_config_environment(&config, cairn_bytes_of(text));
	*status = -1;
	if (!await_pointer(child, status, error)) {
		if (WIFSTOPPED(*status))
			ptrace(PTRACE_DETACH, child, 0, 0);
		*status = WIFSTOPPED(*status) ? -1 : *status;
		return false;
	}
	*status = -1;
	if (!put_core(child, &config, error)) {
		ptrace(PTRACE_DETACH, child, 0, 0); /* unless it was */
		return false;
	}
	struct cairn_companion companion = {.pid = child, .config = text};
	bool done = cairn_companion_start(&companion, error);
	if (!done)
		release(child);
	return done;
}
