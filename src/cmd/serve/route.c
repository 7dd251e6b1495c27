/* route.c - decides which requests are allowed, and answers them or leaves them to work.c.
 *
 * The page itself contains no secret, so anybody who can reach the server may open it. All other requests need the token, if there is one,
 * and pages of other sites must not make them: they cannot read the answers (no CORS), are refused by Host, Origin and Sec-Fetch-Site, and
 * cannot send the header that every request with an effect needs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/route.h"

#include "base/json.h"
#include "base/time.h"
#include "cmd/serve/answer.h"
#include "cmd/serve/pyroscope.h"
#include "cmd/serve/work.h"
#include "page/page.h"
#include "process/clock.h"
#include "protocol/listen.h"

#include <stdio.h>
#include <stdlib.h>

enum { body_most = 4096,
       busy_tick_ms = 200,
       idle_tick_ms = 1000 };
static const int64_t looks_for_ns = 30 * CAIRN_SECOND_NS, sign_of_life_ns = 4 * CAIRN_SECOND_NS;
static const char text_type[] = "text/plain; charset=utf-8", json_type[] = "application/json";

static bool is(struct cairn_bytes bytes, const char *text)
{
	return cairn_bytes_equal(bytes, cairn_bytes_of(text));
}

void cairn_serve_tell(struct cairn_serve *serve, const char *event, struct cairn_bytes data)
{
	enum { waiting_most = 48 << 10 };
	if (serve->streams == 0 || serve->events.length > waiting_most)
		return;
	cairn_buffer_format(&serve->events, "id: %llu\nevent: %s\ndata: ", (unsigned long long)++serve->event_count, event);
	cairn_buffer_append(&serve->events, data.data, data.length);
	cairn_buffer_text(&serve->events, "\n\n");
}

bool cairn_serve_is_watched(const struct cairn_serve *serve)
{
	return serve->streams > 0 || (serve->looked_ns && cairn_clock_ns() - serve->looked_ns < looks_for_ns);
}

/* The process of that key, or that has a run of that key; the first where KEY is empty; NULL for none. Under serve->lock. */
static struct cairn_serve_process *find_process(struct cairn_serve *serve, const char *key)
{
	for (size_t i = 0; i < serve->process_count; i++)
		if (!key[0] || strcmp(serve->processes[i]->key, key) == 0)
			return serve->processes[i];
	for (size_t i = 0; i < serve->process_count; i++)
		for (size_t run = 0; run < serve->processes[i]->run_count; run++)
			if (strcmp(serve->processes[i]->runs[run].key, key) == 0)
				return serve->processes[i];
	return NULL;
}

/* Which requests are allowed. */

static bool refuse(struct cairn_response *response, int status, const char *why)
{
	cairn_response_text(response, status, text_type, "%s\n", why);
	return false;
}

static bool is_page(struct cairn_bytes path)
{
	return is(path, "/") || is(path, "/page.js") || is(path, "/favicon.ico");
}

static bool is_own_origin(const struct cairn_serve *serve, const struct cairn_request *request)
{
	struct cairn_bytes origin = request->origin;
	size_t scheme = cairn_bytes_start_with(origin, "http://") ? 7 : serve->token[0] && cairn_bytes_start_with(origin, "https://") ? 8
																      : 0;
	return scheme && request->host.data && cairn_bytes_equal(cairn_bytes_skip(origin, scheme), request->host);
}

