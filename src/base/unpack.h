/* unpack.h - decompression of whole buffers, with a limit against bombs.
 *
 * The result is a malloc'ed buffer the caller frees. A ratio no honest file reaches, or more than the limit, is an
 * error, so a small hostile file cannot claim memory out of proportion.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_UNPACK_H
#define CAIRN_BASE_UNPACK_H

#include "base/bytes.h"
#include "base/error.h"

enum cairn_packing { CAIRN_PACKED_NOT, CAIRN_PACKED_GZIP, CAIRN_PACKED_ZSTD, CAIRN_PACKED_XZ };

/* How INPUT is packed, by its first bytes. */
enum cairn_packing cairn_unpack_sniff(struct cairn_bytes input);

/* INPUT unpacked; several gzip members or zstd frames are one stream. When the input is cut short, what could be read is
 * kept, *CUT is set and the call succeeds as long as there is something. */
bool cairn_unpack(struct cairn_bytes input, char **data, size_t *length, bool *cut, struct cairn_error *error);

/* The same with a limit of MOST bytes, beside that on the ratio. */
bool cairn_unpack_within(struct cairn_bytes input, size_t most, char **data, size_t *length, bool *cut, struct cairn_error *error);

/* Whether cairn_unpack_within would not refuse INPUT, or whether it is at most MOST bytes long if it is not packed. Nothing is kept: it
 * needs the memory of one step, and stops at the limit. */
bool cairn_unpack_fits(struct cairn_bytes input, size_t most);

/* The first bytes of INPUT unpacked, at most SIZE of them, into HEAD. Returns how many there are; 0 if none can be read. */
size_t cairn_unpack_head(struct cairn_bytes input, char *head, size_t size);

/* DATA as one gzip member. Free the result; NULL when memory ran out. */
char *cairn_pack_gzip(struct cairn_bytes data, size_t *length);

#endif
