/* url.h - names as parts of an address.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_URL_H
#define CAIRN_BASE_URL_H

#include "base/buffer.h"

/* Appends NAME as one part of a URL's path or query (RFC 3986, section 2.3): all but letters, digits and -._~ become %XX, byte by
 * byte, slashes too. */
void cairn_url_name(struct cairn_buffer *out, const char *name);

#endif
