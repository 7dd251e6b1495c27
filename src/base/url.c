/* url.c - escaping what an address has no letters for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/url.h"

/* Whatever the locale calls letters. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~", c);
}

void cairn_url_name(struct cairn_buffer *out, const char *name)
{
	for (; *name; name++) {
		if (is_plain(*name))
			cairn_buffer_byte(out, *name);
		else
			cairn_buffer_format(out, "%%%02X", (unsigned char)*name);
	}
}
