/* queue.c - an outbox of requests for each receiver.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/forward/queue.h"

#include "base/array.h"
#include "base/note.h"
#include "base/outbox.h"
#include "base/time.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { waiting_most = 256, patience_ms = 3000 };
static const size_t bytes_most = (size_t)64 << 20;

struct queue {
	struct cairn_forward *forward;
	struct cairn_outbox outbox; /* of requests */
	char away[128], back[128];
	bool refusal_noted;
	_Atomic uint64_t sent, refused, lost;
};

struct cairn_forward_queues {
	size_t count;
	struct queue *items[CAIRN_OPTION_LIST_MAX];
};

static bool send_request(void *context, void *item, struct cairn_error *error)
{
	struct queue *queue = context;
	enum cairn_forwarded result = cairn_forward_send(queue->forward, item, error);
	queue->sent += result == CAIRN_FORWARDED;
	queue->refused += result == CAIRN_FORWARD_REFUSED;
	if (result == CAIRN_FORWARD_REFUSED && !queue->refusal_noted)
		cairn_note("a snapshot is not forwarded, and others may not be: %s", error->text);
	queue->refusal_noted = queue->refusal_noted || result == CAIRN_FORWARD_REFUSED;
	return result != CAIRN_FORWARD_AWAY;
}

static void finish_request(void *context, void *item, bool sent)
{
	struct queue *queue = context;
	cairn_forward_request_free(item);
	if (!sent && queue->lost++ == 0 && !queue->outbox.closing)
		cairn_note("too many snapshots wait to be forwarded to %s, so the oldest are not", cairn_forward_kind(queue->forward));
}

static void close_queue(struct queue *queue)
{
	cairn_outbox_close(&queue->outbox, patience_ms * CAIRN_MILLISECOND_NS);
	if (queue->lost > 0)
		cairn_note("%llu snapshots were not forwarded to %s", (unsigned long long)queue->lost, cairn_forward_kind(queue->forward));
	cairn_forward_close(queue->forward);
	free(queue);
}

struct cairn_forward_queues *cairn_forward_queues_open(const struct cairn_option_list *names, const char *headers,
						       struct cairn_error *error)
{
	struct cairn_forward_queues *queues = cairn_array_zero(1, sizeof *queues);
	for (size_t i = 0; i < names->count; i++) {
		struct queue *queue = cairn_array_zero(1, sizeof *queue);
		queue->forward = cairn_forward_open(names->items[i], headers, error);
		if (!queue->forward) {
			free(queue);
			cairn_forward_queues_close(queues);
			return NULL;
		}
		const char *kind = cairn_forward_kind(queue->forward);
		snprintf(queue->away, sizeof queue->away, "snapshots are not forwarded to %s for now", kind);
		snprintf(queue->back, sizeof queue->back, "%s accepts snapshots again", kind);
		queue->outbox = (struct cairn_outbox){.item_size = sizeof(struct cairn_forward_request), .most = waiting_most,
						      .bytes_most = bytes_most, .send = send_request, .done = finish_request,
						      .context = queue, .backoff = {queue->away, queue->back, 0}};
		queues->items[queues->count++] = queue;
		if (!cairn_outbox_open(&queue->outbox, error)) {
			cairn_forward_queues_close(queues);
			return NULL;
		}
	}
	return queues;
}

void cairn_forward_queues_add(struct cairn_forward_queues *queues, struct cairn_profile *profile,
			      const struct cairn_store_snapshot *snapshot)
{
	for (size_t i = 0; i < queues->count; i++) {
		struct queue *queue = queues->items[i];
		struct cairn_forward_request request;
		struct cairn_error error;
		if (cairn_forward_prepare(queue->forward, profile, snapshot, &request, &error)) {
			cairn_forward_settle(queue->forward);
			cairn_outbox_add(&queue->outbox, &request, request.body.length);
			continue;
		}
		cairn_forward_request_free(&request);
		if (!error.text[0])
			continue; /* it was sent before */
		if (queue->refused++ == 0)
			cairn_note("a snapshot is not forwarded to %s: %s", cairn_forward_kind(queue->forward), error.text);
	}
}

void cairn_forward_queues_metrics(struct cairn_forward_queues *queues, struct cairn_buffer *out)
{
	static const struct {
		const char *name, *type, *help;
	} rows[] = {
		{"cairn_collect_forwarded_total", "counter", "Snapshots that the receiver took."},
		{"cairn_collect_forward_refused_total", "counter", "Snapshots that the receiver will not take."},
		{"cairn_collect_forward_lost_total", "counter", "Snapshots that were not sent, since the receiver was away."},
		{"cairn_collect_forward_waiting", "gauge", "Snapshots that wait to be sent."},
	};
	for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
		cairn_buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", rows[row].name, rows[row].help, rows[row].name, rows[row].type);
		for (size_t i = 0; i < queues->count; i++) {
			struct queue *queue = queues->items[i];
			const uint64_t values[] = {queue->sent, queue->refused, queue->lost, cairn_outbox_waiting(&queue->outbox)};
			cairn_buffer_format(out, "%s{receiver=\"%s\",number=\"%zu\"} %llu\n", rows[row].name,
					    cairn_forward_kind(queue->forward), i + 1, (unsigned long long)values[row]);
		}
	}
}

void cairn_forward_queues_close(struct cairn_forward_queues *queues)
{
	if (!queues)
		return;
	for (size_t i = 0; i < queues->count; i++)
		close_queue(queues->items[i]);
	free(queues);
}
