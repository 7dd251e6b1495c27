/* snapshot.h - a current heap profile, shared by all who requested it before it began.
 *
 * It is taken on a thread of the agent, never on one of the host's; but jemalloc holds its own locks meanwhile, for which a host thread
 * that allocates or frees a sampled object, or forks, may wait. A snapshot is a descriptor and the same bytes mapped: jemalloc's raw
 * text, then the trailer. It is reference-counted. While it exists, its size is charged to the quota of its first requester; however
 * large it is, it counts only so much that a single one always fits (snapshot.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ENGINE_SNAPSHOT_H
#define CAIRN_AGENT_ENGINE_SNAPSHOT_H

#include "agent/engine/profiler.h"

#include <pthread.h>

struct cairn_snapshot {
	atomic_int holders;
	int descriptor;
	struct cairn_bytes text;
	struct cairn_quota *quota; /* the quota it is charged to, and */
	size_t counted;            /* the amount charged */
	int64_t began_ns; /* on the monotonic clock */
};

struct cairn_snapshots {
	struct cairn_profiler *profiler; /* borrowed */
	const char *folder;              /* borrowed: the folder for a replacement of a memfd */
	pthread_mutex_t mutex;           /* held while a snapshot is taken */
	struct cairn_snapshot *latest;   /* held on behalf of those waiting for the mutex */
	atomic_int waiting;
	/* For the status. */
	atomic_uint taken, shared, failed;
	_Atomic int64_t last_time_ns;     /* when, since 1970 */
	_Atomic int64_t last_duration_ns; /* how long jemalloc took */
	_Atomic uint64_t last_samples, last_bytes, last_size;
};

/* A request for a snapshot. */
struct cairn_snapshot_ask {
	int64_t since_ns;         /* by cairn_clock_ns: the snapshot must not be older */
	struct cairn_quota *quota; /* the quota for its memory; NULL for no limit */
	const atomic_bool *gone;  /* becomes true when nobody waits for it any more; NULL if somebody always does */
	bool refused;             /* set if the quota is exhausted */
};

/* A snapshot for ASK, or NULL. Call cairn_snapshot_release after use. */
struct cairn_snapshot *cairn_snapshot_take(struct cairn_snapshots *snapshots, struct cairn_snapshot_ask *ask, struct cairn_error *error);

void cairn_snapshot_release(struct cairn_snapshot *snapshot);

#endif
