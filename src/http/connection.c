/* connection.c - receiving requests and sending answers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/connection.h"

#include "base/descriptor.h"
#include "base/pages.h"
#include "base/time.h"
#include "process/clock.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	stretch = 16 << 10,         /* of a body: this much progress extends the deadline */
	piece = 16 << 10,           /* of a chunked body, or of a file, at a time */
	input_size = CAIRN_REQUEST_HEAD_MAXIMUM + 4096, /* a head, the empty lines before it, and whatever comes along */
	turn = 1 << 20,             /* bytes in either direction before other connections get their turn */
};
/* The bytes after the end of a chunked body are the beginning of the next request and have to fit into the buffer for heads. */
static_assert((int)piece <= (int)CAIRN_REQUEST_HEAD_MAXIMUM, "a piece fits where heads are received");

static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";

int64_t cairn_connection_now_ms(void)
{
	return cairn_clock_ns() / CAIRN_MILLISECOND_NS;
}

static enum cairn_connection_state state_of(struct cairn_connection *connection)
{
	return atomic_load(&connection->state);
}

static void enter(struct cairn_connection *connection, enum cairn_connection_state state)
{
	atomic_store(&connection->state, state);
}

static void watch(struct cairn_connection *connection, uint32_t events)
{
	if (connection->events == events)
		return;
	struct epoll_event event = {.events = events, .data.u64 = connection->tag};
	connection->events = events;
	epoll_ctl(connection->epoll, EPOLL_CTL_MOD, connection->socket, &event);
}

static void put_off_deadline(struct cairn_connection *connection, int64_t now)
{
	connection->deadline_ms = now + 1000 * (int64_t)connection->options->seconds;
}

void cairn_connection_drop(struct cairn_connection *connection)
{
	cairn_descriptor_close(connection->socket);
	cairn_response_free(&connection->exchange.response);
	cairn_buffer_free(&connection->input);
	cairn_buffer_free(&connection->body);
	enter(connection, CAIRN_CONNECTION_EMPTY);
}

/* Prepares for the next request. Part of it, NEXT, may have arrived already, somewhere in the buffers of the last one. */
static void begin_request(struct cairn_connection *connection, struct cairn_bytes next)
{
	struct cairn_response *response = &connection->exchange.response;
	if (response->release || response->file || response->body.capacity > 64 << 10)
		cairn_response_free(response);
	response->headers[0] = 0;
	connection->exchange.request = (struct cairn_request){0};
	if (next.length > 0)
		memmove(connection->input.data, next.data, next.length);
	connection->input.length = next.length;
	cairn_buffer_free(&connection->body);
	connection->head_done = connection->whole = connection->bodiless = false;
	connection->chunks = (struct cairn_chunks){0};
	connection->taken = 0;
	connection->since_ms = cairn_connection_now_ms();
	put_off_deadline(connection, connection->since_ms);
	enter(connection, CAIRN_CONNECTION_READING);
}

bool cairn_connection_open(struct cairn_connection *connection, int socket, bool local)
{
	struct cairn_quota *quota = local ? connection->options->local_quota : connection->options->quota;
	*connection = (struct cairn_connection){
		.options = connection->options,
		.epoll = connection->epoll,
		.wake = connection->wake,
		.tag = connection->tag,
		.events = EPOLLIN | EPOLLRDHUP,
		.socket = socket,
		.input = cairn_pages(input_size),
		.body = cairn_pages_of(quota, 0),
		.exchange = {.response.body = cairn_pages_of(quota, connection->options->response_maximum),
			     .local = local,
			     .socket = socket,
			     .quota = quota},
	};
	struct epoll_event event = {.events = connection->events, .data.u64 = connection->tag};
	if (!cairn_buffer_room(&connection->input, input_size) || epoll_ctl(connection->epoll, EPOLL_CTL_ADD, socket, &event) != 0) {
		cairn_connection_drop(connection);
		return false;
	}
	begin_request(connection, (struct cairn_bytes){0});
	return true;
}

