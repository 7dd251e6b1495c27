/* line.c - libedit through dlopen, or plain getline without it.
 *
 * The history is in $XDG_STATE_HOME/cairn/history, else ~/.local/state/cairn/history.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/prompt/line.h"

#include "base/arena.h"
#include "base/library.h"

#include <editline/readline.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { history_lines = 1000 };

/* The functions of the library that are used; `read` is NULL without it. */
static struct {
	__typeof__(&readline) read;
	__typeof__(&add_history) add;
	__typeof__(&read_history) load;
	__typeof__(&write_history) save;
	__typeof__(&stifle_history) limit;
	__typeof__(&rl_completion_matches) matches;
	rl_completion_func_t **complete;
	int *complete_over;
	int *append;
	char **buffer;
} editor;

static struct cairn_line_options reader;
static struct cairn_arena arena;
static const char *history_path;
static size_t next_candidate;
static int word_start;

static struct cairn_library libedit = {
	.files = "libedit.so.2",
	.names = "readline add_history read_history write_history stifle_history rl_completion_matches rl_attempted_completion_function "
		 "rl_attempted_completion_over rl_completion_append_character rl_line_buffer",
	.members = &editor,
	.size = sizeof editor,
};

/* Whether PATH is of our own user, or nothing yet: with the home directory of another user, what is written may be led astray. */
static bool is_own(const char *path, mode_t type)
{
	struct stat status;
	if (lstat(path, &status) != 0)
		return errno == ENOENT;
	return (status.st_mode & S_IFMT) == type && status.st_uid == geteuid();
}

/* The path of the history; creates its folder. NULL without a home directory of our own. */
static const char *find_history(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if ((!state || !*state) && (!home || !*home))
		return NULL;
	char *path = state && *state ? cairn_arena_format(&arena, "%s/cairn/history", state)
				     : cairn_arena_format(&arena, "%s/.local/state/cairn/history", home);
	bool own = true;
	for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		own = is_own(path, S_IFDIR);
		*slash = '/';
	}
	return own && is_own(path, S_IFREG) ? path : NULL;
}

static char *generate(const char *word, int state)
{
	size_t length = strlen(word);
	if (state == 0)
		next_candidate = 0;
	const char *candidate;
	while ((candidate = reader.candidate(reader.context, *editor.buffer, (size_t)word_start, next_candidate++)))
		if (strncmp(candidate, word, length) == 0)
			return strdup(candidate);
	return NULL;
}

static char **complete(const char *word, int start, int end)
{
	(void)end;
	word_start = start;
	/* After > comes a file name, which the library completes. */
	*editor.complete_over = !memchr(*editor.buffer, '>', (size_t)start);
	char **matches = *editor.complete_over ? editor.matches(word, generate) : NULL;
	/* After "focus=" comes its value, not a blank. */
	size_t length = matches && matches[0] ? strlen(matches[0]) : 0;
	*editor.append = length && matches[0][length - 1] == '=' ? '\0' : ' ';
	return matches;
}

void cairn_line_open(const struct cairn_line_options *options)
{
	reader = *options;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !cairn_library_is_there(&libedit)) {
		editor.read = NULL;
		return;
	}
	*editor.complete = complete;
	editor.limit(history_lines);
	history_path = find_history();
	if (history_path)
		editor.load(history_path);
}

char *cairn_line_read(void)
{
	char *line = NULL;
	size_t room = 0;
	if (editor.read) {
		line = editor.read(reader.prompt);
		if (line && line[strspn(line, " \t")])
			editor.add(line);
		return line;
	}
	if (reader.prompt_always || isatty(STDIN_FILENO))
		fputs(reader.prompt, stderr);
	ssize_t length = getline(&line, &room, stdin);
	if (length < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

void cairn_line_close(void)
{
	if (editor.read && history_path)
		editor.save(history_path);
	cairn_arena_free(&arena);
	history_path = NULL;
}
