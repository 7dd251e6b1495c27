/* base64.h - bytes as letters, digits and two signs (RFC 4648).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_BASE64_H
#define CAIRN_BASE_BASE64_H

#include "base/buffer.h"

/* Appends BYTES to OUT, padded with "=" to groups of four. In an address, "-" and "_" replace the two signs (section 5). */
void cairn_base64_append(struct cairn_buffer *out, struct cairn_bytes bytes, bool in_address);

/* Appends what TEXT stands for, in either alphabet, padded or not; false for anything else. */
bool cairn_base64_read(struct cairn_buffer *out, struct cairn_bytes text);

#endif