/* Receives into ROOM. Returns 0 if there is nothing more now, or if the client has left and the connection is closed. */
static size_t take(struct cairn_connection *connection, char *room, size_t size)
{
	for (;;) {
		ssize_t part = recv(connection->socket, room, size, 0);
		if (part > 0)
			return (size_t)part;
		if (part < 0 && errno == EINTR)
			continue;
		if (part == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			cairn_connection_drop(connection);
		return 0;
	}
}

/* Discards what a refused client still sends, until it stops or its time is over. */
static void drain(struct cairn_connection *connection)
{
	char unread[16 << 10];
	size_t part = 1;
	for (size_t taken = 0; part > 0 && taken < turn; taken += part)
		part = take(connection, unread, sizeof unread);
}

/* The bytes that arrived after the request that was answered. */
static struct cairn_bytes behind(const struct cairn_connection *connection)
{
	const struct cairn_request *request = &connection->exchange.request;
	if (request->chunked)
		return cairn_bytes_skip(cairn_buffer_bytes(&connection->body), connection->chunks.read);
	if (connection->body.length > 0)
		return (struct cairn_bytes){0};
	return cairn_bytes_skip(cairn_buffer_bytes(&connection->input), connection->head_length + request->body.length);
}

/* Everything is sent: continue with the next request, or close. */
static void complete(struct cairn_connection *connection)
{
	watch(connection, EPOLLIN | EPOLLRDHUP);
	if (!connection->closing) {
		begin_request(connection, behind(connection));
		return;
	}
	shutdown(connection->socket, SHUT_WR);
	if (connection->whole) {
		cairn_connection_drop(connection);
		return;
	}
	connection->exchange.request = (struct cairn_request){0}; /* it borrows from the buffers */
	cairn_response_free(&connection->exchange.response);
	cairn_buffer_free(&connection->input);
	cairn_buffer_free(&connection->body);
	put_off_deadline(connection, cairn_connection_now_ms());
	enter(connection, CAIRN_CONNECTION_DRAINING);
}

/* Sends the response's content from OFFSET on, as much as the kernel takes. Returns 0 if the file has become shorter, -1 as send does. */
static ssize_t send_content(struct cairn_connection *connection, uint64_t offset, uint64_t left)
{
	const struct cairn_response *response = &connection->exchange.response;
	if (!response->file)
		return send(connection->socket, cairn_response_content(response).data + offset, left, MSG_NOSIGNAL);
	char part[piece];
	ssize_t length = pread(response->file, part, left < sizeof part ? (size_t)left : sizeof part, (off_t)offset);
	if (length <= 0)
		return 0;
	return send(connection->socket, part, (size_t)length, MSG_NOSIGNAL | ((uint64_t)length < left ? MSG_MORE : 0));
}

static void transmit(struct cairn_connection *connection)
{
	uint64_t length = connection->bodiless ? 0 : cairn_response_length(&connection->exchange.response);
	uint64_t until = connection->sent + turn, all = connection->head_size + length;
	while (connection->sent < all) {
		ssize_t part;
		if (connection->sent >= until) {
			watch(connection, EPOLLOUT);
			return;
		}
		if (connection->sent < connection->head_size)
			part = send(connection->socket, connection->head + connection->sent, connection->head_size - connection->sent,
				    MSG_NOSIGNAL | (length ? MSG_MORE : 0));
		else
			part = send_content(connection, connection->sent - connection->head_size, all - connection->sent);
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			watch(connection, EPOLLOUT);
			return;
		}
		if (part <= 0) {
			cairn_connection_drop(connection);
			return;
		}
		connection->sent += (uint64_t)part;
	}
	complete(connection);
}

/* Sends what a stream has to send, then waits for more of it, or for the client to leave. */
static void transmit_stream(struct cairn_connection *connection)
{
	struct cairn_buffer *body = &connection->exchange.response.body;
	while (connection->sent < connection->head_size + body->length) {
		bool in_head = connection->sent < connection->head_size;
		const char *from = in_head ? connection->head + connection->sent : body->data + (connection->sent - connection->head_size);
		size_t left = (in_head ? connection->head_size : connection->head_size + body->length) - (size_t)connection->sent;
		ssize_t part = send(connection->socket, from, left, MSG_NOSIGNAL);
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			watch(connection, EPOLLOUT | EPOLLRDHUP);
			return;
		}
		if (part <= 0) {
			cairn_connection_drop(connection);
			return;
		}
		connection->sent += (uint64_t)part;
		put_off_deadline(connection, cairn_connection_now_ms());
	}
	connection->sent = connection->head_size = body->length = 0;
	watch(connection, EPOLLIN | EPOLLRDHUP);
}

