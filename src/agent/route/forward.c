/* forward.c - one exchange with the agent of a child, or with the process that makes the live page.
 *
 * A child may answer after an hour, if that is how long a profile takes. So its answer does not occupy a worker before it has begun: the
 * handler looks for it ten times a second.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/forward.h"

#include "agent/route/answer.h"
#include "agent/work/agent.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "base/time.h"
#include "process/clock.h"
#include "process/proc.h"
#include "process/tree.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { patience_seconds = 120, profile_seconds_most = 3600, again_seconds = 1, poll_ms = 200, look_ms = 100, head_maximum = 16 << 10 };

static int process_of(const struct cairn_request *request)
{
	char text[16];
	struct cairn_bytes number;
	uint64_t pid = 0;
	if (!cairn_query_get(request->query, "pid", text, sizeof text))
		return 0;
	number = cairn_bytes_of(text);
	return cairn_text_decimal(&number, &pid) && number.length == 0 && pid < INT32_MAX ? (int)pid : -1;
}

bool cairn_forward_is_meant(const struct cairn_request *request)
{
	int pid = process_of(request);
	return pid != 0 && pid != cairn_proc_own();
}

/* Connects to the socket of process PID in FOLDER; -1 unless that very process answers there. */
static int reach(const char *folder, int pid)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct ucred peer;
	socklen_t size = sizeof peer;
	int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/%d.sock", folder, pid);
	if (!folder[0] || length <= 0 || (size_t)length >= sizeof address.sun_path)
		return -1;
	int descriptor = cairn_descriptor_adopt(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	if (descriptor < 0)
		return -1;
	if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0 &&
	    getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == pid)
		return descriptor;
	cairn_descriptor_close(descriptor);
	return -1;
}

/* The child may have changed its user since the fork and have its socket in that user's folder. */
static int reach_process(const struct cairn_agent *agent, int pid)
{
	char path[32], theirs[40] = "";
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d", pid);
	if (stat(path, &status) == 0)
		snprintf(theirs, sizeof theirs, "/tmp/cairn-%u", status.st_uid);
	const char *const folders[] = {agent->listen.folder, "/run/cairn", theirs};
	int descriptor = -1;
	for (size_t i = 0; i < sizeof folders / sizeof *folders && descriptor < 0; i++)
		descriptor = reach(folders[i], pid);
	return descriptor;
}

/* Waits until DESCRIPTOR is ready; false if the client has left or it takes too long. */
static bool await(const struct cairn_call *call, int descriptor, short events, int64_t end)
{
	struct pollfd ready = {.fd = descriptor, .events = events};
	for (;;) {
		int count = poll(&ready, 1, poll_ms);
		if (count > 0)
			return true;
		if ((count < 0 && errno != EINTR) || cairn_clock_ns() > end || (call->gone && atomic_load(call->gone)) ||
		    atomic_load(&call->agent->stop))
			return false;
	}
}

static bool send_all(const struct cairn_call *call, int descriptor, struct cairn_bytes bytes, int64_t end)
{
	while (bytes.length > 0) {
		ssize_t part = send(descriptor, bytes.data, bytes.length, MSG_NOSIGNAL);
		if (part > 0)
			bytes = cairn_bytes_skip(bytes, (size_t)part);
		else if (!(part < 0 && (errno == EAGAIN || errno == EINTR)) || !await(call, descriptor, POLLOUT, end))
			return false;
	}
	return true;
}

