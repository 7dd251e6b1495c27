/* delta.h - what a process has allocated since its last snapshot.
 *
 * Dumps count allocations from the beginning of the process, or of profiling. Receivers that add up what they are sent want what came since
 * the last time instead. So the counts of the last snapshot of each process are remembered, stack by stack. A process that is new has
 * allocated nothing yet as far as they are concerned; one whose counts as a whole went down has begun to count anew. In-use values are left
 * as they are. What is remembered is limited: the process that was silent for longest is forgotten, and begins anew.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FORWARD_DELTA_H
#define CAIRN_CMD_FORWARD_DELTA_H

#include "profile/profile.h"

/* What one stack had allocated. */
struct cairn_counted {
	uint64_t stack;
	double objects, bytes;
};

struct cairn_count_list {
	uint64_t instance;
	int64_t time_ns;
	double bytes; /* in all */
	struct cairn_counted *items; /* by stack */
	size_t count;
	uint64_t used;
};

/* All zeroes is the start. */
struct cairn_deltas {
	struct cairn_count_list *processes;
	size_t count, capacity;
	size_t items; /* of all */
	uint64_t clock;
	struct cairn_count_list pending; /* of the last call of cairn_deltas_make */
};

/* Makes OUT, whose arrays are in ARENA and which borrows the rest from PROFILE, PROFILE with its allocations since the last snapshot of
 * INSTANCE that was settled; *SINCE_NS is when that was, 0 for never. False where PROFILE is no later than that: there is nothing to
 * send. */
bool cairn_deltas_make(struct cairn_deltas *deltas, uint64_t instance, const struct cairn_profile *profile, struct cairn_arena *arena,
		       struct cairn_profile *out, int64_t *since_ns);

/* The last that was made is done with: the next begins where it ends. */
void cairn_deltas_settle(struct cairn_deltas *deltas);

void cairn_deltas_free(struct cairn_deltas *deltas);

#endif
