/* wellformed.h - small checks of what writers wrote: XML whose tags nest, JSON that parses. Strict where a reader is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_WELLFORMED_H
#define CAIRN_TESTS_WELLFORMED_H

#include "base/utf8.h"

#include <stdlib.h>

/* All of TEXT is UTF-8 that XML 1.0 may hold. */
static bool xml_characters(struct cairn_bytes text)
{
	for (struct cairn_bytes rest = text; rest.length > 0;) {
		size_t length = cairn_utf8_length(rest);
		unsigned char byte = (unsigned char)rest.data[0];
		if (length == 0 || (byte < 0x20 && byte != '\n' && byte != '\t') ||
		    (length == 3 && memcmp(rest.data, "\xef\xbf", 2) == 0 && (unsigned char)rest.data[2] >= 0xbe))
			return false;
		rest = cairn_bytes_skip(rest, length);
	}
	return true;
}

/* An entity at AT, of those that are written. */
static bool xml_entity(const char *at, const char *end)
{
	static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;", "&#10;"};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if ((size_t)(end - at) >= strlen(known[i]) && memcmp(at, known[i], strlen(known[i])) == 0)
			return true;
	return false;
}

/* Tags nest, attributes are quoted, text holds no bare mark. */
__attribute__((unused)) static bool xml_wellformed(struct cairn_bytes text)
{
	if (text.length == 0 || !xml_characters(text))
		return text.length == 0;
	const char *at = text.data, *end = text.data + text.length;
	int depth = 0;
	while (at < end) {
		if (*at == '&' && !xml_entity(at, end))
			return false;
		if (*at++ != '<')
			continue;
		static const char *const pairs[][2] = {{"?", "?>"}, {"!--", "-->"}, {"![CDATA[", "]]>"}};
		const char *stop = NULL;
		for (size_t i = 0; i < 3 && !stop; i++)
			if ((size_t)(end - at) > strlen(pairs[i][0]) && memcmp(at, pairs[i][0], strlen(pairs[i][0])) == 0) {
				stop = memmem(at, (size_t)(end - at), pairs[i][1], strlen(pairs[i][1]));
				if (!stop)
					return false;
				at = stop + strlen(pairs[i][1]);
			}
		if (stop)
			continue;
		depth += *at == '/' ? -1 : 1;
		bool quoted = false;
		for (; at < end && (quoted || *at != '>'); at++) {
			quoted ^= *at == '"';
			if (*at == '<' || (*at == '&' && !xml_entity(at, end)))
				return false;
		}
		if (at == end || depth < 0)
			return false;
		depth -= at[-1] == '/';
		at++;
	}
	return depth == 0;
}

/* Brackets nest outside of strings, strings are UTF-8 without control characters. */
__attribute__((unused)) static bool json_wellformed(struct cairn_bytes text)
{
	char nesting[64];
	size_t depth = 0;
	bool quoted = false;
	if (!cairn_utf8_valid(text))
		return false;
	for (size_t i = 0; i < text.length; i++) {
		char c = text.data[i];
		if (quoted && (unsigned char)c < 0x20)
			return false;
		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '{' || c == '[')) {
			if (depth == sizeof nesting)
				return false;
			nesting[depth++] = c;
		} else if (!quoted && (c == '}' || c == ']') && (depth == 0 || nesting[--depth] != (c == '}' ? '{' : '[')))
			return false;
	}
	return depth == 0 && !quoted;
}

static void must(bool good)
{
	if (!good)
		abort();
}

#endif
