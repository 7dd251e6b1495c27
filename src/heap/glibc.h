/* glibc.h - glibc's malloc, from 2.17 on: what its reader consists of.
 *
 * An *arena* has its memory in *segments*: the main one what it got by brk and, where that failed, by mmap; the others *heaps* of 64 MiB
 * that begin with a header. A segment is full of *chunks*, each of which says how long it is and whether the one before it is in use. So
 * the picture is made from chunks alone, which a program that goes on working does not make inconsistent; lists only tell which of them are
 * in fast bins or in a thread's cache, where they look like any other in use. The last chunk of an arena is its *top*.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_GLIBC_H
#define CAIRN_HEAP_GLIBC_H

#include "base/hash.h"
#include "heap/tally.h"

enum {
	CAIRN_GLIBC_HEADER = 16,  /* of a chunk; what malloc returns is behind it */
	CAIRN_GLIBC_LEAST = 32,   /* the smallest chunk */
	CAIRN_GLIBC_KEPT = 48,    /* of a free chunk, in front of what is given back: its header and links */
	CAIRN_GLIBC_FASTS = 10,
	CAIRN_GLIBC_BINS = 126,
	CAIRN_GLIBC_ARENAS = 4096,
};

/* Flags in the size of a chunk. */
enum { CAIRN_GLIBC_PREVIOUS_USED = 1, CAIRN_GLIBC_MAPPED = 2, CAIRN_GLIBC_FOREIGN = 4, CAIRN_GLIBC_FLAGS = 7 };

/* Offsets in struct malloc_state. */
struct cairn_glibc_layout {
	unsigned first, last; /* versions; 217 for 2.17 */
	uint16_t fast; /* 0: this version has no fast bins */
	uint16_t top, bins, next, attached /* 0: not there */, system_mem, size;
};

struct cairn_glibc_segment {
	uint64_t start, end;
	size_t arena;
};

/* Small chunks that are free although they look used, a bit for every 16 bytes. */
struct cairn_glibc_marks {
	struct cairn_map blocks; /* of 4 KiB, by number */
	uint64_t (*bits)[4];
	size_t count, capacity;
};

struct cairn_glibc {
	struct cairn_walk_heap *heap;
	struct cairn_image *image;
	const struct cairn_glibc_layout *layout;
	unsigned first, last; /* versions that it may be: one, if the file says so */
	bool mangles;         /* links are known to be XORed with where they are, as since 2.32 */
	struct cairn_tally tally;
	struct cairn_image_window window;
	struct cairn_glibc_segment *segments;
	size_t segment_count, segment_capacity;
	struct cairn_glibc_marks fast;
	uint64_t list_steps_left;
	uint64_t *caches; /* chunks that may be caches of threads */
	size_t cache_count, cache_capacity;
	uint64_t huge_page; /* by which the main arena's top is cut; 0 for pages */
	uint64_t break_end;
};

/* Walks the chunks from START on to END, or to TOP, which is 0 if it is not in this segment, and writes down what it finds. Returns the
 * bytes that it could make sense of. */
uint64_t cairn_glibc_walk(struct cairn_glibc *glibc, size_t arena, uint64_t start, uint64_t end, uint64_t top);

/* Whether the chunks from START on lead exactly to TARGET, at most END. */
bool cairn_glibc_leads_to(struct cairn_glibc *glibc, uint64_t start, uint64_t end, uint64_t target);

/* Whether 8 chunks from P on, or as many as there are up to END, look right. */
bool cairn_glibc_is_chain(struct cairn_glibc *glibc, uint64_t p, uint64_t end, bool foreign);

/* Marks what is in the fast bins of the arena at ADDRESS, before its chunks are walked. */
void cairn_glibc_read_fast(struct cairn_glibc *glibc, uint64_t address);
bool cairn_glibc_is_fast(const struct cairn_glibc_marks *marks, uint64_t chunk);

/* Whether a chunk in use of SIZE bytes at P may be a thread's cache. */
bool cairn_glibc_may_be_cache(const struct cairn_glibc *glibc, uint64_t size);

/* Reads the caches of threads that were met, and takes what they have out of the live objects. */
void cairn_glibc_read_caches(struct cairn_glibc *glibc);

/* The segment that contains ADDRESS, or NULL. They are sorted. */
const struct cairn_glibc_segment *cairn_glibc_segment(const struct cairn_glibc *glibc, uint64_t address);

/* Reads all of glibc's malloc in the image into WALK, a heap for each copy of it. */
void cairn_glibc_read(struct cairn_walk *walk);

#endif
