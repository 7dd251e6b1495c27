/* spawn.c - running `cairn attach` and hearing what it says.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/attach/spawn.h"

#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { arguments_most = 12, text_most = 64 << 10 };
static const char token_name[] = "CAIRN_TOKEN=";

/* Starts this very program with ARGUMENTS, its standard error into a pipe; the end that is read, or -1. */
static int start(char **arguments, char **environment, pid_t *child)
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
	int failed = posix_spawn(child, "/proc/self/exe", &actions, &attributes, arguments, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	close(ends[1]);
	if (!failed)
		return ends[0];
	close(ends[0]);
	errno = failed;
	return -1;
}

/* The environment with CAIRN_TOKEN set to TOKEN, which the caller frees; the strings are borrowed. */
static char **environment_with(char *token)
{
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **made = malloc((count + 2) * sizeof *made);
	for (size_t i = 0; made && i < count; i++)
		if (strncmp(environ[i], token_name, strlen(token_name)) != 0)
			made[kept++] = environ[i];
	if (made) {
		made[kept++] = token;
		made[kept] = NULL;
	}
	return made;
}

/* The arguments of the command, in TEXT, which the caller frees. */
static void list_arguments(struct cairn_buffer *text, char *arguments[arguments_most], int pid,
			   const struct cairn_attach_settings *settings)
{
	cairn_buffer_format(text, "cairn%cattach%c--quiet%c", 0, 0, 0);
	if (settings->period)
		cairn_buffer_format(text, "--period=%llu%c", (unsigned long long)settings->period, 0);
	if (settings->engine)
		cairn_buffer_format(text, "--engine=%s%c", settings->engine, 0);
	if (settings->listen)
		cairn_buffer_format(text, "--listen=%s%c", settings->listen, 0);
	if (settings->budget)
		cairn_buffer_format(text, "--budget=%s%c", settings->budget, 0);
	if (settings->filtered)
		cairn_buffer_format(text, "--filtered%c", 0);
	if (settings->only_waiting)
		cairn_buffer_format(text, "--waiting%c", 0);
	cairn_buffer_format(text, "%d%c", pid, 0);
	size_t count = 0;
	for (char *at = text->data; at && at < text->data + text->length; at += strlen(at) + 1)
		arguments[count++] = at;
	arguments[count] = NULL;
}

bool cairn_attach_spawn(int pid, const struct cairn_attach_settings *settings, struct cairn_error *error)
{
	char text[sizeof error->text] = "", rest[256], *arguments[arguments_most];
	struct cairn_buffer command = cairn_buffer(text_most), token = cairn_buffer(text_most);
	size_t length = 0;
	pid_t child;
	int status = 0;
	list_arguments(&command, arguments, pid, settings);
	cairn_buffer_format(&token, "%s%s%c", token_name, settings->token ? settings->token : "", 0);
	char **environment = settings->token ? environment_with(token.data) : environ;
	int end = command.failed || token.failed || !environment ? -1 : start(arguments, environment, &child);
	if (settings->token)
		free(environment);
	cairn_buffer_free(&command);
	cairn_buffer_free(&token);
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
