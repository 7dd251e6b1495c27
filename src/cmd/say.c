/* say.c - everything that commands print: errors and notes on standard error, results on standard output or to a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/fit.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The width of the terminal that DESCRIPTOR is. */
static size_t terminal_width(int descriptor)
{
	struct winsize size = {0};
	const char *columns = getenv("COLUMNS");
	struct cairn_bytes rest = cairn_bytes_of(columns ? columns : "");
	uint64_t wanted;
	if (cairn_text_decimal(&rest, &wanted) && rest.length == 0 && wanted > 0)
		return (size_t)wanted;
	return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

/* Messages contain names of files and processes, which may contain anything: only text goes to a terminal. */
static void say(const char *kind, const char *text)
{
	bool colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR") && *kind == '\0';
	struct cairn_buffer line = cairn_buffer(SIZE_MAX), fitted = cairn_buffer(SIZE_MAX);
	cairn_buffer_format(&line, "%scairn: %s", colour ? "\033[31m" : "", kind);
	cairn_utf8_show(&line, cairn_bytes_of(text));
	cairn_buffer_text(&line, colour ? "\033[0m\n" : "\n");
	if (isatty(STDERR_FILENO))
		cairn_fit_lines(cairn_buffer_bytes(&line), terminal_width(STDERR_FILENO), &fitted);
	else
		cairn_buffer_append(&fitted, line.data, line.length);
	fwrite(fitted.data, 1, fitted.length, stderr);
	cairn_buffer_free(&line);
	cairn_buffer_free(&fitted);
}

int cairn_say_error(const char *text)
{
	say("", text);
	return CAIRN_EXIT_FAILED;
}

int cairn_say_failure(const struct cairn_error *error)
{
	cairn_say_error(error->text);
	return error->usage ? CAIRN_EXIT_USAGE : CAIRN_EXIT_FAILED;
}

int cairn_say_usage(const char *text)
{
	cairn_say_error(text);
	return CAIRN_EXIT_USAGE;
}

int cairn_say_not_one(int count, const char *kind, const char *detail)
{
	struct cairn_error error;
	if (count == 0)
		cairn_fail_usage(&error, "missing %s: %s", kind, detail);
	else
		cairn_fail_usage(&error, "takes one %s, not %d: %s", kind, count, detail);
	return cairn_say_failure(&error);
}

void cairn_say_note(const char *text)
{
	if (!cairn_option_quiet)
		say("note: ", text);
}

void cairn_say_progress(void *context, size_t done, size_t total, const char *what)
{
	(void)context;
	if (cairn_option_quiet)
		return;
	struct cairn_buffer shown = cairn_buffer(60);
	cairn_utf8_show(&shown, cairn_bytes_of(cairn_base_name(what))); /* a long path would push the file's name out of the line */
	if (done == total)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r\033[Knaming addresses: %zu of %zu, %.*s", done, total, (int)shown.length, shown.data);
	cairn_buffer_free(&shown);
}

void cairn_print(FILE *file, const char *format, ...)
{
	struct cairn_buffer text = cairn_buffer(SIZE_MAX), shown = cairn_buffer(SIZE_MAX);
	va_list arguments;
	va_start(arguments, format);
	cairn_buffer_format_list(&text, format, arguments);
	va_end(arguments);
	cairn_utf8_show_lines(&shown, cairn_buffer_bytes(&text));
	fwrite(shown.data, 1, shown.length, file);
	cairn_buffer_free(&shown);
	cairn_buffer_free(&text);
}

int cairn_say_output(const char *path, struct cairn_bytes bytes)
{
	struct cairn_error error;
	struct cairn_buffer shown = cairn_buffer(SIZE_MAX);
	bool standard = !path || strcmp(path, "-") == 0;
	if (standard && isatty(STDOUT_FILENO)) {
		cairn_utf8_show_coloured(&shown, bytes);
		bytes = cairn_buffer_bytes(&shown);
	}
	errno = 0;
	bool good = cairn_file_write(path, bytes, &error) || (errno == EPIPE && standard);
	cairn_buffer_free(&shown);
	return good ? CAIRN_EXIT_DONE : cairn_say_error(error.text);
}

int cairn_say_text(const char *path, struct cairn_bytes text, bool as_json)
{
	if (as_json || (path && strcmp(path, "-") != 0) || !isatty(STDOUT_FILENO))
		return cairn_say_output(path, text);
	struct cairn_buffer fitted = cairn_buffer(SIZE_MAX);
	cairn_fit_lines(text, terminal_width(STDOUT_FILENO), &fitted);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&fitted));
	cairn_buffer_free(&fitted);
	return code;
}

int cairn_say_lines(struct cairn_bytes text)
{
	struct cairn_buffer shown = cairn_buffer(SIZE_MAX);
	cairn_utf8_show_lines(&shown, text);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&shown));
	cairn_buffer_free(&shown);
	return code;
}
