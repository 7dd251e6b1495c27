/* inflate.h - decompresses zlib or zstd data in one thread while others read the part that is complete.
 *
 * The decompressed size is known in advance, so the room is reserved at once, filled from its start, and never moves. Parts that are not
 * filled yet, or never will be because the data is damaged, read as zeros: a reader that did not wait sees wrong bytes but touches no
 * wrong memory. Data that does not fit into the process's memory (room.h) is decompressed to a file and read from there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_INFLATE_H
#define CAIRN_BASE_INFLATE_H

#include "base/bytes.h"

enum cairn_inflate_kind { CAIRN_INFLATE_ZLIB, CAIRN_INFLATE_ZSTD };

struct cairn_inflate;

/* Prepares to decompress PACKED (borrowed) to SIZE bytes. NULL if SIZE is out of proportion to the input: no normal file compresses that
 * well, and a hostile one must not take the memory. Free with cairn_inflate_free. */
struct cairn_inflate *cairn_inflate_new(struct cairn_bytes packed, enum cairn_inflate_kind kind, size_t size);

/* The place of the decompressed bytes, now or later. */
struct cairn_bytes cairn_inflate_bytes(const struct cairn_inflate *inflate);

/* Reserves the room, in memory or on disk, for decompression. Returns false if there is none: then nothing is decompressed, and waiting
 * threads learn so. Running does this as well; a caller with several of them decides by the order of these calls which of them get the
 * memory. */
bool cairn_inflate_place(struct cairn_inflate *inflate);

/* Decompresses everything on this thread, unless another thread has begun: then it returns at once. */
void cairn_inflate_run(struct cairn_inflate *inflate);

/* Waits until the first LENGTH bytes are complete; returns false if the data ended or was damaged before that. The first thread that
 * waits for data that nobody is decompressing decompresses it. Any thread may call it. */
bool cairn_inflate_wait(struct cairn_inflate *inflate, size_t length);

/* Says that the LENGTH bytes from START on, which are complete, will be read soon: from a file they come in one piece. */
void cairn_inflate_expect(const struct cairn_inflate *inflate, size_t start, size_t length);

/* Whether it ended, or never began, for lack of room. */
bool cairn_inflate_lacked_room(struct cairn_inflate *inflate);

/* Whether there is nothing left to do. */
bool cairn_inflate_is_done(const struct cairn_inflate *inflate);

void cairn_inflate_free(struct cairn_inflate *inflate);

#endif
