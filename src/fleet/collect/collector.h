/* collector.h - what the parts of `cairn collect` share.
 *
 * There are four threads and a child: the main one speaks HTTP (receive.h), one writes snapshots to the spool and answers their senders (receive.h),
 * one moves the spool into the store (move.h), and one takes uploads of debug files (symbols.h), which are large, so that nobody else waits
 * for them. The child makes names (namer.h). A sender waits for the disk of this machine, never for the store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_COLLECTOR_H
#define CAIRN_FLEET_COLLECT_COLLECTOR_H

#include "base/outbox.h"
#include "fleet/collect/namer.h"
#include "fleet/collect/senders.h"
#include "fleet/collect/spool.h"
#include "fleet/collect/uploads.h"
#include "fleet/forward/queue.h"
#include "http/server.h"

#include <pthread.h>

enum { CAIRN_COLLECT_WAITING = 256, CAIRN_COLLECT_BODY = 64 << 20 };

/* The most bytes of all requests together. Those of up to CAIRN_QUOTA_FREE do not count. */
enum { CAIRN_COLLECT_BODIES = 4 * CAIRN_COLLECT_BODY };

struct cairn_collector {
	const char *store_name;                    /* borrowed */
	size_t unpacked_most; /* bytes of one profile */
	struct cairn_spool spool;
	struct cairn_uploads uploads;
	struct cairn_namer namer; /* of the thread that moves the spool */
	struct cairn_forward_queues *forwards; /* sends on the snapshots that are in the store; NULL for nowhere */
	struct cairn_senders senders;
	pthread_mutex_t lock;
	pthread_cond_t arrived; /* something came, or `stop` was set */
	size_t unwritten; /* bytes of the smallest snapshot that could not be written to the spool; 0 once one as large could */
	struct cairn_outbox snapshots, symbols; /* of requests, answered by threads of their own: receive.h, symbols.h */
	atomic_bool stop;
	_Atomic uint64_t accepted, refused, stored, rejected, ignored, failures;
	_Atomic uint64_t named, passes; /* frames that were named after they were stored, and passes over the unnamed ones */
};

/* Answers with STATUS and WHY, as JSON, and counts it. */
void cairn_collector_refuse(struct cairn_collector *collector, struct cairn_response *response, int status, const char *why);

#endif