void cairn_connection_push(struct cairn_connection *connection, struct cairn_bytes bytes)
{
	struct cairn_buffer *body = &connection->exchange.response.body;
	if (connection->sent == 0 || connection->sent == connection->head_size + body->length)
		put_off_deadline(connection, cairn_connection_now_ms()); /* nothing was waiting before */
	cairn_buffer_append(body, bytes.data, bytes.length);
	if (body->failed || connection->head_size + body->length - connection->sent > CAIRN_STREAM_BACKLOG)
		cairn_connection_drop(connection);
	else
		transmit_stream(connection);
}

/* A streaming client has nothing more to say: what it sends is discarded. */
static void listen_to_stream(struct cairn_connection *connection, uint32_t events)
{
	char unread[1024];
	if (events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) {
		cairn_connection_drop(connection);
		return;
	}
	if ((events & EPOLLIN) && take(connection, unread, sizeof unread) == 0)
		return;
	if (state_of(connection) == CAIRN_CONNECTION_STREAMING)
		transmit_stream(connection);
}

static void respond(struct cairn_connection *connection)
{
	struct cairn_exchange *exchange = &connection->exchange;
	if (atomic_load(&exchange->gone)) {
		cairn_connection_drop(connection);
		return;
	}
	bool stream = exchange->response.stream && !cairn_request_is(&exchange->request, "HEAD");
	if (!exchange->request.keep_alive || exchange->response.stream)
		connection->closing = true;
	connection->bodiless = cairn_request_is(&exchange->request, "HEAD");
	connection->head_size = cairn_response_head(&exchange->response, connection->closing, connection->head, sizeof connection->head);
	connection->sent = connection->taken = 0;
	put_off_deadline(connection, cairn_connection_now_ms());
	enter(connection, stream ? CAIRN_CONNECTION_STREAMING : CAIRN_CONNECTION_SENDING);
	(stream ? transmit_stream : transmit)(connection);
}

static void refuse(struct cairn_connection *connection, int status)
{
	struct cairn_response *response = &connection->exchange.response;
	connection->closing = true;
	if (status == 503)
		cairn_response_busy(response, "other requests use all of the memory for request bodies");
	else
		cairn_response_text(response, status, "text/plain; charset=utf-8", "%s\n", cairn_response_reason(status));
	respond(connection);
}

void cairn_exchange_finish(struct cairn_exchange *exchange)
{
	struct cairn_connection *connection = (struct cairn_connection *)(void *)exchange;
	int wake = connection->wake;
	enter(connection, CAIRN_CONNECTION_FINISHED);
	if (cairn_descriptor_is_ours(wake)) /* the host may have closed it and opened another file with the same number */
		(void)!write(wake, &(uint64_t){1}, sizeof(uint64_t));
}

static void dispatch(struct cairn_connection *connection)
{
	connection->whole = true;
	enter(connection, CAIRN_CONNECTION_WORKING);
	atomic_store(&connection->exchange.half_closed, false);
	if (connection->options->handle(connection->options->context, &connection->exchange))
		respond(connection);
	else
		watch(connection, EPOLLRDHUP);
}

/* The head has arrived: may the request come in, and how long may its body be? */
static bool admit(struct cairn_connection *connection)
{
	const struct cairn_server_options *options = connection->options;
	struct cairn_request *request = &connection->exchange.request;
	connection->body_maximum = options->body_maximum;
	if (options->admit && !options->admit(options->context, &connection->exchange, &connection->body_maximum)) {
		connection->closing = true;
		respond(connection);
		return false;
	}
	if (request->has_length && request->content_length > connection->body_maximum) {
		refuse(connection, 413);
		return false;
	}
	return true;
}

