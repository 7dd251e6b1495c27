/* queue.c - a ring of requests and a thread for each receiver.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/forward/queue.h"

#include "base/array.h"
#include "base/condition.h"
#include "cmd/command.h"
#include "process/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { waiting_most = 256, shortest_ms = 500, longest_ms = 30000, patience_ms = 3000 };
static const size_t bytes_most = (size_t)64 << 20;

struct queue {
	struct cairn_forward *forward;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct cairn_forward_request waiting[waiting_most];
	size_t first, count, bytes;
	bool closing;
	int64_t end_ns; /* when closing stops sending */
	_Atomic uint64_t sent, refused, lost;
};

struct cairn_forward_queues {
	size_t count;
	struct queue *items[CAIRN_OPTION_LIST_MAX];
};

/* Removes and returns the first request. The caller holds the lock. */
static struct cairn_forward_request take_first(struct queue *queue)
{
	struct cairn_forward_request request = queue->waiting[queue->first];
	queue->first = (queue->first + 1) % waiting_most;
	queue->count--;
	queue->bytes -= request.body.length;
	return request;
}

/* Waits for a request and stores it in *REQUEST. Returns false at the end. */
static bool next_request(struct queue *queue, struct cairn_forward_request *request)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == 0 && !queue->closing)
		pthread_cond_wait(&queue->changed, &queue->lock);
	bool more = queue->count > 0 && (!queue->closing || cairn_clock_ns() < queue->end_ns);
	if (more)
		*request = take_first(queue);
	pthread_mutex_unlock(&queue->lock);
	return more;
}

/* Waits MILLISECONDS; returns false if the queue is closed meanwhile. */
static bool pause_for(struct queue *queue, unsigned milliseconds)
{
	int64_t until_ns = cairn_clock_ns() + milliseconds * CAIRN_MILLISECOND_NS;
	pthread_mutex_lock(&queue->lock);
	while (!queue->closing && cairn_condition_wait(&queue->changed, &queue->lock, until_ns))
		;
	bool closing = queue->closing;
	pthread_mutex_unlock(&queue->lock);
	return !closing;
}

static void *run(void *context)
{
	struct queue *queue = context;
	const char *kind = cairn_forward_kind(queue->forward);
	struct cairn_forward_request request;
	unsigned pause = 0;
	bool refused = false; /* reported once */
	while (next_request(queue, &request)) {
		struct cairn_error error;
		enum cairn_forwarded result;
		while ((result = cairn_forward_send(queue->forward, &request, &error)) == CAIRN_FORWARD_AWAY) {
			if (pause == 0)
				cairn_note("snapshots are not forwarded to %s for now: %s", kind, error.text);
			pause = pause == 0 ? shortest_ms : pause * 2 < longest_ms ? pause * 2 : longest_ms;
			if (!pause_for(queue, pause))
				break;
		}
		if (result != CAIRN_FORWARD_AWAY && pause > 0) {
			cairn_note("%s accepts snapshots again", kind);
			pause = 0;
		}
		queue->sent += result == CAIRN_FORWARDED;
		queue->refused += result == CAIRN_FORWARD_REFUSED;
		queue->lost += result == CAIRN_FORWARD_AWAY;
		if (result == CAIRN_FORWARD_REFUSED && !refused)
			cairn_note("a snapshot is not forwarded, and others may not be: %s", error.text);
		refused = refused || result == CAIRN_FORWARD_REFUSED;
		cairn_forward_request_free(&request);
	}
	return NULL;
}

static void close_queue(struct queue *queue)
{
	if (queue->started) {
		pthread_mutex_lock(&queue->lock);
		queue->closing = true;
		queue->end_ns = cairn_clock_ns() + patience_ms * CAIRN_MILLISECOND_NS;
		pthread_cond_broadcast(&queue->changed);
		pthread_mutex_unlock(&queue->lock);
		pthread_join(queue->thread, NULL);
	}
	while (queue->count > 0) {
		struct cairn_forward_request request = take_first(queue);
		cairn_forward_request_free(&request);
		queue->lost++;
	}
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
		pthread_mutex_init(&queue->lock, NULL);
		cairn_condition_init(&queue->changed);
		queues->items[queues->count++] = queue;
		queue->started = pthread_create(&queue->thread, NULL, run, queue) == 0;
		if (!queue->started) {
			cairn_fail(error, "cannot start a thread");
			cairn_forward_queues_close(queues);
			return NULL;
		}
	}
	return queues;
}

/* Adds REQUEST at the end; drops the oldest requests if there is no room. */
static void enqueue(struct queue *queue, struct cairn_forward_request *request)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count > 0 && (queue->count == waiting_most || queue->bytes + request->body.length > bytes_most)) {
		struct cairn_forward_request oldest = take_first(queue);
		cairn_forward_request_free(&oldest);
		if (queue->lost++ == 0)
			cairn_note("too many snapshots wait to be forwarded to %s, so the oldest are not",
				   cairn_forward_kind(queue->forward));
	}
	queue->waiting[(queue->first + queue->count++) % waiting_most] = *request;
	queue->bytes += request->body.length;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
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
			enqueue(queue, &request);
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
			pthread_mutex_lock(&queue->lock);
			uint64_t waiting = queue->count;
			pthread_mutex_unlock(&queue->lock);
			const uint64_t values[] = {queue->sent, queue->refused, queue->lost, waiting};
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
