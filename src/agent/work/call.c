/* call.c - the queue and its workers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/call.h"

#include "agent/work/thread.h"
#include "base/condition.h"
#include "base/lock.h"
#include "process/clock.h"

#include <assert.h>
#include <errno.h>

static_assert(CAIRN_CALLS_REMOTE < (int)CAIRN_CALLS_ASKED && CAIRN_CALLS_ASKED < (int)CAIRN_CALLS,
	      "local clients have places that remote ones cannot take, and the agent itself some that neither can");

void cairn_work_open(struct cairn_work *work, void (*begin)(void))
{
	*work = (struct cairn_work){.begin = begin};
	pthread_mutex_init(&work->mutex, NULL);
	cairn_condition_init(&work->changed);
}

/* Indices in `workers`. */
enum { LOCAL_WORKER = CAIRN_WORKERS, URGENT_WORKER };

/* Whether WORKER may process CALL. */
static bool may_take(const struct cairn_worker *worker, const struct cairn_call *call)
{
	switch (worker - worker->work->workers) {
	case LOCAL_WORKER: return call->origin != CAIRN_CALL_REMOTE;
	case URGENT_WORKER: return call->due_ns == CAIRN_URGENT;
	default: return true;
	}
}

/* Waits for the next call for WORKER that is due; NULL to stop. Called with the mutex held. */
static struct cairn_call *next_call(const struct cairn_worker *worker)
{
	assert(cairn_lock_is_held(&worker->work->mutex));
	struct cairn_work *work = worker->work;
	while (!work->stop) {
		struct cairn_call **at = &work->queue;
		while (*at && !may_take(worker, *at))
			at = &(*at)->next;
		struct cairn_call *call = *at;
		if (!call) {
			pthread_cond_wait(&work->changed, &work->mutex);
		} else if (call->due_ns > cairn_clock_ns()) {
			cairn_condition_wait(&work->changed, &work->mutex, call->due_ns);
		} else {
			*at = call->next;
			return call;
		}
	}
	return NULL;
}

/* Ends a call that will not be processed. */
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
		call->handle(call);
	if (!call->due_ns)
		call->finish(call);
	else if (!cairn_call_enqueue(work, call))
		turn_away(call);
}

static void *work_on_calls(void *context)
{
	struct cairn_worker *worker = context;
	struct cairn_work *work = worker->work;
	bool counted = worker - work->workers < CAIRN_WORKERS;
	if (work->begin)
		work->begin();
	pthread_mutex_lock(&work->mutex);
	for (struct cairn_call *call; (call = next_call(worker));) {
		work->running += counted;
		pthread_mutex_unlock(&work->mutex);
		run_call(work, call);
		pthread_mutex_lock(&work->mutex);
		work->running -= counted;
	}
	pthread_mutex_unlock(&work->mutex);
	return NULL;
}

static bool start_worker(struct cairn_work *work, unsigned index)
{
	struct cairn_worker *worker = &work->workers[index];
	worker->work = work;
	if (!worker->started)
		worker->started = cairn_thread_start(&worker->thread, work_on_calls, worker,
						     index == URGENT_WORKER ? "cairn-dump" : "cairn-work");
	return worker->started;
}

/* Starts another thread if all are busy. Returns whether there is one for CALL. Called with the mutex held. */
static bool ensure_worker(struct cairn_work *work, const struct cairn_call *call)
{
	assert(cairn_lock_is_held(&work->mutex));
	if (call->due_ns == CAIRN_URGENT && start_worker(work, URGENT_WORKER))
		return true;
	unsigned started = 0, busy = work->running; /* or soon: a worker may not have taken its call yet */
	for (const struct cairn_call *waiting = work->queue; waiting; waiting = waiting->next)
		busy++;
	while (started < CAIRN_WORKERS && work->workers[started].started)
		started++;
	if (busy >= started && started < CAIRN_WORKERS)
		started += start_worker(work, started);
	if (busy >= CAIRN_WORKERS && call->origin != CAIRN_CALL_REMOTE)
		started += start_worker(work, LOCAL_WORKER);
	return started > 0;
}

void cairn_work_stop(struct cairn_work *work)
{
	pthread_mutex_lock(&work->mutex);
	work->stop = true;
	pthread_cond_broadcast(&work->changed);
	pthread_mutex_unlock(&work->mutex);
	for (unsigned i = 0; i < CAIRN_THREADS; i++) {
		if (work->workers[i].started)
			pthread_join(work->workers[i].thread, NULL);
		work->workers[i].started = false;
	}
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

struct cairn_call *cairn_call_new(struct cairn_work *work, enum cairn_call_origin origin)
{
	struct cairn_call *call = NULL;
	int remote = 0, asked = 0;
	pthread_mutex_lock(&work->mutex);
	for (int i = 0; i < CAIRN_CALLS; i++) {
		struct cairn_call *place = &work->calls[i];
		if (!place->used)
			call = place;
		remote += place->used && place->origin == CAIRN_CALL_REMOTE;
		asked += place->used && place->origin != CAIRN_CALL_OWN;
	}
	if (work->stop || (origin == CAIRN_CALL_REMOTE && remote >= CAIRN_CALLS_REMOTE) ||
	    (origin != CAIRN_CALL_OWN && asked >= CAIRN_CALLS_ASKED))
		call = NULL;
	if (call)
		*call = (struct cairn_call){.used = true, .origin = origin};
	pthread_mutex_unlock(&work->mutex);
	return call;
}

static bool has_gone(const struct cairn_call *call)
{
	return call->gone && atomic_load(call->gone);
}

bool cairn_call_enqueue(struct cairn_work *work, struct cairn_call *call)
{
	pthread_mutex_lock(&work->mutex);
	/* Checked with the mutex held: a client that leaves later is found in the queue. */
	if (work->stop || has_gone(call) || !ensure_worker(work, call)) {
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

/* Ends the queued calls for HANDLE, or those of OWNER if HANDLE is NULL. */
static void end_queued(struct cairn_work *work, cairn_call_handle *handle, const void *owner)
{
	struct cairn_call *withdrawn = NULL;
	pthread_mutex_lock(&work->mutex);
	for (struct cairn_call **at = &work->queue; *at;) {
		struct cairn_call *call = *at;
		if (handle ? call->handle != handle : call->owner != owner) {
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

void cairn_work_abandon(struct cairn_work *work, const void *owner)
{
	end_queued(work, NULL, owner);
}

void cairn_work_withdraw(struct cairn_work *work, cairn_call_handle *handle)
{
	end_queued(work, handle, NULL);
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
	assert(call->used);
	cairn_call_release(call);
	pthread_mutex_lock(&work->mutex);
	call->used = false;
	pthread_mutex_unlock(&work->mutex);
}
