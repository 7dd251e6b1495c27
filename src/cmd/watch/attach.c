/* attach.c - running `cairn attach` and hearing what it says.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/watch/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Starts this very program with ARGUMENTS, its standard error into a pipe; the end that is read, or -1. */
static int start(char **arguments, pid_t *child)
{
	int ends[2];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	sigemptyset(&none); /* the loop blocks what it reads from a descriptor */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	int failed = posix_spawn(child, "/proc/self/exe", &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	close(ends[1]);
	if (!failed)
		return ends[0];
	close(ends[0]);
	errno = failed;
	return -1;
}

bool cairn_watch_attach(int pid, uint64_t period, struct cairn_error *error)
{
	char number[16], size[40], text[sizeof error->text] = "", rest[256];
	char name[] = "cairn", command[] = "attach", quiet[] = "--quiet";
	char *arguments[] = {name, command, quiet, number, NULL, NULL};
	size_t length = 0;
	pid_t child;
	int status = 0;
	snprintf(number, sizeof number, "%d", pid);
	snprintf(size, sizeof size, "--period=%llu", (unsigned long long)period);
	arguments[4] = period ? size : NULL;
	int end = start(arguments, &child);
	if (end < 0)
		return cairn_fail_errno(error, "'cairn attach %d' cannot be started", pid);
	for (;;) {
		bool full = length + 1 >= sizeof text;
		ssize_t got = read(end, full ? rest : text + length, full ? sizeof rest : sizeof text - 1 - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		length += full ? 0 : (size_t)got;
	}
	close(end);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	text[length] = 0;
	text[strcspn(text, "\n")] = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	const char *said = strncmp(text, "cairn: ", 7) == 0 ? text + 7 : text;
	return cairn_fail(error, "%s", said[0] ? said : "'cairn attach' failed");
}
