/* sections.h - what Cairn's own engine writes after the memory map of a heap_v2 dump (doc/ledger.md).
 *
 * The sections list every live sample with its age and size, what was freed, the peak, what the service mapped itself, and a history. They
 * refer to the stacks of the dump by number: a *piece* is the sample that the reader has made of a stack, or of one thread of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_SECTIONS_H
#define CAIRN_PROFILE_SECTIONS_H

#include "dump/trailer.h"
#include "profile/read.h"

/* The values of a heap_v2 dump, in the order of the profile. */
enum cairn_heap_value { CAIRN_HEAP_ALLOC_OBJECTS, CAIRN_HEAP_ALLOC_SPACE, CAIRN_HEAP_INUSE_OBJECTS, CAIRN_HEAP_INUSE_SPACE };

struct cairn_piece {
	size_t stack; /* counted from 0 in the order of the dump */
	uint64_t thread;
	size_t sample; /* in the profile */
};

struct cairn_pieces {
	struct cairn_piece *items; /* in the order of the dump; owned */
	size_t count, capacity;
	/* How many more locations the stacks may have that samples share. Reports go through each of these stacks. */
	size_t shared_left;
	bool crowded; /* there was more */
};

/* No pieces yet, of a dump of DUMP_LENGTH bytes. */
struct cairn_pieces cairn_pieces(size_t dump_length);
void cairn_pieces_free(struct cairn_pieces *pieces);
void cairn_pieces_add(struct cairn_pieces *pieces, const struct cairn_piece *piece);

/* The piece that was added last; there is one. */
const struct cairn_piece *cairn_pieces_last(const struct cairn_pieces *pieces);

/* Whether COUNT more samples may share a stack of DEPTH locations. */
bool cairn_pieces_may_share(struct cairn_pieces *pieces, size_t count, size_t depth);

/* Reads the sections after the memory map MAPS, if there are any, into the profile of READER, which has the stack lines already. jeprof
 * ignores the sections; its numbers are those of the stack lines. TRAILER is NULL if the dump has none. */
void cairn_sections_read(struct cairn_reader *reader, struct cairn_pieces *pieces, struct cairn_bytes maps,
			 const struct cairn_trailer *trailer);

#endif