/* Decodes the chunks that have arrived; true if the body is complete. */
static bool examine_chunks(struct cairn_connection *connection)
{
	struct cairn_buffer *body = &connection->body;
	int status = cairn_chunks_decode(&connection->chunks, body->data, body->length);
	if (connection->chunks.written > connection->body_maximum)
		status = 413;
	if (status == 0) /* drop the framing, so that it cannot fill the buffer */
		connection->chunks.read = body->length = connection->chunks.written;
	else if (status != 200)
		refuse(connection, status);
	if (status == 200)
		connection->exchange.request.body = (struct cairn_bytes){body->data, connection->chunks.written};
	return status == 200;
}

/* Whether the body is complete. From then on it is part of the request. */
static bool examine_body(struct cairn_connection *connection)
{
	struct cairn_request *request = &connection->exchange.request;
	if (request->chunked)
		return examine_chunks(connection);
	if (connection->body.length < request->content_length)
		return false;
	request->body = cairn_buffer_bytes(&connection->body);
	return true;
}

/* The head is complete. Returns true if the body arrived with it; otherwise the part that did is moved to where the rest will be
 * received. */
static bool begin_body(struct cairn_connection *connection)
{
	struct cairn_request *request = &connection->exchange.request;
	struct cairn_bytes along = cairn_bytes_skip(cairn_buffer_bytes(&connection->input), connection->head_length);
	if (!request->chunked && along.length >= request->content_length) {
		request->body = (struct cairn_bytes){along.data, (size_t)request->content_length};
		return true;
	}
	if (request->expect_continue && along.length == 0)
		(void)!send(connection->socket, interim, sizeof interim - 1, MSG_NOSIGNAL);
	connection->body.maximum = request->chunked ? connection->body_maximum + input_size : (size_t)request->content_length;
	cairn_buffer_append(&connection->body, along.data, along.length);
	connection->input.length = connection->head_length;
	if (connection->body.failed) {
		refuse(connection, 503);
		return false;
	}
	return along.length > 0 && examine_body(connection);
}

/* Parses what has arrived of a head; true if the request is complete. */
static bool examine_head(struct cairn_connection *connection)
{
	struct cairn_request *request = &connection->exchange.request;
	int status = cairn_request_parse(request, cairn_buffer_bytes(&connection->input), &connection->head_length);
	if (status == 0)
		return false;
	if (status != 200) {
		refuse(connection, status);
		return false;
	}
	if (!admit(connection))
		return false;
	connection->head_done = true;
	return begin_body(connection);
}

/* Receives more of a head; true if the request is complete. If the parser wants more, the buffer is not full yet. */
static bool receive_head(struct cairn_connection *connection, size_t *part)
{
	struct cairn_buffer *input = &connection->input;
	assert(input->length < input->capacity);
	*part = take(connection, input->data + input->length, input->capacity - input->length);
	if (*part == 0)
		return false;
	input->length += *part;
	return examine_head(connection);
}

/* Receives more of a body; true if the request is complete. */
static bool receive_body(struct cairn_connection *connection, size_t *part)
{
	struct cairn_buffer *body = &connection->body;
	const struct cairn_request *request = &connection->exchange.request;
	size_t left = request->chunked ? piece : (size_t)request->content_length - body->length;
	char *room = cairn_buffer_room(body, left < piece ? left : piece);
	*part = 0;
	if (!room) {
		refuse(connection, 503);
		return false;
	}
	/* Reads no byte of the next request into a buffer where nobody would look for it. */
	size_t size = body->capacity - body->length;
	*part = take(connection, room, size < left ? size : left);
	if (*part == 0)
		return false;
	body->length += *part;
	return examine_body(connection);
}

static void receive(struct cairn_connection *connection)
{
	size_t part = 1;
	for (size_t taken = 0; part > 0 && taken < turn; taken += part) {
		if (connection->head_done ? receive_body(connection, &part) : receive_head(connection, &part)) {
			dispatch(connection);
			return;
		}
		if (state_of(connection) != CAIRN_CONNECTION_READING)
			return;
		/* An admitted body may arrive slowly, as long as it arrives. */
		if (connection->head_done && connection->body.length >= connection->taken + stretch) {
			connection->taken = connection->body.length;
			put_off_deadline(connection, cairn_connection_now_ms());
		}
	}
}