static bool check_access(struct cairn_serve *serve, const struct cairn_exchange *exchange, struct cairn_response *response)
{
	const struct cairn_request *request = &exchange->request;
	bool reads = cairn_request_is(request, "GET") || cairn_request_is(request, "HEAD");
	if (exchange->local) /* through a unix socket, which is protected by file permissions */
		return true;
	if (request->host.data && !serve->token[0] && !cairn_listen_host_is_ours(request->host, ""))
		return refuse(response, 403, "unknown Host; use the address that 'cairn serve' printed");
	if (request->origin.data && !is_own_origin(serve, request))
		return refuse(response, 403, "requests from pages of other sites are not answered");
	if (is_page(request->path) && reads)
		return true;
	if (request->fetch_site.data && !is(request->fetch_site, "same-origin") && !is(request->fetch_site, "none"))
		return refuse(response, 403, "requests from other sites are not answered");
	if (serve->token[0] && !cairn_token_equal(cairn_request_token(request), serve->token)) {
		cairn_response_header(response, "WWW-Authenticate", "Bearer");
		return refuse(response, 401, "the token is missing or wrong; open the address that 'cairn serve' printed, or send "
					     "Authorization: Bearer TOKEN");
	}
	/* Grafana's queries change nothing, although they are POST requests. */
	if (!reads && !request->cairn.data && !(serve->options->store && cairn_pyroscope_is(request) && cairn_pyroscope_is_safe(request)))
		return refuse(response, 403, "requests that change something need the header X-Cairn: 1");
	return true;
}

static void protect(struct cairn_response *response)
{
	char policy[400];
	snprintf(policy, sizeof policy, "default-src 'none'; script-src 'self'; style-src '%s'; img-src 'self' data:; connect-src 'self'; "
		 "base-uri 'none'; form-action 'none'; frame-ancestors 'none'", cairn_page_live_digest);
	cairn_response_header(response, "Content-Security-Policy", policy);
	cairn_response_header(response, "Referrer-Policy", "no-referrer");
	cairn_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	cairn_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
}

bool cairn_serve_admit(void *context, struct cairn_exchange *exchange, size_t *body_maximum)
{
	struct cairn_serve *serve = context;
	*body_maximum = serve->options->store && cairn_pyroscope_is(&exchange->request) ? CAIRN_PYROSCOPE_BODY : body_most;
	protect(&exchange->response);
	return check_access(serve, exchange, &exchange->response);
}

/* Answers. */

static bool answer_error(struct cairn_response *response, int status, const char *error)
{
	cairn_response_start(response, status, json_type);
	struct cairn_json json = cairn_json(&response->body);
	cairn_json_open(&json, NULL, '{');
	cairn_json_integer(&json, "version", 1);
	cairn_json_text(&json, "error", cairn_bytes_of(error));
	cairn_json_close(&json, '}');
	return true;
}

static void keep_nothing(void *owner)
{
	(void)owner;
}

static bool answer_text(struct cairn_response *response, const char *type, const char *text)
{
	cairn_response_start(response, 200, type);
	response->content = cairn_bytes_of(text);
	response->release = keep_nothing;
	return true;
}

static bool answer_page(struct cairn_response *response, struct cairn_bytes path)
{
	if (is(path, "/page.js"))
		return answer_text(response, "text/javascript; charset=utf-8", cairn_page_live_script);
	if (is(path, "/favicon.ico")) {
		cairn_response_start(response, 204, "image/x-icon");
		return true;
	}
	return answer_text(response, "text/html; charset=utf-8", cairn_page_live_text);
}

/* Opens a stream of events. The first event has what a page needs before any other. */
static bool open_stream(struct cairn_serve *serve, struct cairn_response *response)
{
	serve->streams = cairn_server_push(serve->server, (struct cairn_bytes){0});
	if (serve->streams >= CAIRN_SERVE_STREAMS) {
		cairn_response_busy(response, "too many pages are open");
		return true;
	}
	cairn_response_start(response, 200, "text/event-stream");
	cairn_buffer_format(&response->body, "retry: 2000\n\nevent: hello\ndata: {\"version\":1,\"started\":%lld}\n\n",
			    (long long)serve->started_ms);
	response->stream = true;
	serve->streams++;
	pthread_cond_broadcast(&serve->changed); /* snapshots are taken more often while a page is open */
	return true;
}

