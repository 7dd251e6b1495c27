/* remedy.h - what the settings and calls that people try would return, before they try them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_REMEDY_H
#define CAIRN_HEAP_REMEDY_H

#include "heap/huge.h"
#include "heap/walk.h"

enum cairn_remedy_kind {
	CAIRN_REMEDY_RETURN,    /* the allocator's own call: malloc_trim and its like */
	CAIRN_REMEDY_ARENAS,    /* fewer arenas */
	CAIRN_REMEDY_THRESHOLD, /* a fixed threshold for mappings of their own */
	CAIRN_REMEDY_CACHES,    /* smaller caches of threads */
	CAIRN_REMEDY_HUGE,      /* no transparent huge pages */
	CAIRN_REMEDY_KINDS,
};

struct cairn_remedy {
	enum cairn_remedy_kind kind;
	const struct cairn_walk_heap *heap; /* borrowed; NULL for huge pages */
	double process; /* bytes that resident memory falls by */
	double group;   /* bytes that the charge of the control group falls by at once */
	double error;   /* standard deviation of both */
	bool at_most;   /* an upper bound: only a trial shows how much */
	bool restart;   /* takes effect in a process that is started with it */
};

enum { CAIRN_REMEDIES = CAIRN_WALK_HEAPS * CAIRN_REMEDY_HUGE + 1 };

/* Fills REMEDIES, those that return most first, and returns their number. DRIFT is by how much what can be returned changes from one walk
 * to the next; HUGE may be NULL. */
size_t cairn_remedies_find(struct cairn_remedy remedies[CAIRN_REMEDIES], const struct cairn_walk *walk, const struct cairn_huge *huge,
			   double drift);

#endif
