/* file_limit.c - blocks SIGXFSZ and takes it back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file_limit.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool is_pending(void)
{
	sigset_t pending;
	return sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

void cairn_file_limit_enter(struct cairn_file_limit *limit)
{
	int code = errno;
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &signals, &limit->before);
	limit->was_pending = sigismember(&limit->before, SIGXFSZ) == 1 && is_pending();
	errno = code;
}

void cairn_file_limit_leave(const struct cairn_file_limit *limit, bool may_have_failed)
{
	int code = errno;
	uint64_t signals = UINT64_C(1) << (SIGXFSZ - 1); /* as the kernel has a set */
	/* libc's sigtimedwait is a cancellation point, and this thread may be one of the host's. */
	if (may_have_failed && !limit->was_pending)
		syscall(SYS_rt_sigtimedwait, &signals, NULL, &(struct timespec){0}, sizeof signals);
	pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
	errno = code;
}