/* Answers the requests that need no work, under the lock. */
static bool answer_at_once(struct cairn_serve *serve, const struct cairn_request *request, const struct cairn_serve_process *process,
			   struct cairn_response *response)
{
	char since[24] = "";
	cairn_response_start(response, 200, json_type);
	if (is(request->path, "/api/processes")) {
		cairn_answer_processes(serve, &response->body);
	} else if (is(request->path, "/api/series")) {
		cairn_query_get(request->query, "since", since, sizeof since);
		cairn_answer_series(process, strtoll(since, NULL, 10), &response->body);
	} else if (is(request->path, "/api/leaks")) {
		cairn_answer_leaks(process, &response->body);
	} else if (is(request->path, "/api/bill")) {
		cairn_answer_bill(process, &response->body);
	} else if (is(request->path, "/api/health")) {
		cairn_answer_health(process, &response->body);
	} else {
		return false;
	}
	return true;
}

static bool answer_get(struct cairn_serve *serve, struct cairn_exchange *exchange, struct cairn_serve_process *process)
{
	static const struct {
		const char *path;
		enum cairn_serve_task task;
		const char *agent;
	} tasks[] = {
		{"/api/page", CAIRN_TASK_PAGE, NULL},
		{"/api/churn", CAIRN_TASK_CHURN, NULL},
		{"/api/source", CAIRN_TASK_SOURCE, NULL},
		{"/api/allocator", CAIRN_TASK_STATS, "/cairn/stats?format=json"},
		{"/api/doctor", CAIRN_TASK_DOCTOR, NULL},
	};
	const struct cairn_request *request = &exchange->request;
	struct cairn_response *response = &exchange->response;
	if (answer_at_once(serve, request, process, response))
		return true;
	if (is(request->path, "/api/tree")) {
		struct cairn_work_tree tree;
		if (!cairn_work_tree(process, request->query, &tree))
			return answer_error(response, 404, "no dump yet");
		if (request->if_none_match.data && is(request->if_none_match, tree.tag)) {
			cairn_response_start(response, 304, "application/octet-stream");
			cairn_work_name(response, &tree);
			return true;
		}
		return cairn_work_answer(response, &tree) || !cairn_serve_work_add(exchange, process, CAIRN_TASK_TREE, NULL);
	}
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
		if (is(request->path, tasks[i].path))
			return !cairn_serve_work_add(exchange, process, tasks[i].task, tasks[i].agent);
	return answer_error(response, 404, "no such page; doc/live-page.md lists what there is");
}

static bool answer_post(struct cairn_serve *serve, struct cairn_exchange *exchange, struct cairn_serve_process *process)
{
	static const struct {
		const char *path, *agent;
	} passed[] = {
		{"/api/activate", "/cairn/activate"},
		{"/api/deactivate", "/cairn/deactivate"},
		{"/api/dump", "/cairn/dump"},
		{"/api/reset", "/cairn/reset"},
	};
	const struct cairn_request *request = &exchange->request;
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		if (is(request->path, passed[i].path))
			return !cairn_serve_work_add(exchange, process, CAIRN_TASK_POST, passed[i].agent);
	if (is(request->path, "/api/attach"))
		return !cairn_serve_work_add(exchange, process, CAIRN_TASK_ATTACH, NULL);
	if (is(request->path, "/api/cpu"))
		return !cairn_serve_work_add(exchange, process, CAIRN_TASK_CPU, NULL);
	if (is(request->path, "/api/snapshot")) {
		if (!process->name || process->state == CAIRN_SERVE_ENDED)
			return answer_error(&exchange->response, 400, "only dumps of this process are known");
		process->wanted = true;
		pthread_cond_broadcast(&serve->changed);
		cairn_response_text(&exchange->response, 200, json_type, "{\"version\":1,\"done\":true}\n");
		return true;
	}
	return answer_error(&exchange->response, 404, "no such page; doc/live-page.md lists what there is");
}

