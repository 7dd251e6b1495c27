/* receiver.h - the systems that snapshots can be sent on to, and the form of their requests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_FORWARD_RECEIVER_H
#define CAIRN_FLEET_FORWARD_RECEIVER_H

#include "base/arena.h"
#include "fleet/forward/forward.h"

/* A snapshot that is being sent on. */
struct cairn_forward_item {
	const struct cairn_store_snapshot *snapshot;
	const struct cairn_profile *profile; /* with the receiver's value names and allocations */
	uint64_t instance;
	int64_t since_ns;         /* the time of the previous snapshot of the process; 0 for the first */
	struct cairn_bytes pprof; /* the profile, not compressed */
	struct cairn_bytes packed; /* the same, compressed with gzip */
	struct cairn_arena *arena;
};

struct cairn_receiver {
	const char *name;
	const char *path; /* appended to the address that the user gave */
	bool deltas;      /* it adds up profiles, so that allocations must be those since the last one */
	const char *type_prefix; /* of value names, which then also end with their unit; NULL to keep the names */
	/* Fills in the rest of REQUEST, whose URL is complete except for a query. */
	void (*write)(const struct cairn_forward_item *item, struct cairn_forward_request *request);
};

extern const struct cairn_receiver cairn_receivers[];
extern const size_t cairn_receiver_count;

#endif
