/* delta.h - what a process has allocated since its last snapshot.
 *
 * Dumps count allocations since the start of the process, or of profiling. Receivers that add up profiles want allocations since the last
 * profile instead. So the counts of the last snapshot of each process are remembered, stack by stack. The first snapshot of a process has
 * no allocations; a process whose total count decreased has started to count anew. In-use values are left as they are. Memory is limited:
 * the process without a snapshot for longest is forgotten and treated as new.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_FORWARD_DELTA_H
#define CAIRN_FLEET_FORWARD_DELTA_H

#include "profile/profile.h"

/* The allocations of one stack. */
struct cairn_counted {
	uint64_t stack;
	double objects, bytes;
};

struct cairn_count_list {
	uint64_t instance;
	int64_t time_ns;
	double bytes; /* in total */
	struct cairn_counted *items; /* by stack */
	size_t count;
	uint64_t used;
};

/* All zeroes to begin with. */
struct cairn_deltas {
	struct cairn_count_list *processes;
	size_t count, capacity;
	size_t items; /* of all processes */
	uint64_t clock;
	struct cairn_count_list pending; /* of the last call of cairn_deltas_make */
};

/* Makes OUT a copy of PROFILE that has only the allocations since the last settled snapshot of INSTANCE. Its arrays are in ARENA; it
 * borrows the rest from PROFILE. *SINCE_NS is the time of that snapshot, 0 if there is none. Returns false if PROFILE is not later than
 * that: there is nothing to send. */
bool cairn_deltas_make(struct cairn_deltas *deltas, uint64_t instance, const struct cairn_profile *profile, struct cairn_arena *arena,
		       struct cairn_profile *out, int64_t *since_ns);

/* Settles the snapshot of the last call of cairn_deltas_make: the next one counts from there. */
void cairn_deltas_settle(struct cairn_deltas *deltas);

void cairn_deltas_free(struct cairn_deltas *deltas);

#endif