bool cairn_serve_handle(void *context, struct cairn_exchange *exchange)
{
	struct cairn_serve *serve = context;
	const struct cairn_request *request = &exchange->request;
	struct cairn_response *response = &exchange->response;
	char key[CAIRN_SERVE_KEY] = "";
	bool post = cairn_request_is(request, "POST"), get = cairn_request_is(request, "GET") || cairn_request_is(request, "HEAD");
	if (!post && !get) {
		cairn_response_header(response, "Allow", "GET, POST");
		return !refuse(response, 405, "only GET and POST");
	}
	if (get && is_page(request->path))
		return answer_page(response, request->path);
	if (get && is(request->path, "/metrics")) { /* a scrape does not count as a viewer */
		cairn_response_start(response, 200, "text/plain; version=0.0.4; charset=utf-8");
		pthread_mutex_lock(&serve->lock);
		cairn_answer_metrics(serve, &response->body);
		pthread_mutex_unlock(&serve->lock);
		return true;
	}
	if (post && serve->options->store && cairn_pyroscope_is(request))
		return !cairn_serve_work_add(exchange, NULL, CAIRN_TASK_QUERY, NULL);
	pthread_mutex_lock(&serve->lock);
	serve->looked_ns = cairn_clock_ns();
	cairn_query_get(request->query, "process", key, sizeof key);
	struct cairn_serve_process *process = find_process(serve, key);
	bool done;
	if (get && is(request->path, "/api/events"))
		done = open_stream(serve, response);
	else if (!process && !(get && is(request->path, "/api/processes")))
		done = answer_error(response, 404, serve->process_count ? "no such process; /api/processes lists them" : "no process yet");
	else
		done = (get ? answer_get : answer_post)(serve, exchange, process);
	pthread_mutex_unlock(&serve->lock);
	return done;
}

/* Periodic work. */

static void weigh(struct cairn_serve *serve, int64_t now_ms)
{
	for (size_t i = 0; i < serve->process_count; i++) {
		struct cairn_serve_process *process = serve->processes[i];
		struct cairn_serve_row row;
		if (!process->memory_open)
			continue;
		if (!cairn_serve_process_weigh(process, now_ms, &row)) { /* its thread finds out how it ended */
			process->wanted = true;
			pthread_cond_broadcast(&serve->changed);
			continue;
		}
		char text[256];
		int length = snprintf(text, sizeof text,
				      "{\"process\":\"%s\",\"time\":%lld,\"resident\":%.0f,\"anonymous\":%.0f,\"limit\":%.0f}",
				      process->key, (long long)now_ms, row.resident, row.anonymous, process->limit);
		cairn_serve_tell(serve, "rss", (struct cairn_bytes){text, (size_t)length});
	}
}

int cairn_serve_tick(void *context)
{
	struct cairn_serve *serve = context;
	static int64_t weighed_ms, told_ns;
	int64_t now_ms = cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS;
	pthread_mutex_lock(&serve->lock);
	if (now_ms - weighed_ms >= idle_tick_ms - busy_tick_ms / 2 || now_ms < weighed_ms) {
		weigh(serve, now_ms);
		weighed_ms = now_ms;
	}
	struct cairn_buffer events = serve->events;
	int64_t now = cairn_clock_ns();
	/* A sign of life, so that a page can tell a quiet connection from a broken one. */
	if (events.length == 0 && serve->streams > 0 && now - told_ns >= sign_of_life_ns)
		cairn_buffer_text(&events, ": still here\n\n");
	told_ns = events.length > 0 ? now : told_ns;
	serve->events = cairn_buffer(SIZE_MAX);
	pthread_mutex_unlock(&serve->lock);
	unsigned streams = cairn_server_push(serve->server, cairn_buffer_bytes(&events));
	cairn_buffer_free(&events);
	pthread_mutex_lock(&serve->lock);
	serve->streams = streams;
	if (serve->idle_ns && streams == 0 && cairn_clock_ns() - serve->looked_ns > serve->idle_ns)
		atomic_store(&serve->stop, true);
	pthread_mutex_unlock(&serve->lock);
	return streams > 0 ? busy_tick_ms : idle_tick_ms;
}
