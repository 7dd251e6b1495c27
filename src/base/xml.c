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
		const char *special = entity((unsigned char)*text.data);
		size_t length = special ? 1 : cairn_utf8_printable(text);
		if (special || length == 0)
			cairn_buffer_text(out, special ? special : replacement);
		else
			cairn_buffer_append(out, text.data, length);
		text = cairn_bytes_skip(text, length ? length : cairn_utf8_length(text) ? cairn_utf8_length(text) : 1);
	}
}