/* Writes the request line and the headers that the agent looks at, without `pid`. */
static bool send_request(const struct cairn_call *call, int descriptor, struct cairn_bytes path, int64_t end)
{
	const struct cairn_request *request = call->request;
	struct cairn_buffer *head = &call->response->body; /* which is empty yet */
	struct cairn_bytes query = request->query;
	cairn_buffer_format(head, "%.*s %.*s", (int)request->method.length, request->method.data, (int)path.length, path.data);
	for (char separator = '?'; query.length > 0;) {
		const char *ampersand = memchr(query.data, '&', query.length);
		struct cairn_bytes pair = {query.data, ampersand ? (size_t)(ampersand - query.data) : query.length};
		query = cairn_bytes_skip(query, pair.length + 1);
		if (pair.length == 0 || cairn_bytes_start_with(pair, "pid="))
			continue;
		cairn_buffer_format(head, "%c%.*s", separator, (int)pair.length, pair.data);
		separator = '&';
	}
	cairn_buffer_format(head, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n", request->body.length);
	if (request->content_type.length)
		cairn_buffer_format(head, "Content-Type: %.*s\r\n", (int)request->content_type.length, request->content_type.data);
	if (request->if_none_match.length)
		cairn_buffer_format(head, "If-None-Match: %.*s\r\n", (int)request->if_none_match.length, request->if_none_match.data);
	if (request->cairn.data)
		cairn_buffer_text(head, "X-Cairn: 1\r\n");
	cairn_buffer_text(head, "\r\n");
	bool good = send_all(call, descriptor, cairn_buffer_bytes(head), end) && send_all(call, descriptor, request->body, end);
	head->length = 0;
	return good;
}

/* The same content type as a string that lives as long as the program. */
static const char *known_type(struct cairn_bytes type)
{
	static const char *const types[] = {CAIRN_TEXT, CAIRN_JSON, CAIRN_HTML, "text/plain; version=0.0.4; charset=utf-8", "image/svg+xml",
					    "application/octet-stream", "application/json", "text/plain", "application/gzip",
					    "text/javascript; charset=utf-8", "image/x-icon"};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (cairn_bytes_equal(type, cairn_bytes_of(types[i])))
			return types[i];
	return "application/octet-stream";
}

/* Header lines that are passed on as they are. */
static void pass_header(struct cairn_response *response, struct cairn_bytes line)
{
	static const char *const names[] = {"ETag",
					    "X-Cairn-Dumps",
					    "Content-Encoding",
					    "Content-Disposition",
					    "Content-Security-Policy",
					    "Referrer-Policy",
					    "Cross-Origin-Resource-Policy",
					    "Cross-Origin-Opener-Policy"};
	char value[400];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct cairn_bytes rest = line;
		if (!cairn_text_take(&rest, names[i]) || !cairn_text_take(&rest, ": ") || rest.length >= sizeof value)
			continue;
		memcpy(value, rest.data, rest.length);
		value[rest.length] = 0;
		cairn_response_header(response, names[i], value);
	}
}

/* Reads the answer and removes its head from the body. */
static bool receive(const struct cairn_call *call, int descriptor, int64_t end)
{
	struct cairn_response *response = call->response;
	struct cairn_buffer *body = &response->body;
	char piece[16 << 10];
	for (;;) {
		ssize_t part = recv(descriptor, piece, sizeof piece, 0);
		if (part == 0)
			break;
		if (part > 0)
			cairn_buffer_append(body, piece, (size_t)part);
		else if (!(errno == EAGAIN || errno == EINTR) || !await(call, descriptor, POLLIN, end))
			return false;
	}
	const char *rest = body->length ? memmem(body->data, body->length, "\r\n\r\n", 4) : NULL;
	if (!rest || rest - body->data > head_maximum || !cairn_bytes_start_with(cairn_buffer_bytes(body), "HTTP/1.1 "))
		return false;
	struct cairn_bytes head = {body->data, (size_t)(rest - body->data) + 2}, line;
	uint64_t status = 0, length = UINT64_MAX;
	const char *type = CAIRN_TEXT;
	for (bool first = true; cairn_text_line(&head, &line, NULL); first = false) {
		line = cairn_text_trim(line);
		if (first ? cairn_text_take(&line, "HTTP/1.1 ") && cairn_text_decimal(&line, &status)
			  : cairn_text_take(&line, "Content-Type: "))
			type = first ? type : known_type(line);
		else if (cairn_text_take(&line, "Content-Length: "))
			cairn_text_decimal(&line, &length);
		else
			pass_header(response, line);
	}
	size_t used = (size_t)(rest - body->data) + 4;
	body->length -= used;
	memmove(body->data, body->data + used, body->length);
	if (body->length != length && !cairn_request_is(call->request, "HEAD"))
		return false;
	response->status = (int)status;
	response->type = type;
	return true;
}

/* Nothing in an idle child can hear us, and nothing is to run there for that. So the command starts its agent from outside, as far as this
 * process may trace the child. */
static bool start_child(struct cairn_call *call, int pid, struct cairn_error *error)
{
	char number[16];
	snprintf(number, sizeof number, "%d", pid);
	const char *const arguments[] = {"attach", "--quiet", "--waiting", number, NULL};
	bool started = cairn_answer_render(call, arguments, -1, -1, CAIRN_TEXT, error) == 200;
	call->response->body.length = 0;
	return started;
}

