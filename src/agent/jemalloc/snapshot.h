/* snapshot.h - a heap profile of this instant, shared by all who asked before it began.
 *
 * Taken on a thread of the agent, never on one of the host's. A snapshot is a descriptor and the same bytes mapped: the raw
 * text of jemalloc, then the trailer. It is counted by its holders and gone with the last.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_SNAPSHOT_H
#define CAIRN_AGENT_JEMALLOC_SNAPSHOT_H

#include "agent/jemalloc/profiler.h"

#include <pthread.h>

struct cairn_snapshot {
	atomic_int holders;
	int descriptor;
	struct cairn_bytes text;
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

/* A snapshot begun at ASKED_NS (of cairn_clock_ns) or later, or NULL. Call cairn_snapshot_release when done with it. */
struct cairn_snapshot *cairn_snapshot_take(struct cairn_snapshots *snapshots, int64_t asked_ns, struct cairn_error *error);

void cairn_snapshot_release(struct cairn_snapshot *snapshot);

/* The sampled objects and bytes in the first total line of a dump. */
void cairn_snapshot_totals(struct cairn_bytes dump, uint64_t *samples, uint64_t *bytes);

#endif
