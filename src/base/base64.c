/* base64.c - three bytes to four letters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

void cairn_base64_append(struct cairn_buffer *out, struct cairn_bytes bytes, bool in_address)
{
	char digits[64];
	memcpy(digits, letters, 62);
	digits[62] = in_address ? '-' : '+';
	digits[63] = in_address ? '_' : '/';
	size_t length = (bytes.length + 2) / 3 * 4;
	char *to = cairn_buffer_room(out, length);
	if (!to)
		return;
	for (size_t at = 0; at < bytes.length; at += 3, to += 4) {
		unsigned char group[3] = {0};
		size_t left = bytes.length - at < 3 ? bytes.length - at : 3;
		memcpy(group, bytes.data + at, left);
		to[0] = digits[group[0] >> 2];
		to[1] = digits[(group[0] & 3) << 4 | group[1] >> 4];
		to[2] = left > 1 ? digits[(group[1] & 15) << 2 | group[2] >> 6] : '=';
		to[3] = left > 2 ? digits[group[2] & 63] : '=';
	}
	out->length += length;
}

/* The number that LETTER stands for; 64 for no letter of either alphabet. */
static unsigned digit_of(char letter)
{
	if (letter == '+' || letter == '-')
		return 62;
	if (letter == '/' || letter == '_')
		return 63;
	const char *at = letter ? strchr(letters, letter) : NULL;
	return at ? (unsigned)(at - letters) : 64;
}

bool cairn_base64_read(struct cairn_buffer *out, struct cairn_bytes text)
{
	while (text.length > 0 && text.data[text.length - 1] == '=')
		text.length--;
	unsigned char *to = (unsigned char *)cairn_buffer_room(out, text.length / 4 * 3 + 3);
	if (!to || text.length % 4 == 1)
		return false;
	unsigned char *start = to;
	uint32_t bits = 0;
	for (size_t i = 0; i < text.length; i++) {
		unsigned digit = digit_of(text.data[i]);
		if (digit > 63)
			return false;
		bits = bits << 6 | digit;
		/* After each letter but the first of four, eight more bits are complete. */
		static const unsigned char left[] = {0, 4, 2, 0};
		if (i % 4 > 0)
			*to++ = (unsigned char)(bits >> left[i % 4]);
	}
	out->length += (size_t)(to - start);
	return true;
}
