/* fit.c - lines for a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/fit.h"

#include "base/text.h"
#include "base/utf8.h"

#include <string.h>

enum {
	least_room = 24,   /* columns that the last column of a table needs beside the others */
	below_indent = 4,  /* where it begins below them */
	moved_most = 8,    /* columns that move in one table */
	least_width = 32,  /* a narrower terminal is not worth the trouble */
};

/* The last columns of one table that go below their rows, by where they begin. */
struct moved {
	size_t starts[moved_most], count;
};

/* Where the last column of LINE begins, in bytes: 0 if it has only one. */
static size_t last_column(struct cairn_bytes line)
{
	for (size_t at = line.length; at >= 2; at--)
		if (line.data[at - 1] == ' ' && line.data[at - 2] == ' ' && at < line.length && line.data[at] != ' ')
			return at;
	return 0;
}

static struct cairn_bytes first_bytes(struct cairn_bytes line, size_t length)
{
	return (struct cairn_bytes){line.data, length};
}

/* Whether LINE is too wide and may be changed. */
static bool is_wide(struct cairn_bytes line, size_t width)
{
	size_t start = last_column(line);
	return cairn_utf8_columns(line) > width && !cairn_bytes_start_with(cairn_bytes_skip(line, start), "-> ");
}

static bool has_moved(const struct moved *moved, size_t start)
{
	bool found = false;
	for (size_t i = 0; i < moved->count; i++)
		found |= moved->starts[i] == start;
	return found;
}

/* Finds what moves in the table or paragraph at the start of TEXT, up to the next empty line. */
static struct moved find_moved(struct cairn_bytes text, size_t width)
{
	struct moved moved = {.count = 0};
	struct cairn_bytes line;
	while (cairn_text_line(&text, &line, NULL) && line.length > 0) {
		size_t start = cairn_utf8_columns(first_bytes(line, last_column(line)));
		if (start + least_room > width && is_wide(line, width) && !has_moved(&moved, start) && moved.count < moved_most)
			moved.starts[moved.count++] = start;
	}
	return moved;
}

/* Appends WORD in at most ROOM columns, without its middle if need be. */
static void write_word(struct cairn_bytes word, size_t room, struct cairn_buffer *out)
{
	size_t columns = cairn_utf8_columns(word), column = 0;
	if (columns <= room || memchr(word.data, '/', word.length)) {
		cairn_buffer_append(out, word.data, word.length);
		return;
	}
	size_t head = room / 2, tail = columns - (room - head - 1);
	while (word.length > 0) {
		size_t length = cairn_utf8_step(word), wide = cairn_utf8_columns(first_bytes(word, length));
		if (wide && column == head)
			cairn_buffer_text(out, "…");
		if (!wide || column < head || column >= tail)
			cairn_buffer_append(out, word.data, length);
		column += wide;
		word = cairn_bytes_skip(word, length);
	}
}

/* Appends TEXT, of which the first line begins at COLUMN and the others at INDENT. */
static void write_words(struct cairn_bytes text, size_t column, size_t indent, size_t width, struct cairn_buffer *out)
{
	bool any = false;
	while (text.length > 0) {
		struct cairn_bytes word = cairn_text_field(&text, ' ');
		size_t columns = cairn_utf8_columns(word);
		if (any && column + 1 + columns > width && column > indent) {
			cairn_buffer_format(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (any) {
			cairn_buffer_byte(out, ' ');
			column++;
		}
		write_word(word, width - indent, out);
		column += columns;
		any = true;
	}
}

static void write_line(struct cairn_bytes line, const struct moved *moved, size_t width, struct cairn_buffer *out)
{
	size_t at = last_column(line), start = cairn_utf8_columns(first_bytes(line, at));
	struct cairn_bytes before = first_bytes(line, at), last = cairn_bytes_skip(line, at);
	if (at > 0 && has_moved(moved, start)) {
		while (before.length > 0 && before.data[before.length - 1] == ' ')
			before.length--;
		cairn_buffer_append(out, before.data, before.length);
		cairn_buffer_format(out, "%s%*s", before.length ? "\n" : "", below_indent, "");
		write_words(last, below_indent, below_indent, width, out);
	} else if (is_wide(line, width)) {
		cairn_buffer_append(out, before.data, before.length);
		write_words(last, start, start, width, out);
	} else {
		cairn_buffer_append(out, line.data, line.length);
	}
}

void cairn_fit_lines(struct cairn_bytes text, size_t width, struct cairn_buffer *out)
{
	struct cairn_bytes line;
	struct moved moved = find_moved(text, width);
	bool complete;
	if (width < least_width) {
		cairn_buffer_append(out, text.data, text.length);
		return;
	}
	while (cairn_text_line(&text, &line, &complete)) {
		if (line.length == 0)
			moved = find_moved(text, width);
		write_line(line, &moved, width, out);
		if (complete)
			cairn_buffer_byte(out, '\n');
	}
}
