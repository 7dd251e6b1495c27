/* process.c - a child, a pipe, and its exit code.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(const char *const *arguments, const int pipe_ends[2], pid_t *child)
{
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int code = posix_spawnp(child, arguments[0], &actions, NULL, (char *const *)(uintptr_t)arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return code;
}

bool cairn_process_read(const char *const *arguments, struct cairn_buffer *out, struct cairn_error *error)
{
	int ends[2];
	pid_t child;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return cairn_fail_errno(error, "%s", arguments[0]);
	errno = start(arguments, ends, &child);
	close(ends[1]);
	if (errno) {
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
