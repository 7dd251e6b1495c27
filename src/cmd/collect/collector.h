/* collector.h - what the parts of `cairn collect` share.
 *
 * Four threads: one speaks HTTP (collect.c), one writes what came to the spool and answers its sender (receive.c), one moves the spool
 * into the store, naming addresses on the way (move.c), and one takes uploads of debug files (symbols.c), which are large, so that nobody
 * else waits for them. A sender waits for the disk of this machine, and never for the store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_COLLECTOR_H
#define CAIRN_CMD_COLLECT_COLLECTOR_H

#include "cmd/collect/spool.h"
#include "cmd/collect/uploads.h"
#include "cmd/forward/queue.h"
#include "cmd/source.h"
#include "http/server.h"

#include <pthread.h>

enum { CAIRN_COLLECT_WAITING = 256, CAIRN_COLLECT_BODY = 64 << 20 };

/* Of all requests at a time, in bytes. Those of up to CAIRN_QUOTA_FREE do not count. */
enum { CAIRN_COLLECT_BODIES = 4 * CAIRN_COLLECT_BODY };

/* Who may send, by a token, and whose data that is then. */
struct cairn_senders {
	struct cairn_arena arena;
	struct cairn_sender {
		const char *token, *tenant;
	} *items;
	size_t count, capacity;
};

/* Requests that wait for a thread, in order. */
struct cairn_queue {
	struct cairn_exchange *items[CAIRN_COLLECT_WAITING];
	size_t first, count;
};

struct cairn_collector {
	const struct cairn_source_options *source; /* where names come from; borrowed, as are the others */
	const char *store_name;
	size_t unpacked_most; /* of one profile */
	struct cairn_spool spool;
	struct cairn_uploads uploads;
	struct cairn_forward_queues *forwards; /* where snapshots are sent on to, once they are in the store; NULL for nowhere */
	struct cairn_senders senders;
	pthread_mutex_t lock;
	pthread_cond_t arrived; /* something waits, or the end has come */
	struct cairn_queue snapshots, symbols; /* for receive.c, and for symbols.c */
	atomic_bool stop;
	_Atomic uint64_t accepted, refused, stored, rejected, ignored, failures;
	_Atomic uint64_t named, passes; /* frames that were named after they were stored, and how often that was looked for */
};

/* Reads the file PATH: a token and, behind a blank, its tenant on each line. */
bool cairn_senders_read(struct cairn_senders *senders, const char *path, struct cairn_error *error);
void cairn_senders_free(struct cairn_senders *senders);

/* Whose REQUEST it is, by its token; NULL for a stranger's. Without tokens everybody is the one tenant "". */
const char *cairn_senders_tenant(const struct cairn_senders *senders, const struct cairn_request *request);

/* Answers with STATUS and WHY, as JSON, and counts it. */
void cairn_collector_refuse(struct cairn_collector *collector, struct cairn_response *response, int status, const char *why);

/* The next that waits in QUEUE; NULL at the end. */
struct cairn_exchange *cairn_collector_next(struct cairn_collector *collector, struct cairn_queue *queue);

/* For the server: CONTEXT is the collector. */
bool cairn_receive_admit(void *context, struct cairn_exchange *exchange, size_t *body_maximum);
bool cairn_receive_handle(void *context, struct cairn_exchange *exchange);

/* The second thread: writes what waits to the spool, until `stop`. */
void *cairn_receive_run(void *collector);

/* The fourth: takes uploads of debug files, until `stop`. */
void *cairn_symbols_run(void *collector);

/* Whether REQUEST is one about uploads: /v1/symbols/SHA256. */
bool cairn_symbols_is(const struct cairn_request *request);

/* The third: moves the spool into the store, until `stop`. */
void *cairn_move_run(void *collector);

#endif
