/* route.c - decides which requests are allowed, and answers them or leaves them to work.c.
 *
 * Every user of a machine can connect to its loopback address, and a page of root's shows what only root may see: so all requests need the
 * token, but for the page itself, which contains no secret and learns everything by further requests. The first visit of a browser has
 * the token in its address, gets a cookie for it and is sent on to the address without it. Pages of other sites must not make requests: they
 * cannot read the answers (no CORS), are refused by Host, Origin and Sec-Fetch-Site, their requests come without the cookie (SameSite), and
 * they cannot send the header that every request with an effect needs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/route.h"

#include "base/json.h"
#include "base/lock.h"
#include "base/text.h"
#include "base/time.h"
#include "fleet/serve/answer.h"
#include "fleet/serve/pyroscope.h"
#include "fleet/serve/work.h"
#include "http/access.h"
#include "http/peer.h"
#include "page/page.h"
#include "process/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { body_most = 4096,
       file_most = 32 << 20, /* of a profile that is opened in the page */
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
	assert(cairn_lock_is_held(&serve->lock));
	enum { waiting_most = 48 << 10 };
	if (serve->streams == 0 || serve->events.length > waiting_most)
		return;
	cairn_buffer_format(&serve->events, "id: %llu\nevent: %s\ndata: ", (unsigned long long)++serve->event_count, event);
	cairn_buffer_append(&serve->events, data.data, data.length);
	cairn_buffer_text(&serve->events, "\n\n");
}

void cairn_serve_tell_news(const struct cairn_serve_process *process, const char *event, const struct cairn_serve_point *point)
{
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	if (process->serve->streams > 0)
		cairn_answer_news(process, point, &text);
	cairn_serve_tell(process->serve, event, cairn_buffer_bytes(&text));
	cairn_buffer_free(&text);
}

