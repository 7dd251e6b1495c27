/* arena.h - memory for one job, freed as a whole.
 *
 * A job (one profile, one symbolizer, one request) allocates from its arena and never frees a part of it. Only one thread at a time may
 * use an arena; each worker has its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_ARENA_H
#define CAIRN_BASE_ARENA_H

#include "base/bytes.h"

struct cairn_arena_block;

/* All zeroes is an empty arena, ready for use. */
struct cairn_arena {
	struct cairn_arena_block *blocks;
	char *next;
	size_t left;
	size_t total_bytes; /* allocated so far, for callers that watch their use */
};

/* SIZE bytes aligned for any type, not cleared. Never NULL. */
void *cairn_arena_alloc(struct cairn_arena *arena, size_t size);

/* COUNT elements of SIZE bytes, cleared. Never NULL; an overflow ends the program like running out of memory. */
void *cairn_arena_zero(struct cairn_arena *arena, size_t count, size_t size);

/* A terminated copy of BYTES. */
char *cairn_arena_text(struct cairn_arena *arena, struct cairn_bytes bytes);

/* The same, with its length. */
struct cairn_bytes cairn_arena_keep(struct cairn_arena *arena, struct cairn_bytes bytes);
/* A formatted, terminated string. */
char *cairn_arena_format(struct cairn_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees everything; the arena is empty and can be used again. */
void cairn_arena_free(struct cairn_arena *arena);

#endif