/* epoll does not report a request again that arrived together with the one just answered. */
static void look_ahead(struct cairn_connection *connection)
{
	while (state_of(connection) == CAIRN_CONNECTION_READING && connection->input.length > 0 && !connection->head_done) {
		if (!examine_head(connection))
			return;
		dispatch(connection);
	}
}

/* Over TCP, a client that has left looks like one that has only closed its sending side, until something is sent to it. So it is sent an
 * interim answer, which every HTTP/1.1 client has to expect; if the client has left, the kernel then reports it. A unix socket shows the
 * difference by itself. */
static void probe(struct cairn_connection *connection)
{
	if (!connection->exchange.local && connection->exchange.request.takes_interim)
		(void)!send(connection->socket, interim, sizeof interim - 1, MSG_NOSIGNAL);
	put_off_deadline(connection, cairn_connection_now_ms()); /* then it is tried again */
}

/* The client of an exchange in progress has left or closed its sending side. Many clients close that side when they have sent the
 * request; only a full hang-up means that nobody waits any more. */
static void notice_hang_up(struct cairn_connection *connection, uint32_t events)
{
	const struct cairn_server_options *options = connection->options;
	if (!(events & (EPOLLERR | EPOLLHUP))) {
		atomic_store(&connection->exchange.half_closed, true);
		watch(connection, 0);
		probe(connection);
		return;
	}
	atomic_store(&connection->exchange.gone, true);
	epoll_ctl(connection->epoll, EPOLL_CTL_DEL, connection->socket, NULL);
	if (options->abandon)
		options->abandon(options->context, &connection->exchange);
}

void cairn_connection_event(struct cairn_connection *connection, uint32_t events)
{
	switch (state_of(connection)) {
	case CAIRN_CONNECTION_READING:
		receive(connection);
		break;
	case CAIRN_CONNECTION_SENDING:
		if (events & (EPOLLERR | EPOLLHUP))
			cairn_connection_drop(connection);
		else
			transmit(connection);
		break;
	case CAIRN_CONNECTION_STREAMING:
		listen_to_stream(connection, events);
		break;
	case CAIRN_CONNECTION_DRAINING:
		drain(connection);
		break;
	case CAIRN_CONNECTION_WORKING:
		notice_hang_up(connection, events);
		break;
	default:
		return;
	}
	look_ahead(connection);
}

void cairn_connection_answer(struct cairn_connection *connection)
{
	respond(connection);
	look_ahead(connection);
}

/* Extends the deadline of a client that reads what is sent. Only real progress counts: reading a byte now and then does not keep the
 * connection open. What the kernel has accepted is no measure of progress: it may hold megabytes, and asks for more only when a third is
 * gone. */
static bool has_progress(struct cairn_connection *connection, int64_t now)
{
	int held = 0;
	ioctl(connection->socket, SIOCOUTQ, &held);
	uint64_t waiting = held > 0 ? (uint64_t)held : 0, taken = connection->sent > waiting ? connection->sent - waiting : 0;
	if (taken < connection->taken + stretch)
		return false;
	connection->taken = taken;
	put_off_deadline(connection, now);
	return true;
}

void cairn_connection_expire(struct cairn_connection *connection, int64_t now_ms)
{
	enum cairn_connection_state state = state_of(connection);
	struct cairn_exchange *exchange = &connection->exchange;
	if (state == CAIRN_CONNECTION_WORKING && now_ms >= connection->deadline_ms && atomic_load(&exchange->half_closed) &&
	    !atomic_load(&exchange->gone))
		probe(connection);
	bool unsent = state == CAIRN_CONNECTION_STREAMING && connection->sent < connection->head_size + exchange->response.body.length;
	bool waits = state == CAIRN_CONNECTION_READING || state == CAIRN_CONNECTION_SENDING || state == CAIRN_CONNECTION_DRAINING || unsent;
	if (!waits || now_ms < connection->deadline_ms)
		return;
	if (state == CAIRN_CONNECTION_SENDING && has_progress(connection, now_ms))
		return;
	if (state == CAIRN_CONNECTION_READING && connection->input.length > 0)
		refuse(connection, 408);
	if (state_of(connection) != CAIRN_CONNECTION_EMPTY)
		cairn_connection_drop(connection);
}
