/* receiver.h - the systems that snapshots can be sent on to, and what each of them takes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FORWARD_RECEIVER_H
#define CAIRN_CMD_FORWARD_RECEIVER_H

#include "base/arena.h"
#include "cmd/forward/forward.h"

/* A snapshot on its way. */
struct cairn_forward_item {
	const struct cairn_store_snapshot *snapshot;
	const struct cairn_profile *profile; /* as the receiver wants it */
	uint64_t instance;
	int64_t since_ns;         /* when the last one of its process was taken; 0 for the first */
	struct cairn_bytes pprof; /* the profile, not compressed */
	struct cairn_bytes packed; /* the same, by gzip */
	struct cairn_arena *arena;
};

struct cairn_receiver {
	const char *name;
	const char *path; /* behind the address that the user gave */
	bool deltas;      /* it adds up what it is sent, so that allocations have to be those since the last time */
	const char *type_prefix; /* of the names of values, which then end with their unit; NULL for names as they are */
	/* Fills in what is left of REQUEST, whose URL is complete but for a query. */
	void (*write)(const struct cairn_forward_item *item, struct cairn_forward_request *request);
};

extern const struct cairn_receiver cairn_receivers[];
extern const size_t cairn_receiver_count;

#endif
