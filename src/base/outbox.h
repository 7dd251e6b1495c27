/* outbox.h - a queue of items that a thread of its own sends one after the other.
 *
 * Adding never waits. While the receiver is away, the thread tries again, after pauses that double from half a second to half a minute; it
 * notes once that the receiver is away, and once that it is back. The number of waiting items is limited.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_OUTBOX_H
#define CAIRN_BASE_OUTBOX_H

#include "base/error.h"
#include "base/time.h"

#include <pthread.h>

/* For a loop that tries again. Only the two sentences are set by its owner. */
struct cairn_backoff {
	const char *away; /* noted with the error at the first failure */
	const char *back; /* noted at the first success after that */
	unsigned pause_ms;
};

/* Returns how long to wait, in milliseconds, now that an attempt has failed with ERROR. */
unsigned cairn_backoff_fail(struct cairn_backoff *backoff, const struct cairn_error *error);
void cairn_backoff_succeed(struct cairn_backoff *backoff);

struct cairn_outbox {
	/* Set by its owner. */
	size_t item_size;
	size_t most, bytes_most; /* limits of the waiting items; `bytes_most` may be 0 for none */
	bool refuses;            /* refuses a new item if there is no room; otherwise drops the oldest ones */
	/* Sends ITEM. Returns false if the receiver is away. */
	bool (*send)(void *context, void *item, struct cairn_error *error);
	/* Called when ITEM was SENT, or dropped since there was no room or time, just before it is freed. May be NULL. */
	void (*done)(void *context, void *item, bool sent);
	void *context;
	struct cairn_backoff backoff;
	/* Its own. */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct cairn_outbox_item {
		size_t bytes;
		void *item;
	} *ring;
	size_t first, count, bytes;
	bool open, closing;
	int64_t end_ns; /* when closing stops sending */
};

/* Starts the thread. Items may be added before. */
bool cairn_outbox_open(struct cairn_outbox *outbox, struct cairn_error *error);

/* Adds a copy of ITEM, which counts BYTES. Any thread; never waits. Returns false if it is refused. */
bool cairn_outbox_add(struct cairn_outbox *outbox, const void *item, size_t bytes);

size_t cairn_outbox_waiting(struct cairn_outbox *outbox);

/* Sends what waits, for PATIENCE_NS at most, ends the thread, and drops the rest. OUTBOX need not be open. */
void cairn_outbox_close(struct cairn_outbox *outbox, int64_t patience_ns);

#endif
