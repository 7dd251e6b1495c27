/* snapshot.h - a heap profile of this instant, shared by all who asked before it began.
 *
 * Taken on a thread of the agent, never on one of the host's; but jemalloc holds locks of its own meanwhile, for which a thread of the
 * host's that allocates or frees a sampled object, or forks, may wait. A snapshot is a descriptor and the same bytes mapped: the raw
 * text of jemalloc, then the trailer. It is counted by its holders and gone with the last. While it is there its size is taken from
 * the quota of who asked for it first; one of any size counts for so much only that a single one always fits (snapshot.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_SNAPSHOT_H
#define CAIRN_AGENT_JEMALLOC_SNAPSHOT_H

#include "agent/jemalloc/profiler.h"

#include <pthread.h>

struct cairn_snapshot {
	atomic_int holders;
	int descriptor;
	struct cairn_bytes text;
	struct cairn_quota *quota; /* what it was taken from, and */
	size_t counted;            /* how much of it */
	int64_t began_ns; /* on the clock that never goes back */
};

struct cairn_snapshots {
	struct cairn_profiler *profiler; /* borrowed */
	const char *folder;              /* borrowed: where a stand-in for a memfd may go */
	pthread_mutex_t mutex;           /* held while a snapshot is taken */
	struct cairn_snapshot *latest;   /* held for those who wait for the mutex */
	atomic_int waiting;
	/* For the status. */
	atomic_uint taken, shared, failed;
	_Atomic int64_t last_time_ns;     /* when, since 1970 */
	_Atomic int64_t last_duration_ns; /* how long jemalloc took */
	_Atomic uint64_t last_samples, last_bytes, last_size;
	struct cairn_error last_error; /* under the mutex */
};

/* What somebody asks for. */
struct cairn_snapshot_ask {
	int64_t since_ns;         /* of cairn_clock_ns: the snapshot is not to be older */
	struct cairn_quota *quota; /* what its memory is taken from; NULL for no limit */
	const atomic_bool *gone;  /* nobody waits for it any more; NULL when somebody always does */
	bool refused;             /* set where the quota has not enough left */
};

/* A snapshot as ASK says, or NULL. Call cairn_snapshot_release when done with it. */
struct cairn_snapshot *cairn_snapshot_take(struct cairn_snapshots *snapshots, struct cairn_snapshot_ask *ask, struct cairn_error *error);

void cairn_snapshot_release(struct cairn_snapshot *snapshot);

#endif
