/* watched_test.c - what is known of a process that is watched, given up and watched again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/watched.h"

#include "cmd/command.h"
#include "tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* That of the command is in its main file. */
void cairn_note(const char *format, ...)
{
	(void)format;
}

int main(void)
{
	struct cairn_error error;
	struct cairn_watched watched = {.name = "service", .service = true};
	ok(cairn_watched_begin(&watched, getpid(), &error), "a process is watched");
	ok(!watched.told_refusal, "nothing was said about it");
	watched.told_refusal = true;
	cairn_watched_close(&watched);
	ok(cairn_watched_begin(&watched, getpid(), &error) && watched.told_refusal, "watched again, what was said is not said again");
	cairn_watched_close(&watched);
	pid_t child = tap_fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	ok(cairn_watched_begin(&watched, child, &error) && !watched.told_refusal, "of another process it is");
	cairn_watched_close(&watched);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return tap_done();
}
