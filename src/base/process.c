/* process.c - a child, a pipe, and its exit code.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

bool cairn_process_start(const char *program, char *const *arguments, char *const *environment, const int standard[3], pid_t *child)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none); /* callers may have blocked what they read from a descriptor */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		if (standard[i] >= 0 && standard[i] != i)
			posix_spawn_file_actions_adddup2(&actions, standard[i], i);
		else if (standard[i] < 0)
			posix_spawn_file_actions_addopen(&actions, i, "/dev/null", i == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
	int code = posix_spawnp(child, program, &actions, &attributes, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	errno = code;
	return code == 0;
}

bool cairn_process_read(const char *const *arguments, struct cairn_buffer *out, struct cairn_error *error)
{
	int ends[2];
	pid_t child;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return cairn_fail_errno(error, "%s", arguments[0]);
	bool started = cairn_process_start(arguments[0], (char *const *)(uintptr_t)arguments, environ, (int[]){-1, ends[1], -1}, &child);
	int reason = errno;
	close(ends[1]);
	errno = reason;
	if (!started) {
		cairn_fail_errno(error, "%s cannot be run", arguments[0]);
		close(ends[0]);
		return false;
	}
	bool complete = cairn_buffer_read(out, ends[0]) && out->length < out->maximum;
	close(ends[0]); /* a child that still writes ends by the closed pipe */
	int status;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!complete)
		return cairn_fail(error, "%s wrote more than was expected", arguments[0]);
	return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || cairn_fail(error, "%s failed", arguments[0]);
}
