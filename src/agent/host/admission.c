/* admission.c - decides who may send a request, where it goes, and who waits for its answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/host/admission.h"

#include "agent/route/forward.h"
#include "agent/work/thread.h"
#include "http/access.h"
#include "process/clock.h"

void cairn_admission_open(struct cairn_agent *agent)
{
	size_t all = (size_t)agent->config.memory, reserve = all / 4;
	agent->memory.whole = (struct cairn_quota){.limit = all};
	agent->memory.remote = (struct cairn_quota){.limit = all - reserve, .whole = &agent->memory.whole};
	agent->memory.local = (struct cairn_quota){.limit = all, .reserve = reserve, .whole = &agent->memory.whole};
}

static bool has_token(void *context, const struct cairn_request *request)
{
	const struct cairn_agent *agent = context;
	return cairn_token_equal(cairn_request_token(request), agent->config.token);
}

/* False if REFUSAL is one, which is counted and filled in. */
static bool admits(struct cairn_agent *agent, const struct cairn_refusal *refusal, struct cairn_response *response)
{
	if (!refusal)
		return true;
	atomic_fetch_add(&agent->counters.refused, 1);
	cairn_access_refuse(refusal, response);
	return false;
}

bool cairn_admission_check(struct cairn_agent *agent, const struct cairn_request *request, bool local, struct cairn_response *response)
{
	const bool asks_token = agent->config.token[0] != 0;
	struct cairn_access access = {.server = CAIRN_ACCESS_AGENT, .hosts = asks_token ? NULL : agent->config.hosts,
				      .asks_token = asks_token, .has_token = has_token, .context = agent};
	return local || admits(agent, cairn_access_check(&access, request), response);
}

bool cairn_admission_admit(void *context, struct cairn_exchange *exchange, size_t *maximum)
{
	struct cairn_agent *agent = context;
	struct cairn_bytes rest;
	const struct cairn_request *request = &exchange->request;
	if (!cairn_admission_check(agent, request, exchange->local, &exchange->response))
		return false;
	const struct cairn_route *route = cairn_route_find(request->method, request->path, &rest, &exchange->response);
	if (!route || (!exchange->local && (route->flags & CAIRN_ROUTE_EFFECT) &&
		       !admits(agent, cairn_access_check_change(CAIRN_ACCESS_AGENT, request), &exchange->response)))
		return false;
	*maximum = route->body_maximum;
	if (exchange->quota && *maximum > exchange->quota->limit)
		*maximum = exchange->quota->limit;
	if (!request->has_length || request->content_length <= *maximum)
		return true;
	if (route->flags & CAIRN_ROUTE_USERVER)
		cairn_userver_long_body(&exchange->response, request->content_length, *maximum);
	else
		cairn_response_text(&exchange->response, 413, CAIRN_TEXT, "length limit exceeded");
	return false;
}

/* The handler has finished CALL. */
static void settle(struct cairn_call *call)
{
	if (!call->busy)
		return;
	atomic_fetch_add(&call->agent->counters.busy, 1);
	cairn_response_busy(call->response, call->busy);
}

static void finish_exchange(struct cairn_call *call)
{
	settle(call);
	cairn_call_release(call); /* before the answer: the client may ask for the next CPU profile as soon as it has it */
	cairn_exchange_finish(call->owner);
	cairn_call_free(&call->agent->work, call); /* after it: when no call is in progress, the server may be closed */
}

