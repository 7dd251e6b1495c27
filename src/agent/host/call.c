/* call.c - the queue and its workers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/call.h"

#include "agent/host/thread.h"
#include "agent/route/route.h"
#include "process/clock.h"

#include <errno.h>

void cairn_work_open(struct cairn_work *work, void (*begin)(void))
{
	*work = (struct cairn_work){.begin = begin};
	pthread_mutex_init(&work->mutex, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&work->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* The next call whose time has come, or the next urgent one; waits for it. NULL to stop. Called with the mutex held. */
static struct cairn_call *next_call(struct cairn_work *work, bool urgent)
{
	while (!work->stop) {
		struct cairn_call *call = work->queue;
		if (!call || (urgent && call->due_ns != CAIRN_URGENT)) {
			pthread_cond_wait(&work->changed, &work->mutex);
		} else if (call->due_ns > cairn_clock_ns()) {
			struct timespec until = {.tv_sec = call->due_ns / 1000000000, .tv_nsec = call->due_ns % 1000000000};
			pthread_cond_timedwait(&work->changed, &work->mutex, &until);
		} else {
			work->queue = call->next;
			return call;
		}
	}
	return NULL;
}

/* Ends a call that will not be worked on any more. */
static void turn_away(struct cairn_call *call)
{
	if (call->response)
		cairn_response_text(call->response, 503, CAIRN_TEXT, "the agent is stopping\n");
	call->finish(call);
}

static void run_call(struct cairn_work *work, struct cairn_call *call)
{
	bool gone = call->gone && atomic_load(call->gone);
	call->due_ns = 0;
	if (!gone)
		call->route->handle(call);
	if (!call->due_ns)
		call->finish(call);
	else if (!cairn_call_enqueue(work, call))
		turn_away(call);
}

static void *work_on_calls(void *context)
{
	struct cairn_work *work = context;
	if (work->begin)
		work->begin();
	pthread_mutex_lock(&work->mutex);
	for (struct cairn_call *call; (call = next_call(work, false));) {
		work->running++;
		pthread_mutex_unlock(&work->mutex);
		run_call(work, call);
		pthread_mutex_lock(&work->mutex);
		work->running--;
	}
	pthread_mutex_unlock(&work->mutex);
	return NULL;
}

static void *work_on_urgent_calls(void *context)
{
	struct cairn_work *work = context;
	if (work->begin)
		work->begin();
	pthread_mutex_lock(&work->mutex);
	for (struct cairn_call *call; (call = next_call(work, true));) {
		pthread_mutex_unlock(&work->mutex);
		run_call(work, call);
		pthread_mutex_lock(&work->mutex);
	}
	pthread_mutex_unlock(&work->mutex);
	return NULL;
}

/* One more thread when all are at work; with the mutex held. Whether there is any. */
static bool ensure_worker(struct cairn_work *work, bool urgent)
{
	if (urgent && !work->reserved)
		work->reserved = cairn_thread_start(&work->reserve, work_on_urgent_calls, work, "cairn-dump");
	if (urgent && work->reserved)
		return true;
	unsigned busy = work->running; /* or soon: a worker may not have come to take its call yet */
	for (const struct cairn_call *waiting = work->queue; waiting; waiting = waiting->next)
		busy++;
	if (busy >= work->workers && work->workers < CAIRN_WORKERS &&
	    cairn_thread_start(&work->threads[work->workers], work_on_calls, work, "cairn-work"))
		work->workers++;
	return work->workers > 0;
}

void cairn_work_stop(struct cairn_work *work)
{
	pthread_mutex_lock(&work->mutex);
	work->stop = true;
	pthread_cond_broadcast(&work->changed);
	pthread_mutex_unlock(&work->mutex);
	for (unsigned i = 0; i < work->workers; i++)
		pthread_join(work->threads[i], NULL);
	if (work->reserved)
		pthread_join(work->reserve, NULL);
	work->workers = 0;
	work->reserved = false;
	while (work->queue) {
		struct cairn_call *call = work->queue;
		work->queue = call->next;
		turn_away(call);
	}
}

bool cairn_work_is_idle(struct cairn_work *work)
{
	bool idle = true;
	pthread_mutex_lock(&work->mutex);
	for (int i = 0; i < CAIRN_CALLS; i++)
		idle = idle && (!work->calls[i].used || !work->calls[i].request);
	pthread_mutex_unlock(&work->mutex);
	return idle;
}

struct cairn_call *cairn_call_new(struct cairn_work *work)
{
	struct cairn_call *call = NULL;
	pthread_mutex_lock(&work->mutex);
	for (int i = 0; i < CAIRN_CALLS && !call && !work->stop; i++)
		if (!work->calls[i].used)
			call = &work->calls[i];
	if (call)
		*call = (struct cairn_call){.used = true};
	pthread_mutex_unlock(&work->mutex);
	return call;
}

bool cairn_call_enqueue(struct cairn_work *work, struct cairn_call *call)
{
	pthread_mutex_lock(&work->mutex);
	if (work->stop || !ensure_worker(work, call->due_ns == CAIRN_URGENT)) {
		pthread_mutex_unlock(&work->mutex);
		return false;
	}
	struct cairn_call **at = &work->queue;
	while (*at && (*at)->due_ns <= call->due_ns)
		at = &(*at)->next;
	call->next = *at;
	*at = call;
	pthread_cond_broadcast(&work->changed);
	pthread_mutex_unlock(&work->mutex);
	return true;
}

void cairn_work_withdraw(struct cairn_work *work, const struct cairn_route *route)
{
	struct cairn_call *withdrawn = NULL;
	pthread_mutex_lock(&work->mutex);
	for (struct cairn_call **at = &work->queue; *at;) {
		struct cairn_call *call = *at;
		if (call->route != route) {
			at = &call->next;
			continue;
		}
		*at = call->next;
		call->next = withdrawn;
		withdrawn = call;
	}
	pthread_mutex_unlock(&work->mutex);
	while (withdrawn) {
		struct cairn_call *call = withdrawn;
		withdrawn = call->next;
		turn_away(call);
	}
}

void cairn_call_release(struct cairn_call *call)
{
	if (call->base)
		cairn_snapshot_release(call->base);
	if (call->release)
		call->release(call->held);
	call->base = NULL;
	call->release = NULL;
}

void cairn_call_free(struct cairn_work *work, struct cairn_call *call)
{
	cairn_call_release(call);
	pthread_mutex_lock(&work->mutex);
	call->used = false;
	pthread_mutex_unlock(&work->mutex);
}
