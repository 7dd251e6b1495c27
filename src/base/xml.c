/* xml.c - escaping for XML 1.0 (section 2.2 says which characters there are).
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/xml.h"

#include "base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd";

/* Printable ASCII that means nothing to XML. */
static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '<' && byte != '>' && byte != '&' && byte != '"' && byte != '\'';
}

/* U+202A to U+202E, U+2066 to U+2069 (direction overrides and isolates), U+FFFE and U+FFFF (no characters). AT is one
 * well-formed character of three bytes. */
static bool is_unwelcome(const unsigned char *at)
{
	if (at[0] == 0xe2)
		return (at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) || (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9);
	return at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
}

static const char *entity(unsigned char byte)
{
	switch (byte) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case '\n':
		return "&#10;"; /* an attribute would otherwise turn it into a blank */
	case '\t':
		return " ";
	default:
		return NULL;
	}
}

void cairn_xml_text(struct cairn_buffer *out, struct cairn_bytes text)
{
	while (text.length > 0) {
		size_t plain = 0;
		while (plain < text.length && is_plain((unsigned char)text.data[plain]))
			plain++;
		cairn_buffer_append(out, text.data, plain);
		text = cairn_bytes_skip(text, plain);
		if (text.length == 0)
			break;
		const unsigned char *at = (const unsigned char *)text.data;
		size_t length = cairn_utf8_length(text);
		if (length == 1)
			cairn_buffer_text(out, entity(*at) ? entity(*at) : replacement);
		else if (length == 0 || (length == 2 && at[0] == 0xc2 && at[1] < 0xa0) || (length == 3 && is_unwelcome(at)))
			cairn_buffer_text(out, replacement);
		else
			cairn_buffer_append(out, text.data, length);
		text = cairn_bytes_skip(text, length ? length : 1);
	}
}
