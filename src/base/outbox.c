/* outbox.c - a ring of items and a thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/outbox.h"

#include "base/array.h"
#include "base/condition.h"
#include "base/lock.h"
#include "base/note.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { shortest_ms = 500, longest_ms = 30000, closing_ms = 200 };

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return cairn_time_ns(&now);
}

unsigned cairn_backoff_fail(struct cairn_backoff *backoff, const struct cairn_error *error)
{
	if (backoff->pause_ms == 0)
		cairn_note("%s: %s", backoff->away, error->text);
	unsigned next = backoff->pause_ms == 0 ? shortest_ms : 2 * backoff->pause_ms;
	return backoff->pause_ms = next < longest_ms ? next : longest_ms;
}

void cairn_backoff_succeed(struct cairn_backoff *backoff)
{
	if (backoff->pause_ms > 0)
		cairn_note("%s", backoff->back);
	backoff->pause_ms = 0;
}

/* Takes the first item off the ring, under the lock. */
static void *take(struct cairn_outbox *outbox)
{
	assert(cairn_lock_is_held(&outbox->lock));
	struct cairn_outbox_item first = outbox->ring[outbox->first];
	outbox->first = (outbox->first + 1) % outbox->most;
	outbox->count--;
	outbox->bytes -= first.bytes;
	return first.item;
}

static void finish(const struct cairn_outbox *outbox, void *item, bool sent)
{
	if (outbox->done)
		outbox->done(outbox->context, item, sent);
	free(item);
}

/* Waits after a failure, shortly while closing. Returns false at the end. */
static bool pause_for(struct cairn_outbox *outbox, unsigned milliseconds)
{
	int64_t until = now_ns() + milliseconds * CAIRN_MILLISECOND_NS;
	pthread_mutex_lock(&outbox->lock);
	while (!outbox->closing && cairn_condition_wait(&outbox->changed, &outbox->lock, until))
		;
	bool closing = outbox->closing, more = !closing || now_ns() < outbox->end_ns;
	pthread_mutex_unlock(&outbox->lock);
	if (closing && more)
		nanosleep(&(struct timespec){.tv_nsec = closing_ms * CAIRN_MILLISECOND_NS}, NULL);
	return more;
}

static void *run(void *context)
{
	struct cairn_outbox *outbox = context;
	pthread_mutex_lock(&outbox->lock);
	for (;;) {
		while (outbox->count == 0 && !outbox->closing)
			pthread_cond_wait(&outbox->changed, &outbox->lock);
		if (outbox->count == 0 || (outbox->closing && now_ns() >= outbox->end_ns))
			break;
		void *item = take(outbox);
		struct cairn_error error = {{0}};
		pthread_mutex_unlock(&outbox->lock);
		bool sent;
		while (!(sent = outbox->send(outbox->context, item, &error)) &&
		       pause_for(outbox, cairn_backoff_fail(&outbox->backoff, &error)))
			;
		if (sent)
			cairn_backoff_succeed(&outbox->backoff);
		finish(outbox, item, sent);
		pthread_mutex_lock(&outbox->lock);
	}
	pthread_mutex_unlock(&outbox->lock);
	return NULL;
}

static void prepare(struct cairn_outbox *outbox)
{
	if (outbox->ring)
		return;
	pthread_mutex_init(&outbox->lock, NULL);
	cairn_condition_init(&outbox->changed);
	outbox->ring = cairn_array_zero(outbox->most, sizeof *outbox->ring);
}

bool cairn_outbox_open(struct cairn_outbox *outbox, struct cairn_error *error)
{
	prepare(outbox);
	outbox->open = pthread_create(&outbox->thread, NULL, run, outbox) == 0;
	return outbox->open || cairn_fail(error, "cannot start a thread");
}

bool cairn_outbox_add(struct cairn_outbox *outbox, const void *item, size_t bytes)
{
	prepare(outbox);
	pthread_mutex_lock(&outbox->lock);
	bool full;
	while ((full = outbox->count == outbox->most || (outbox->bytes_most && outbox->bytes + bytes > outbox->bytes_most)) &&
	       outbox->count > 0 && !outbox->refuses)
		finish(outbox, take(outbox), false);
	bool room = !full || !outbox->refuses;
	if (room) {
		void *copy = memcpy(cairn_array_new(1, outbox->item_size), item, outbox->item_size);
		outbox->ring[(outbox->first + outbox->count++) % outbox->most] = (struct cairn_outbox_item){bytes, copy};
		outbox->bytes += bytes;
		pthread_cond_signal(&outbox->changed);
	}
	pthread_mutex_unlock(&outbox->lock);
	return room;
}

size_t cairn_outbox_waiting(struct cairn_outbox *outbox)
{
	prepare(outbox);
	pthread_mutex_lock(&outbox->lock);
	size_t count = outbox->count;
	pthread_mutex_unlock(&outbox->lock);
	return count;
}

void cairn_outbox_close(struct cairn_outbox *outbox, int64_t patience_ns)
{
	if (outbox->open) {
		pthread_mutex_lock(&outbox->lock);
		outbox->closing = true;
		outbox->end_ns = now_ns() + patience_ns;
		pthread_cond_signal(&outbox->changed);
		pthread_mutex_unlock(&outbox->lock);
		pthread_join(outbox->thread, NULL);
	}
	outbox->closing = true;
	if (outbox->ring) {
		pthread_mutex_lock(&outbox->lock);
		while (outbox->count > 0)
			finish(outbox, take(outbox), false);
		pthread_mutex_unlock(&outbox->lock);
	}
	free(outbox->ring);
	outbox->ring = NULL;
	outbox->open = false;
}
