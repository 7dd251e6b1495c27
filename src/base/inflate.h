/* inflate.h - zlib or zstd data unpacked by one thread while others read what is already there.
 *
 * The unpacked size is known beforehand, so the room is laid out at once, filled from its start, and never moves. What has
 * not been filled, and never will be where the data is damaged, reads as zeros: a reader that did not wait sees wrong
 * bytes but touches no wrong memory. What does not fit into the process's memory (room.h) is unpacked to a file and read from there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_INFLATE_H
#define CAIRN_BASE_INFLATE_H

#include "base/bytes.h"

enum cairn_inflate_kind { CAIRN_INFLATE_ZLIB, CAIRN_INFLATE_ZSTD };

struct cairn_inflate;

/* Prepares to unpack PACKED (borrowed) to SIZE bytes. NULL when SIZE is out of proportion to what is packed: no honest
 * file compresses so well, and a hostile one must not take the memory. Free with cairn_inflate_free. */
struct cairn_inflate *cairn_inflate_new(struct cairn_bytes packed, enum cairn_inflate_kind kind, size_t size);

/* Where the unpacked bytes are or will be. */
struct cairn_bytes cairn_inflate_bytes(const struct cairn_inflate *inflate);

/* Takes the room, in memory or on disk, that unpacking needs. False when there is none: nothing is unpacked then, and whoever waits is
 * told so. Running does this, too; who has several to unpack decides by the order of these calls which of them get the memory. */
bool cairn_inflate_place(struct cairn_inflate *inflate);

/* Unpacks everything on this thread, unless a thread has begun to already: then it returns at once. */
void cairn_inflate_run(struct cairn_inflate *inflate);

/* Returns when the first LENGTH bytes are there; false when the data ended or was damaged before. The first to wait for
 * something nobody has begun to unpack unpacks it. Any thread may call it. */
bool cairn_inflate_wait(struct cairn_inflate *inflate, size_t length);

/* Whether it ended, or never began, because there was no room for it. */
bool cairn_inflate_lacked_room(struct cairn_inflate *inflate);

/* Whether there is nothing left to do. */
bool cairn_inflate_is_done(const struct cairn_inflate *inflate);

void cairn_inflate_free(struct cairn_inflate *inflate);

#endif
