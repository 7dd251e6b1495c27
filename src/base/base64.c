/* base64.c - three bytes to four letters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

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
