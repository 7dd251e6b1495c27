/* flame_label.c - shortens names, counted in letters rather than bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flame_label.h"

#include "base/utf8.h"

static size_t letter_length(struct cairn_bytes text)
{
	size_t length = cairn_utf8_length(text);
	return length ? length : 1;
}

static size_t count_letters(struct cairn_bytes text, size_t enough)
{
	size_t count = 0;
	for (; text.length > 0 && count <= enough; count++)
		text = cairn_bytes_skip(text, letter_length(text));
	return count;
}

static struct cairn_bytes first_letters(struct cairn_bytes text, size_t count)
{
	struct cairn_bytes rest = text;
	for (; rest.length > 0 && count > 0; count--)
		rest = cairn_bytes_skip(rest, letter_length(rest));
	return (struct cairn_bytes){text.data, text.length - rest.length};
}

void cairn_flame_label(struct cairn_bytes name, size_t count, struct cairn_buffer *out)
{
	if (count_letters(name, count) <= count) {
		cairn_buffer_append(out, name.data, name.length);
		return;
	}
	if (count < 6)
		return;
	/* The function's own name follows the last "::" outside brackets. */
	struct cairn_bytes own = name;
	int nesting = 0;
	for (size_t i = 0; i < name.length; i++) {
		char c = name.data[i];
		nesting += c == '<' || c == '(' || c == '[' || c == '{';
		nesting -= c == '>' || c == ')' || c == ']' || c == '}';
		if (nesting != 0 || c != ':' || i + 1 >= name.length || name.data[i + 1] != ':')
			continue;
		own = cairn_bytes_skip(name, i + 2);
		if (count_letters(own, count) + 2 <= count) {
			cairn_buffer_text(out, "..");
			cairn_buffer_append(out, own.data, own.length);
			return;
		}
	}
	own = first_letters(own, count - 2);
	cairn_buffer_append(out, own.data, own.length);
	cairn_buffer_text(out, "..");
}