bool cairn_serve_is_watched(const struct cairn_serve *serve)
{
	assert(cairn_lock_is_held(&serve->lock));
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

static bool is_page(struct cairn_bytes path)
{
	return is(path, "/") || is(path, "/page.js") || is(path, "/favicon.ico");
}

/* The name of the cookie contains the port of the address that the browser asks: a browser sends cookies to all ports of a host, and each
 * may have a server of ours. */
static void name_cookie(const struct cairn_request *request, char name[16])
{
	struct cairn_bytes host = request->host;
	const char *colon = host.length ? memrchr(host.data, ':', host.length) : NULL;
	struct cairn_bytes port = colon ? cairn_bytes_skip(host, (size_t)(colon - host.data) + 1) : (struct cairn_bytes){0};
	uint64_t number;
	bool good = cairn_text_decimal(&port, &number) && port.length == 0 && number <= UINT16_MAX;
	snprintf(name, 16, "cairn-%u", good ? (unsigned)number : 0);
}

/* The token in the address. */
static bool find_token(const struct cairn_request *request, char token[CAIRN_SERVE_TOKEN])
{
	return cairn_query_get(request->query, "token", token, CAIRN_SERVE_TOKEN);
}

static bool has_token(const struct cairn_serve *serve, const struct cairn_request *request)
{
	char name[16], token[CAIRN_SERVE_TOKEN];
	name_cookie(request, name);
	return cairn_token_equal(cairn_request_token(request), serve->token) ||
	       cairn_token_equal(cairn_request_cookie(request, name), serve->cookie) ||
	       (find_token(request, token) && cairn_token_equal(cairn_bytes_of(token), serve->token));
}

/* Whether TOKEN opens the page: the token itself, or the ticket, which is used up by that. */
static bool may_visit(struct cairn_serve *serve, const char *token)
{
	bool ticket = serve->ticket[0] && cairn_token_equal(cairn_bytes_of(token), serve->ticket);
	if (ticket)
		serve->ticket[0] = 0;
	return ticket || cairn_token_equal(cairn_bytes_of(token), serve->token);
}

/* The token of a visit is checked here, where it is used up. */
static bool knows_token(void *context, const struct cairn_request *request)
{
	struct cairn_serve *serve = context;
	char token[CAIRN_SERVE_TOKEN];
	bool visits = is(request->path, "/") && find_token(request, token);
	return visits ? may_visit(serve, token) : has_token(serve, request);
}

/* Whether somebody asks who may see all that we may, and shows no token, right or wrong. Not if the token was chosen: then it may be for a
 * proxy, which is of this user, but whose clients are not. */
static bool is_own_user(const struct cairn_serve *serve, const struct cairn_exchange *exchange)
{
	char token[CAIRN_SERVE_TOKEN];
	return !serve->any_host && !exchange->request.authorization.data && !find_token(&exchange->request, token) &&
	       cairn_peer_is_own_user(exchange->socket);
}

static const struct cairn_refusal *check_access(struct cairn_serve *serve, const struct cairn_exchange *exchange)
{
	const struct cairn_request *request = &exchange->request;
	bool reads = cairn_request_is(request, "GET") || cairn_request_is(request, "HEAD");
	char token[CAIRN_SERVE_TOKEN];
	if (exchange->local) /* through a unix socket, which is protected by file permissions */
		return NULL;
	struct cairn_access access = {.server = CAIRN_ACCESS_SERVE, .hosts = serve->any_host ? NULL : "", .asks_token = serve->token[0],
				      .has_token = knows_token, .context = serve};
	access.visits = serve->token[0] && is(request->path, "/") && find_token(request, token);
	access.is_open = is_page(request->path) && reads && !access.visits;
	const struct cairn_refusal *refusal = cairn_access_check(&access, request);
	if (refusal && refusal->status == 401 && reads && is_own_user(serve, exchange))
		refusal = NULL;
	/* Grafana's queries change nothing, although they are POST requests. */
	bool queries = serve->options->store && cairn_pyroscope_is(request) && cairn_pyroscope_is_safe(request);
	return refusal || reads || queries ? refusal : cairn_access_check_change(CAIRN_ACCESS_SERVE, request);
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
	*body_maximum = is(exchange->request.path, "/api/open") ? file_most
			: serve->options->store && cairn_pyroscope_is(&exchange->request) ? CAIRN_PYROSCOPE_BODY
											  : body_most;
	protect(&exchange->response);
	const struct cairn_refusal *refusal = check_access(serve, exchange);
	if (refusal)
		cairn_access_refuse(refusal, &exchange->response);
	return !refusal;
}

/* Answers. */

static bool answer_error(struct cairn_response *response, int status, const char *error)
{
	cairn_response_start(response, status, json_type);
	struct cairn_json json = cairn_json_answer(&response->body);
	cairn_json_text(&json, "error", cairn_bytes_of(error));
	cairn_json_end(&json);
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

/* Sends a browser that came with the token on to the address without it, so that its history has no token. The fragment, which says what to
 * show, stays. */
static bool send_on(const struct cairn_serve *serve, const struct cairn_request *request, struct cairn_response *response)
{
	char name[16], cookie[sizeof serve->cookie + 80];
	name_cookie(request, name);
	snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", name, serve->cookie);
	cairn_response_text(response, 303, text_type, "the page is at ./\n");
	cairn_response_header(response, "Set-Cookie", cookie);
	cairn_response_header(response, "Location", "./");
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

/* A request below /api/, while serve->lock is held. */
struct asking {
	struct cairn_serve *serve;
	struct cairn_exchange *exchange;
	struct cairn_serve_process *process; /* that it is about */
};

/* Opens a stream of events. The first event has what a page needs before any other. */
static bool open_stream(const struct asking *asking)
{
	struct cairn_serve *serve = asking->serve;
	struct cairn_response *response = &asking->exchange->response;
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

static bool list_processes(const struct asking *asking)
{
	cairn_response_start(&asking->exchange->response, 200, json_type);
	cairn_answer_processes(asking->serve, &asking->exchange->response.body);
	return true;
}

static bool show_series(const struct asking *asking)
{
	char since[24] = "";
	cairn_response_start(&asking->exchange->response, 200, json_type);
	cairn_query_get(asking->exchange->request.query, "since", since, sizeof since);
	cairn_answer_series(asking->process, strtoll(since, NULL, 10), &asking->exchange->response.body);
	return true;
}

static bool show_tree(const struct asking *asking)
{
	const struct cairn_request *request = &asking->exchange->request;
	struct cairn_response *response = &asking->exchange->response;
	struct cairn_work_tree tree;
	if (!cairn_work_tree(asking->process, request->query, &tree))
		return answer_error(response, 404, "no dump yet");
	if (request->if_none_match.data && is(request->if_none_match, tree.tag)) {
		cairn_response_start(response, 304, "application/octet-stream");
		cairn_work_name(response, &tree);
		return true;
	}
	return cairn_work_answer(response, &tree) || !cairn_serve_work_add(asking->exchange, asking->process, CAIRN_TASK_TREE, NULL);
}

static bool take_snapshot(const struct asking *asking)
{
	struct cairn_response *response = &asking->exchange->response;
	if (!asking->process->name || asking->process->state == CAIRN_SERVE_ENDED)
		return answer_error(response, 400, "only dumps of this process are known");
	asking->process->wanted = true;
	pthread_cond_broadcast(&asking->serve->changed);
	cairn_response_text(response, 200, json_type, "{\"version\":1,\"done\":true}\n");
	return true;
}

/* Of the process that runs with the PID that the query has, for commands on this machine. */
static bool take_newest(const struct asking *asking)
{
	char text[24] = "";
	struct cairn_serve *serve = asking->serve;
	cairn_query_get(asking->exchange->request.query, "pid", text, sizeof text);
	long pid = strtol(text, NULL, 10);
	for (size_t i = 0; i < serve->process_count; i++) {
		struct cairn_serve_process *process = serve->processes[i];
		if (pid > 0 && process->pid == pid && process->name && process->state != CAIRN_SERVE_ENDED)
			return !cairn_serve_work_add(asking->exchange, process, CAIRN_TASK_NEWEST, NULL);
	}
	return answer_error(&asking->exchange->response, 404, "no such process is followed");
}

/* One of these answers: `answer` at once, which returns false if it leaves the exchange to a thread; `show` with JSON about the process; or
 * a thread, by doing `task` (work.h). */
static const struct route {
	const char *method, *path;
	bool (*answer)(const struct asking *asking);
	void (*show)(const struct cairn_serve_process *process, struct cairn_buffer *out);
	enum cairn_serve_task task;
	const char *agent;   /* the path that the task asks the agent for */
	bool is_of_no_process;
} routes[] = {
	{"GET", "/api/events", open_stream, .is_of_no_process = true},
	{"GET", "/api/newest", take_newest, .is_of_no_process = true},
	{"GET", "/api/processes", list_processes, .is_of_no_process = true},
	{"GET", "/api/series", show_series},
	{"GET", "/api/tree", show_tree},
	{"GET", "/api/leaks", .show = cairn_answer_leaks},
	{"GET", "/api/bill", .show = cairn_answer_bill},
	{"GET", "/api/health", .show = cairn_answer_health},
	{"GET", "/api/page", .task = CAIRN_TASK_PAGE},
	{"GET", "/api/churn", .task = CAIRN_TASK_CHURN},
	{"GET", "/api/source", .task = CAIRN_TASK_SOURCE},
	{"GET", "/api/allocator", .task = CAIRN_TASK_AGENT, .agent = "/cairn/stats?format=json"},
	{"GET", "/api/doctor", .task = CAIRN_TASK_DOCTOR},
	{"POST", "/api/snapshot", take_snapshot},
	{"POST", "/api/activate", .task = CAIRN_TASK_AGENT, .agent = "/cairn/activate"},
	{"POST", "/api/deactivate", .task = CAIRN_TASK_AGENT, .agent = "/cairn/deactivate"},
	{"POST", "/api/dump", .task = CAIRN_TASK_AGENT, .agent = "/cairn/dump"},
	{"POST", "/api/reset", .task = CAIRN_TASK_AGENT, .agent = "/cairn/reset"},
	{"POST", "/api/attach", .task = CAIRN_TASK_ATTACH},
	{"POST", "/api/cpu", .task = CAIRN_TASK_CPU},
	{"POST", "/api/open", .task = CAIRN_TASK_OPEN, .is_of_no_process = true},
};

static const struct route *find_route(const char *method, struct cairn_bytes path)
{
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
		if (strcmp(routes[i].method, method) == 0 && is(path, routes[i].path))
			return &routes[i];
	return NULL;
}

static bool follow(const struct route *route, const struct asking *asking)
{
	struct cairn_response *response = &asking->exchange->response;
	assert(cairn_lock_is_held(&asking->serve->lock));
	if (!asking->process && !(route && route->is_of_no_process))
		return answer_error(response, 404,
				    asking->serve->process_count ? "no such process; /api/processes lists them" : "no process yet");
	if (!route)
		return answer_error(response, 404, "no such page; doc/live-page.md lists what there is");
	if (route->answer)
		return route->answer(asking);
	if (!route->show)
		return !cairn_serve_work_add(asking->exchange, asking->process, route->task, route->agent);
	cairn_response_start(response, 200, json_type);
	route->show(asking->process, &response->body);
	return true;
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
		cairn_response_text(response, 405, text_type, "only GET and POST\n");
		return true;
	}
	char token[CAIRN_SERVE_TOKEN];
	if (get && serve->token[0] && is(request->path, "/") && find_token(request, token))
		return send_on(serve, request, response);
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
	const struct asking asking = {serve, exchange, find_process(serve, key)};
	bool done = follow(find_route(get ? "GET" : "POST", request->path), &asking);
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
