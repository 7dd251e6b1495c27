/* walk.h - the heaps of a process, read from outside: what is live, what is free, what can be given back, and what keeps the rest.
 *
 * Every allocator that is found in the process has a *heap* here, with sums of its own. Below them lies one map of pages (image.h), which
 * all readers fill: for each page the used and free bytes, and who keeps it. A page is *returnable* if the allocator gives it back when it
 * is asked to (malloc_trim and its like). Where free memory is not, it is either *pinned*, by objects on the same page (or in the same
 * slab, span or extent, which is a *unit* of several pages), or *reserved* by the allocator's own rules, like the ends of glibc's arenas.
 * An object that the program has freed may also lie in a cache of the allocator's; it then keeps its page like a live one.
 *
 * A unit's free memory is divided among the objects that keep it; so the shares of all objects add up to what is pinned, and those of
 * sampled objects, each with its weight, estimate it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_WALK_H
#define CAIRN_HEAP_WALK_H

#include "base/buffer.h"
#include "dump/trailer.h"
#include "heap/image.h"

enum cairn_walk_kind {
	CAIRN_WALK_GLIBC,
	CAIRN_WALK_MIMALLOC,
	CAIRN_WALK_JEMALLOC,
	CAIRN_WALK_TCMALLOC,
	CAIRN_WALK_MUSL,
	CAIRN_WALK_KINDS,
};

/* Bytes. */
struct cairn_walk_sum {
	uint64_t live, live_objects;     /* handed out to the program, by the allocator's sizes */
	uint64_t cached, cached_objects; /* freed by the program, in the allocator's caches */
	uint64_t free;                   /* any other free memory, resident or not */
	/* The resident parts. Those of free memory add up to the last: */
	uint64_t resident;               /* of all its memory */
	uint64_t returnable;             /* swapped pages count as well */
	uint64_t returnable_group;       /* the part that lowers the charge of the control group at once */
	uint64_t pinned;
	uint64_t pinned_by_cache;        /* the part of `pinned` that is kept by objects in caches */
	uint64_t reserved;
	uint64_t resident_free;
};

/* A part of a heap with free memory of its own: an arena. */
struct cairn_walk_arena {
	uint64_t address;
	bool is_main;
	uint32_t threads;   /* that use it; UINT32_MAX if unknown */
	uint64_t mapped;    /* that it has obtained from the system, by its own count */
	uint64_t difference; /* between that and the sum of what was found in it: what the walk has missed */
	struct cairn_walk_sum sum;
};

/* Settings in force, as far as the allocator has them. */
struct cairn_walk_settings {
	bool known;
	uint64_t mmap_threshold, trim_threshold, top_pad, arena_max;
	bool fixed_thresholds; /* somebody has set one, so that it does not grow by itself */
	uint64_t huge_page;    /* size of the huge pages that it asks for; 0 for none */
	uint64_t mmapped, mmapped_objects; /* single large objects, by its own count */
};

struct cairn_walk_heap {
	enum cairn_walk_kind kind;
	char version[40]; /* "2.36", or a range of versions that look alike: "2.27 to 2.42" */
	char variable[40]; /* of the environment, that jemalloc reads its settings from: "_RJEM_MALLOC_CONF"; "" if unknown */
	const char *module; /* the path of the file that contains it; borrowed; "" if unknown */
	char problem[200];  /* why it could not be read, or not completely; "" if it was */
	bool is_read;
	struct cairn_walk_sum sum;
	struct cairn_walk_settings settings;
	struct cairn_walk_arena *arenas; /* owned by the walk; NULL if it was read from a dump */
	size_t arena_count, arena_capacity;
	struct cairn_walk_sum others; /* of all arenas but the main one, together */
	/* The parts of `returnable` and `returnable_group` that only the program's first thread gets returned: mimalloc's. */
	uint64_t of_first_thread, of_first_thread_group;
	uint64_t large_free; /* the returnable part of free runs of CAIRN_WALK_LARGE bytes or more */
	uint64_t difference; /* bytes that the allocator has counted and the walk has not found, or the other way round */
	uint64_t skipped;    /* bytes whose structure was damaged or changed too fast */
	uint64_t doubtful;   /* bytes that may be cached or live */
};

/* glibc maps objects of this size separately, unless it has raised the limit because one was freed. */
enum { CAIRN_WALK_HEAPS = 8, CAIRN_WALK_LARGE = 128 << 10 };

struct cairn_walk {
	struct cairn_image *image; /* borrowed, or its own */
	bool owns_image;
	struct cairn_walk_heap heaps[CAIRN_WALK_HEAPS];
	size_t heap_count;
	struct cairn_walk_sum sum; /* of all heaps */
	char problem[200]; /* why there may be heaps that were not found; "" if all were */
	int64_t took_ns;
};

/* The name of an allocator ("glibc"), of the call that gives its free memory back ("malloc_trim"), and of the versions that can be read. */
const char *cairn_walk_name(enum cairn_walk_kind kind);
const char *cairn_walk_remedy(enum cairn_walk_kind kind);
const char *cairn_walk_versions(enum cairn_walk_kind kind);

/* The environment variable that HEAP, a jemalloc, reads: MALLOC_CONF if its file does not say. */
const char *cairn_walk_variable(const struct cairn_walk_heap *heap);

/* The usual error of the prediction of what that call returns, as a share of it, of a process that stands still. */
double cairn_walk_return_error(enum cairn_walk_kind kind);

/* Reads all heaps of process PID, which goes on working. Fails if its memory may not be read. Free it in any case. */
bool cairn_walk_process(struct cairn_walk *walk, int pid, const struct cairn_image_limits *limits, struct cairn_error *error);

/* Reads all heaps in IMAGE, which it fills in. What is wrong with one is said there. */
void cairn_walk_image(struct cairn_walk *walk, struct cairn_image *image);
void cairn_walk_free(struct cairn_walk *walk);

/* A heap that could not be read, or NULL. */
const struct cairn_walk_heap *cairn_walk_unread(const struct cairn_walk *walk);

/* For readers: adds a copy of HEAP. Returns it, or NULL if there are too many. */
struct cairn_walk_heap *cairn_walk_add_heap(struct cairn_walk *walk, const struct cairn_walk_heap *heap);

/* Adds SUM to TO. */
void cairn_walk_add(struct cairn_walk_sum *to, const struct cairn_walk_sum *sum);

/* Appends the sums as lines of a trailer (doc/trailer.md), and reads them back: without pages, arenas and modules. Returns false if TRAILER
 * has none. */
void cairn_walk_write(const struct cairn_walk *walk, struct cairn_buffer *out);
bool cairn_walk_read(struct cairn_walk *walk, const struct cairn_trailer *trailer);

/* What the live object at ADDRESS, of USABLE bytes, keeps: its share of pinned memory. Returns false if it is in no heap that was read. */
bool cairn_walk_share(const struct cairn_walk *walk, uint64_t address, uint64_t usable, double *bytes);

#endif
