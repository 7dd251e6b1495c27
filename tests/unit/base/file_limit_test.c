/* file_limit_test.c - a file that may not become so long is an error, and no signal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file_limit.h"

#include "tap.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void see_signal(int number)
{
	(void)number;
	signals = signals + 1;
}

/* Makes a file longer than the limit allows; returns the error. */
static int write_too_much(void)
{
	int descriptor = memfd_create("test", MFD_CLOEXEC);
	int code = descriptor >= 0 && ftruncate(descriptor, 1 << 20) == 0 ? 0 : errno;
	close(descriptor);
	return code;
}

static bool is_blocked(void)
{
	sigset_t blocked;
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	return sigismember(&blocked, SIGXFSZ);
}

int main(void)
{
	struct rlimit before, small;
	struct cairn_file_limit limit, inner;
	sigset_t only, pending;
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){1 << 16, before.rlim_max};
	signal(SIGXFSZ, see_signal);
	setrlimit(RLIMIT_FSIZE, &small);
	is_int(write_too_much(), EFBIG, "beyond the limit a file does not grow");
	is_int(signals, 1, "and the thread gets a signal");
	cairn_file_limit_enter(&limit);
	is_int(write_too_much(), EFBIG, "within the guard it is the same error");
	cairn_file_limit_enter(&inner);
	write_too_much();
	cairn_file_limit_leave(&inner, true);
	ok(is_blocked(), "guards can be nested");
	errno = EFBIG;
	cairn_file_limit_leave(&limit, true);
	is_int(errno, EFBIG, "which is still there afterwards");
	is_int(signals, 1, "and no signal comes");
	ok(!is_blocked(), "nor is it blocked any more");
	cairn_file_limit_enter(&limit);
	pthread_kill(pthread_self(), SIGXFSZ);
	cairn_file_limit_leave(&limit, false);
	is_int(signals, 2, "one that somebody else sends while no write fails is not taken");

	sigemptyset(&only);
	sigaddset(&only, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &only, NULL);
	pthread_kill(pthread_self(), SIGXFSZ);
	cairn_file_limit_enter(&limit);
	write_too_much();
	cairn_file_limit_leave(&limit, true);
	sigpending(&pending);
	ok(is_blocked() && sigismember(&pending, SIGXFSZ), "one that the host has blocked and that came before is left to it");
	setrlimit(RLIMIT_FSIZE, &before);
	return tap_done();
}
