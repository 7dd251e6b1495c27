/* inflate.h - decompresses zlib or zstd data step by step: whoever needs a part that is not there yet decompresses up to it.
 *
 * The decompressed size is known in advance, so the room is reserved at once, filled from its start, and never moves. Parts that are not
 * filled yet, or never will be because the data is damaged, read as zeros: a reader that did not wait sees wrong bytes but touches no
 * wrong memory. Data that does not fit into the process's memory (room.h) is decompressed to a file and read from there.
 *
 * Fresh memory is dear: the kernel fills it with zeros first. So data that is read once, from its start to its end, can be a *stream*:
 * readers hold the part that they read, and the memory of *pieces* that nobody holds moves on to the pieces that come next, while the
 * addresses stay. A piece that is wanted again is decompressed again, from a copy of the decompressor's state at its start, and then stays:
 * so nothing is decompressed more than twice, in whatever order it is read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_INFLATE_H
#define CAIRN_BASE_INFLATE_H

#include "base/bytes.h"

enum cairn_inflate_kind { CAIRN_INFLATE_ZLIB, CAIRN_INFLATE_ZSTD };

struct cairn_inflate;

/* Prepares to decompress PACKED (borrowed) to SIZE bytes. If it is part of a mapped file (MAPPED), what has been decompressed leaves
 * memory. NULL if SIZE is out of proportion to the input: no normal file compresses that well, and a hostile one must not take the memory.
 * Free with cairn_inflate_free. */
struct cairn_inflate *cairn_inflate_new(struct cairn_bytes packed, bool mapped, enum cairn_inflate_kind kind, size_t size);

/* Makes it a stream, where that saves memory: zlib data of some size that has its room in memory. Call it before anything is decompressed.
 * From then on only what is held can be read. */
void cairn_inflate_stream(struct cairn_inflate *inflate);
bool cairn_inflate_is_stream(const struct cairn_inflate *inflate);

/* The place of the decompressed bytes, now or later. */
struct cairn_bytes cairn_inflate_bytes(const struct cairn_inflate *inflate);

/* Reserves the room, in memory or on disk, for decompression. Returns false if there is none: then nothing is decompressed, and waiting
 * threads learn so. Waiting does this as well; a caller with several of them decides by the order of these calls which of them get the
 * memory. */
bool cairn_inflate_place(struct cairn_inflate *inflate);

/* Waits until the bytes from START to END are complete; returns false if the data ended or was damaged before that. One of the threads that
 * wait decompresses. Any thread may call it. */
bool cairn_inflate_wait(struct cairn_inflate *inflate, size_t start, size_t end);

/* Keeps the bytes from START to END of a stream, which may still have to be waited for, until they are released; any number of threads may
 * hold the same bytes. Does nothing if it is no stream. */
void cairn_inflate_hold(struct cairn_inflate *inflate, size_t start, size_t end);
void cairn_inflate_release(struct cairn_inflate *inflate, size_t start, size_t end);

/* Says that the LENGTH bytes from START on, which are complete, will be read soon: from a file they come in one piece. */
void cairn_inflate_expect(const struct cairn_inflate *inflate, size_t start, size_t length);

/* Whether it ended, or never began, for lack of room. */
bool cairn_inflate_lacked_room(struct cairn_inflate *inflate);

/* Whether there is nothing left to do. */
bool cairn_inflate_is_done(const struct cairn_inflate *inflate);

void cairn_inflate_free(struct cairn_inflate *inflate);

#endif