/* Answers at once (true), or passes CALL to the workers (false). */
static bool begin_call(struct cairn_agent *agent, const struct cairn_request *request, struct cairn_response *response,
		       struct cairn_exchange *exchange, void (*finish)(struct cairn_call *call), void *owner)
{
	struct cairn_bytes rest;
	atomic_fetch_add(&agent->counters.requests, 1);
	const struct cairn_route *route = cairn_route_find(request->method, request->path, &rest, response);
	if (!route)
		return true;
	bool remote = exchange && !exchange->local, own_socket = exchange && exchange->local;
	/* Before it is passed on: a child would take it for a call through its own socket. */
	if ((route->flags & CAIRN_ROUTE_LOCAL) && !own_socket)
		return !admits(agent, &(const struct cairn_refusal){403, "only the agent's own socket takes this"}, response);
	if (cairn_forward_is_meant(request))
		route = &cairn_forward_route;
	struct cairn_call call = {
		.origin = remote ? CAIRN_CALL_REMOTE : CAIRN_CALL_LOCAL,
		.agent = agent,
		.handle = route->handle,
		.request = request,
		.response = response,
		.quota = exchange ? exchange->quota : &agent->memory.local,
		.gone = exchange ? &exchange->gone : NULL,
		.half_closed = exchange ? &exchange->half_closed : NULL,
		.rest = rest,
		.arrived_ns = cairn_clock_ns(),
		.finish = finish,
		.owner = owner,
		.used = true,
	};
	if (!(route->flags & CAIRN_ROUTE_WORK)) {
		locale_t before = cairn_locale_use_plain(); /* the thread may be the host's */
		call.handle(&call);
		uselocale(before);
		settle(&call);
		return true;
	}
	struct cairn_call *queued = cairn_call_new(&agent->work, call.origin);
	if (queued) {
		*queued = call;
		if (cairn_call_enqueue(&agent->work, queued))
			return false;
		cairn_call_free(&agent->work, queued);
	}
	atomic_fetch_add(&agent->counters.busy, 1);
	cairn_response_busy(response, "too many requests are in progress");
	return true;
}

bool cairn_admission_handle(void *context, struct cairn_exchange *exchange)
{
	return begin_call(context, &exchange->request, &exchange->response, exchange, finish_exchange, exchange);
}

void cairn_admission_abandon(void *context, struct cairn_exchange *exchange)
{
	struct cairn_agent *agent = context;
	cairn_work_abandon(&agent->work, exchange);
}

/* For a thread of the host that waits for its answer. */
struct waiting {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool done;
};

static void wait_until_done(struct waiting *waiting)
{
	pthread_mutex_lock(&waiting->mutex);
	while (!waiting->done)
		pthread_cond_wait(&waiting->changed, &waiting->mutex);
	pthread_mutex_unlock(&waiting->mutex);
}

static void finish_waiting(struct cairn_call *call)
{
	struct waiting *waiting = call->owner;
	if (call->response)
		settle(call);
	cairn_call_free(&call->agent->work, call);
	pthread_mutex_lock(&waiting->mutex);
	waiting->done = true;
	pthread_cond_signal(&waiting->changed);
	pthread_mutex_unlock(&waiting->mutex);
}

void cairn_admission_answer(const struct cairn_request *request, struct cairn_response *response)
{
	struct waiting waiting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
	if (begin_call(&cairn_agent, request, response, NULL, finish_waiting, &waiting))
		return;
	wait_until_done(&waiting);
}

/* A snapshot for the host itself. */
struct taking {
	struct waiting waiting; /* first member: `finish_waiting` knows nothing else of it */
	struct cairn_snapshot *snapshot;
	struct cairn_error *error;
};

static void take_snapshot(struct cairn_call *call)
{
	struct taking *taking = call->owner;
	struct cairn_snapshot_ask ask = {.since_ns = call->arrived_ns, .quota = call->quota};
	taking->snapshot = cairn_snapshot_take(&call->agent->snapshots, &ask, taking->error);
	if (ask.refused)
		atomic_fetch_add(&call->agent->counters.busy, 1);
}

struct cairn_snapshot *cairn_admission_snapshot(struct cairn_error *error)
{
	struct cairn_agent *agent = &cairn_agent;
	struct taking taking = {.waiting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false}, .error = error};
	struct cairn_call *call = cairn_call_new(&agent->work, CAIRN_CALL_LOCAL);
	cairn_fail(error, "the agent is stopping"); /* unless the call is processed */
	if (call) {
		call->agent = agent;
		call->handle = take_snapshot;
		call->quota = &agent->memory.local;
		call->arrived_ns = cairn_clock_ns();
		call->finish = finish_waiting;
		call->owner = &taking;
		if (cairn_call_enqueue(&agent->work, call)) {
			wait_until_done(&taking.waiting);
			return taking.snapshot;
		}
		cairn_call_free(&agent->work, call);
	}
	atomic_fetch_add(&agent->counters.busy, 1);
	cairn_fail(error, "too much is under way; try again later");
	return NULL;
}
