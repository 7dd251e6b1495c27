/* utf8.c - well-formedness after table 3-7 of the Unicode standard.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

size_t cairn_utf8_length(struct cairn_bytes text)
{
	const unsigned char *at = (const unsigned char *)text.data;
	unsigned char first = at[0], low = 0x80, high = 0xbf;
	if (first < 0x80)
		return 1;
	size_t length = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
	if (length == 0 || text.length < length)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

size_t cairn_utf8_printable(struct cairn_bytes text)
{
	size_t length = cairn_utf8_length(text);
	const unsigned char *at = (const unsigned char *)text.data;
	bool control = (length == 1 && (at[0] < 0x20 || at[0] == 0x7f)) || (length == 2 && at[0] == 0xc2 && at[1] < 0xa0);
	bool reorders = length == 3 && at[0] == 0xe2 &&
			((at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) || (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
	bool none = length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
	return control || reorders || none ? 0 : length;
}

/* The length of a code that sets how characters look, 0 where there is none. */
static size_t colour_length(struct cairn_bytes text)
{
	size_t length = 2;
	if (text.length < 3 || text.data[0] != '\033' || text.data[1] != '[')
		return 0;
	while (length < text.length && ((text.data[length] >= '0' && text.data[length] <= '9') || text.data[length] == ';'))
		length++;
	return length < text.length && text.data[length] == 'm' ? length + 1 : 0;
}

static void show(struct cairn_buffer *out, struct cairn_bytes text, bool lines, bool colours)
{
	while (text.length > 0) {
		size_t length = cairn_utf8_printable(text);
		if (!length && lines && (text.data[0] == '\n' || text.data[0] == '\t'))
			length = 1;
		if (!length && colours)
			length = colour_length(text);
		cairn_buffer_append(out, length ? text.data : "?", length ? length : 1);
		text = cairn_bytes_skip(text, length ? length : 1);
	}
}

void cairn_utf8_show(struct cairn_buffer *out, struct cairn_bytes text)
{
	show(out, text, false, false);
}

void cairn_utf8_show_lines(struct cairn_buffer *out, struct cairn_bytes text)
{
	show(out, text, true, false);
}

void cairn_utf8_show_coloured(struct cairn_buffer *out, struct cairn_bytes text)
{
	show(out, text, true, true);
}

size_t cairn_utf8_step(struct cairn_bytes text)
{
	size_t length = colour_length(text);
	length = length ? length : cairn_utf8_length(text);
	return length ? length : 1;
}

size_t cairn_utf8_columns(struct cairn_bytes text)
{
	size_t columns = 0;
	while (text.length > 0) {
		columns += colour_length(text) == 0;
		text = cairn_bytes_skip(text, cairn_utf8_step(text));
	}
	return columns;
}

bool cairn_utf8_valid(struct cairn_bytes text)
{
	while (text.length > 0) {
		size_t length = cairn_utf8_length(text);
		if (length == 0)
			return false;
		text = cairn_bytes_skip(text, length);
	}
	return true;
}
