/* restart.c - turns /proc/PID/cmdline into words for a shell.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/restart.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/path.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cairn_shell_word(struct cairn_arena *arena, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
	if (text[0] && strspn(text, plain) == strlen(text))
		return text;
	struct cairn_buffer word = cairn_buffer(1 << 20);
	cairn_buffer_byte(&word, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			cairn_buffer_text(&word, "'\\''");
		else
			cairn_buffer_byte(&word, *text);
	}
	cairn_buffer_byte(&word, '\'');
	const char *copy = cairn_arena_text(arena, cairn_buffer_bytes(&word));
	cairn_buffer_free(&word);
	return copy;
}

static const char *link_of(struct cairn_arena *arena, int pid, const char *name)
{
	char path[48], target[4096];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	ssize_t length = readlink(path, target, sizeof target - 1);
	return length <= 0 ? NULL : cairn_arena_text(arena, (struct cairn_bytes){target, (size_t)length});
}

/* Whether NAME, the first word of a command line, is the program of process PID, rather than a title that the process has set. */
static bool is_program(struct cairn_arena *arena, int pid, const char *name, const char *folder)
{
	struct stat named, running;
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	const char *program = link_of(arena, pid, "exe");
	if (stat(path, &running) != 0 || !program)
		return false;
	if (!strchr(name, '/')) /* found in PATH */
		return strcmp(name, cairn_base_name(program)) == 0;
	return stat(name[0] == '/' ? name : cairn_arena_format(arena, "%s/%s", folder, name), &named) == 0 &&
	       named.st_ino == running.st_ino && named.st_dev == running.st_dev;
}

const char *cairn_restart_line(struct cairn_arena *arena, int pid, const char *before)
{
	char path[48], here[4096];
	struct cairn_file file;
	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	const char *folder = link_of(arena, pid, "cwd"), *line = NULL;
	if (!folder || !cairn_file_read(&file, path, NULL))
		return NULL;
	const char *words = cairn_arena_text(arena, file.bytes);
	size_t length = file.bytes.length;
	cairn_file_close(&file);
	if (length > 0 && is_program(arena, pid, words, folder)) {
		line = getcwd(here, sizeof here) && strcmp(here, folder) == 0
			       ? before
			       : cairn_arena_format(arena, "cd %s && %s", cairn_shell_word(arena, folder), before);
		for (size_t at = 0; at < length; at += strlen(words + at) + 1)
			line = cairn_arena_format(arena, "%s%s%s", line, line[0] ? " " : "", cairn_shell_word(arena, words + at));
	}
	return line;
}