int64_t cairn_forward_patience(const struct cairn_request *request)
{
	char text[16];
	uint64_t seconds = 0;
	struct cairn_bytes number;
	if (cairn_query_get(request->query, "seconds", text, sizeof text)) {
		number = cairn_bytes_of(text);
		cairn_text_decimal(&number, &seconds);
	}
	return patience_seconds + (int64_t)(seconds < profile_seconds_most ? seconds : profile_seconds_most);
}

/* By when an answer has to be there. */
static int64_t end_of(const struct cairn_call *call)
{
	return cairn_clock_ns() + cairn_forward_patience(call->request) * CAIRN_SECOND_NS;
}

static bool begin_exchange(struct cairn_call *call, int descriptor, struct cairn_bytes path, int64_t end)
{
	cairn_response_start(call->response, 200, CAIRN_TEXT);
	return send_request(call, descriptor, path, end);
}

static bool end_exchange(struct cairn_call *call, int descriptor, int64_t end)
{
	if (receive(call, descriptor, end))
		return true;
	call->response->headers[0] = 0; /* those of an answer that did not come whole */
	return false;
}

bool cairn_forward_exchange(struct cairn_call *call, int descriptor, struct cairn_bytes path)
{
	int64_t end = end_of(call);
	return begin_exchange(call, descriptor, path, end) && end_exchange(call, descriptor, end);
}

/* A connection to the agent of process PID, which is started if it waits; -1 after answering why there is none. */
static int reach_or_start(struct cairn_call *call, int pid)
{
	/* Where it cannot be started, many who ask do not each have a command started. */
	static _Atomic int failed_pid;
	static _Atomic int64_t failed_ns;
	struct cairn_error why = {0};
	int descriptor = reach_process(call->agent, pid);
	bool failed_lately = failed_pid == pid && cairn_clock_ns() < failed_ns + again_seconds * CAIRN_SECOND_NS;
	if (descriptor < 0 && !failed_lately) {
		if (start_child(call, pid, &why))
			descriptor = reach_process(call->agent, pid);
		failed_ns = cairn_clock_ns();
		failed_pid = descriptor < 0 ? pid : 0;
	}
	if (descriptor < 0)
		cairn_response_text(call->response, 409, CAIRN_TEXT,
				    "process %d has no agent yet: a forked process starts its agent with its first sample; until then its "
				    "heap is what its "
				    "parent had at the fork. 'cairn attach %d' starts it now%s%.300s\n",
				    pid, pid, why.text[0] ? "; this process may not: " : "", why.text);
	return descriptor;
}

/* The connection is held as its number plus one. */
static void hang_up(void *held)
{
	cairn_descriptor_close((int)(intptr_t)held - 1);
}

/* Whether the answer has begun to come, or never will. */
static bool has_begun(int descriptor, int wait_ms)
{
	struct pollfd ready = {.fd = descriptor, .events = POLLIN};
	int count = poll(&ready, 1, wait_ms);
	return count > 0 || (count < 0 && errno != EINTR) || !cairn_descriptor_is_ours(descriptor);
}

static void forward(struct cairn_call *call)
{
	int pid = process_of(call->request), descriptor = (int)(intptr_t)call->held - 1;
	bool is_first = !call->held, good = true;
	if (is_first && (pid <= 0 || !cairn_tree_has(cairn_proc_own(), pid))) {
		cairn_response_text(call->response, 404, CAIRN_TEXT, "pid takes a descendant of process %d\n", cairn_proc_own());
		return;
	}
	if (is_first) {
		descriptor = reach_or_start(call, pid);
		if (descriptor < 0)
			return;
		call->held = (void *)(intptr_t)(descriptor + 1);
		call->release = hang_up;
		call->arrived_ns = end_of(call); /* from now on: when it ends */
		good = begin_exchange(call, descriptor, call->request->path, call->arrived_ns);
	}
	/* Most answers come at once. */
	if (good && cairn_clock_ns() < call->arrived_ns && !has_begun(descriptor, is_first ? look_ms : 0)) {
		call->due_ns = cairn_clock_ns() + look_ms * CAIRN_MILLISECOND_NS;
		return;
	}
	if (!good || !cairn_descriptor_is_ours(descriptor) || !end_exchange(call, descriptor, call->arrived_ns))
		cairn_response_text(call->response, 502, CAIRN_TEXT, "the agent of process %d did not answer\n", pid);
	cairn_call_release(call);
}

const struct cairn_route cairn_forward_route = {"GET POST DELETE", "*", forward, CAIRN_ROUTE_WORK, 0, NULL};
