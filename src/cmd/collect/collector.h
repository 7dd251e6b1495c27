/* collector.h - what the parts of `cairn collect` share.
 *
 * There are four threads: the main one speaks HTTP (receive.h), one writes snapshots to the spool and answers their senders (receive.h),
 * one moves the spool into the store (move.h), and one takes uploads of debug files (symbols.h), which are large, so that nobody else waits
 * for them. A sender waits for the disk of this machine, never for the store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_COLLECTOR_H
#define CAIRN_CMD_COLLECT_COLLECTOR_H

#include "cmd/collect/senders.h"
#include "cmd/collect/spool.h"
#include "cmd/collect/uploads.h"
#include "cmd/forward/queue.h"
#include "cmd/source.h"
#include "http/server.h"

#include <pthread.h>

enum { CAIRN_COLLECT_WAITING = 256, CAIRN_COLLECT_BODY = 64 << 20 };

/* The most bytes of all requests together. Those of up to CAIRN_QUOTA_FREE do not count. */
enum { CAIRN_COLLECT_BODIES = 4 * CAIRN_COLLECT_BODY };

/* Requests that wait for a thread, in order. */
struct cairn_queue {
	struct cairn_exchange *items[CAIRN_COLLECT_WAITING];
	size_t first, count;
};

struct cairn_collector {
	const struct cairn_source_options *source; /* where to look for debug files; borrowed */
	const char *store_name;                    /* borrowed */
	size_t unpacked_most; /* bytes of one profile */
	struct cairn_spool spool;
	struct cairn_uploads uploads;
	struct cairn_forward_queues *forwards; /* sends on the snapshots that are in the store; NULL for nowhere */
	struct cairn_senders senders;
	pthread_mutex_t lock;
	pthread_cond_t arrived; /* a request was queued, or `stop` was set */
	size_t unwritten; /* bytes of the smallest snapshot that could not be written to the spool; 0 once one as large could */
	struct cairn_queue snapshots, symbols; /* for the threads of receive.c and symbols.c */
	atomic_bool stop;
	_Atomic uint64_t accepted, refused, stored, rejected, ignored, failures;
	_Atomic uint64_t named, passes; /* frames that were named after they were stored, and passes over the unnamed ones */
};

/* Answers with STATUS and WHY, as JSON, and counts it. */
void cairn_collector_refuse(struct cairn_collector *collector, struct cairn_response *response, int status, const char *why);

/* Waits for the next request in QUEUE. Returns NULL once `stop` is set and the queue is empty. */
struct cairn_exchange *cairn_collector_next(struct cairn_collector *collector, struct cairn_queue *queue);

#endif
