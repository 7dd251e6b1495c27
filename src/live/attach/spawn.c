/* spawn.c - running `cairn attach` and hearing what it says.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/spawn.h"

#include "base/buffer.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { arguments_most = 12, text_most = 64 << 10 };
/* What `cairn run` sets for the service is not for a command of its own. */
static const char *const dropped[] = {"CAIRN_TOKEN=", "LD_PRELOAD=", "CAIRN_CONF=", "CAIRN_REPORT=", "MALLOC_CONF=", "_RJEM_MALLOC_CONF="};

/* Starts this very program with ARGUMENTS, its standard error into a pipe; the end that is read, or -1. */
static int start(char **arguments, char **environment, pid_t *child)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	bool started = cairn_process_start(CAIRN_PROCESS_SELF, arguments, environment, (int[]){STDIN_FILENO, STDOUT_FILENO, ends[1]}, child);
	int reason = errno;
	close(ends[1]);
	if (!started)
		close(ends[0]);
	errno = reason;
	return started ? ends[0] : -1;
}

static bool is_dropped(const char *variable, bool with_token)
{
	for (size_t i = with_token ? 0 : 1; i < sizeof dropped / sizeof *dropped; i++)
		if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
			return true;
	return false;
}

/* The environment, with CAIRN_TOKEN set to TOKEN unless that is NULL. The caller frees it; the strings are borrowed. */
static char **environment_with(char *token)
{
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **made = malloc((count + 2) * sizeof *made);
	for (size_t i = 0; made && i < count; i++)
		if (!is_dropped(environ[i], token))
			made[kept++] = environ[i];
	if (made && token)
		made[kept++] = token;
	if (made)
		made[kept] = NULL;
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
	cairn_buffer_format(&token, "%s%s%c", dropped[0], settings->token ? settings->token : "", 0);
	char **environment = environment_with(settings->token ? token.data : NULL);
	int end = command.failed || token.failed || !environment ? -1 : start(arguments, environment, &child);
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

int cairn_attach_spawn_aside(int pid, const struct cairn_attach_settings *settings)
{
	char *arguments[arguments_most];
	struct cairn_buffer command = cairn_buffer(text_most);
	pid_t child = 0;
	list_arguments(&command, arguments, pid, settings);
	char **environment = environment_with(NULL);
	if (command.failed || !environment || !cairn_process_start(CAIRN_PROCESS_SELF, arguments, environment, (int[]){-1, -1, -1}, &child))
		child = 0;
	free(environment);
	cairn_buffer_free(&command);
	return child;
}

int cairn_attach_spawn_inside(int pid, int connection)
{
	char command[] = "cairn", verb[] = "inside", number[16];
	pid_t child = 0;
	snprintf(number, sizeof number, "%d", pid);
	char **environment = environment_with(NULL);
	if (!environment || !cairn_process_start(CAIRN_PROCESS_SELF, (char *[]){command, verb, number, NULL}, environment,
						 (int[]){connection, -1, STDERR_FILENO}, &child))
		child = 0;
	free(environment);
	return child;
}
