/* script.c - a line is a stack, a blank and a number without a sign: whatever else there is between such lines is ignored.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/flame/script.h"

#include "base/text.h"

#include <ctype.h>

static bool is_number(struct cairn_bytes text)
{
	size_t at = 0;
	while (at < text.length && isdigit((unsigned char)text.data[at]))
		at++;
	bool digits = at > 0;
	at += at < text.length && text.data[at] == '.';
	while (digits && at < text.length && isdigit((unsigned char)text.data[at]))
		at++;
	return digits && at == text.length;
}

/* Takes the blank and the number at the end of LINE off it. */
static bool take_number(struct cairn_bytes *line, struct cairn_bytes *number)
{
	size_t start = line->length;
	while (start > 0 && !isspace((unsigned char)line->data[start - 1]))
		start--;
	*number = cairn_bytes_skip(*line, start);
	if (start == 0 || !is_number(*number))
		return false;
	line->length = start - 1;
	return true;
}

/* Like cairn_text_line, but a carriage return belongs to the line. */
static bool next_line(struct cairn_bytes *rest, struct cairn_bytes *line)
{
	if (rest->length == 0)
		return false;
	const char *end = memchr(rest->data, '\n', rest->length);
	*line = (struct cairn_bytes){rest->data, end ? (size_t)(end - rest->data) : rest->length};
	*rest = cairn_bytes_skip(*rest, line->length + (end != NULL));
	return true;
}

static bool has_pairs(struct cairn_bytes text)
{
	struct cairn_bytes line, number;
	while (next_line(&text, &line))
		if (take_number(&line, &number) && take_number(&line, &number))
			return true;
	return false;
}

static void put_waker(struct cairn_bytes part, struct cairn_buffer *out)
{
	for (size_t i = 0; i < part.length; i++) {
		if (part.data[i] == ';')
			cairn_buffer_text(out, "_[w]");
		cairn_buffer_byte(out, part.data[i]);
	}
	cairn_buffer_text(out, "_[w]");
}

static void put_chain(struct cairn_bytes stack, struct cairn_buffer *out)
{
	static const char mark[] = ";--;";
	enum { mark_length = sizeof mark - 1 };
	for (bool first = true;; first = false) {
		const char *at = memmem(stack.data, stack.length, mark, mark_length);
		struct cairn_bytes part = {stack.data, at ? (size_t)(at - stack.data) : stack.length};
		if (first)
			cairn_buffer_append(out, part.data, part.length);
		else
			put_waker(part, out);
		if (first || at)
			cairn_buffer_text(out, mark);
		if (!at)
			return;
		stack = cairn_bytes_skip(stack, part.length + mark_length);
	}
}

static void put_line(struct cairn_bytes stack, struct cairn_bytes before, struct cairn_bytes after, bool chain, struct cairn_buffer *out)
{
	if (chain)
		put_chain(stack, out);
	else
		cairn_buffer_append(out, stack.data, stack.length);
	for (size_t i = 0; i < 2; i++) {
		struct cairn_bytes number = i ? after : before;
		if (number.length == 0)
			continue;
		cairn_buffer_byte(out, ' ');
		cairn_buffer_append(out, number.data, number.length);
	}
	cairn_buffer_byte(out, '\n');
}

size_t cairn_script_lines(struct cairn_bytes text, bool chain, struct cairn_buffer *out, size_t *kept)
{
	bool pairs = has_pairs(text);
	struct cairn_bytes line;
	size_t ignored = 0;
	*kept = 0;
	while (next_line(&text, &line)) {
		struct cairn_bytes last, before = {"", 0};
		if (!take_number(&line, &last)) {
			ignored++;
			continue;
		}
		/* A line with one number among lines with two has not changed. */
		if (pairs && !take_number(&line, &before))
			before = last;
		put_line(line, before, last, chain, out);
		++*kept;
	}
	return ignored;
}
