/* server.c - the epoll loop.
 *
 * A connection is always in one of six states: empty slot, reading a request, the handler's (working), finished by the
 * handler, sending, draining. The last is that of a client whose request was refused before all of it had arrived: closed at once,
 * its unread bytes would make the kernel reset the connection, and a client that sends first and reads then would never see why.
 * Only the step from working to finished is taken by another thread; it is an atomic store followed by a
 * wake-up, and everything else belongs to the loop.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include "base/date.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "http/peer.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { listeners_maximum = 4, events_maximum = 32, accept_pause_ms = 1000, tick_ms = 1000, drained_at_once = 1 << 20, stretch = 16 << 10 };

enum connection_state { EMPTY, READING, WORKING, FINISHED, SENDING, DRAINING };

struct connection {
	struct cairn_exchange exchange; /* first: a finished exchange is its connection */
	struct cairn_server *server;
	_Atomic enum connection_state state;
	int socket;
	bool head_done;
	bool whole;   /* the request has arrived */
	bool closing; /* after this response */
	size_t head_length, body_maximum;
	struct cairn_buffer input;
	struct cairn_chunks chunks;
	char head[1024]; /* of the response */
	size_t head_size, sent;
	size_t taken; /* of the request by us, or of the response by the client, when the deadline was last put off */
	int64_t deadline_ms;
	int64_t since_ms;
};

struct cairn_server {
	struct cairn_server_options options;
	size_t mapped;
	int epoll, wake;
	struct {
		int socket;
		bool local, paused;
	} listeners[listeners_maximum];
	unsigned listeners_count;
	int64_t accept_again_ms, tick_ms;
	struct connection connections[];
};

static int64_t now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Event tags: connections by index from 0, then listeners, then the wake-up. */
static uint64_t listener_tag(const struct cairn_server *server, unsigned index)
{
	return server->options.connections + index;
}

static uint64_t wake_tag(const struct cairn_server *server)
{
	return server->options.connections + listeners_maximum;
}

static bool watch(struct cairn_server *server, int operation, int descriptor, uint32_t events, uint64_t tag)
{
	struct epoll_event event = {.events = events, .data.u64 = tag};
	return epoll_ctl(server->epoll, operation, descriptor, &event) == 0;
}

static void watch_connection(struct connection *connection, uint32_t events)
{
	struct cairn_server *server = connection->server;
	watch(server, EPOLL_CTL_MOD, connection->socket, events, (uint64_t)(connection - server->connections));
}

struct cairn_server *cairn_server_open(const struct cairn_server_options *options, struct cairn_error *error)
{
	size_t size = sizeof(struct cairn_server) + options->connections * sizeof(struct connection);
	struct cairn_server *server = cairn_pages_map(size);
	if (!server) {
		cairn_fail_errno(error, "no memory for the server");
		return NULL;
	}
	server->options = *options;
	server->mapped = size;
	server->epoll = cairn_descriptor_adopt(epoll_create1(EPOLL_CLOEXEC));
	server->wake = cairn_descriptor_adopt(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (server->epoll < 0 || server->wake < 0 || !watch(server, EPOLL_CTL_ADD, server->wake, EPOLLIN, wake_tag(server))) {
		cairn_fail_errno(error, "no descriptor for the server");
		cairn_server_close(server);
		return NULL;
	}
	return server;
}

bool cairn_server_listen(struct cairn_server *server, int listener, bool local, struct cairn_error *error)
{
	unsigned index = server->listeners_count;
	if (index == listeners_maximum)
		return cairn_fail(error, "the server listens on %d sockets already", listeners_maximum);
	if (!watch(server, EPOLL_CTL_ADD, listener, EPOLLIN, listener_tag(server, index)))
		return cairn_fail_errno(error, "cannot wait for connections");
	server->listeners[index].socket = listener;
	server->listeners[index].local = local;
	server->listeners_count++;
	return true;
}

static void drop(struct connection *connection)
{
	cairn_descriptor_close(connection->socket);
	cairn_response_free(&connection->exchange.response);
	cairn_buffer_free(&connection->input);
	atomic_store(&connection->state, EMPTY);
}

/* Ready for the next request, which may have arrived in part already (LEFT bytes at FROM). */
static void begin_request(struct connection *connection, size_t from)
{
	struct cairn_response *response = &connection->exchange.response;
	if (response->release)
		cairn_response_free(response);
	if (response->body.capacity > 64 << 10)
		cairn_buffer_free(&response->body);
	response->headers[0] = 0;
	size_t left = connection->input.length - from;
	if (left > 0)
		memmove(connection->input.data, connection->input.data + from, left);
	connection->input.length = left;
	if (left == 0 && connection->input.capacity > 64 << 10)
		cairn_buffer_free(&connection->input);
	connection->head_done = connection->whole = false;
	connection->chunks = (struct cairn_chunks){0};
	connection->taken = 0;
	connection->since_ms = now_ms();
	connection->deadline_ms = connection->since_ms + 1000 * (int64_t)connection->server->options.seconds;
	atomic_store(&connection->state, READING);
}

/* A slot for a new connection: an empty one, else that of whoever has kept us waiting longest for a request or its end. */
static struct connection *find_slot(struct cairn_server *server)
{
	struct connection *oldest = NULL;
	for (unsigned i = 0; i < server->options.connections; i++) {
		struct connection *connection = &server->connections[i];
		enum connection_state state = atomic_load(&connection->state);
		if (state == EMPTY)
			return connection;
		if ((state == READING || state == DRAINING) && (!oldest || connection->since_ms < oldest->since_ms))
			oldest = connection;
	}
	if (oldest)
		drop(oldest);
	return oldest;
}

static void refuse_crowd(int socket)
{
	static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n"
				     "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n\r\ntoo many connections\n";
	(void)!send(socket, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(socket);
}

static void pause_listeners(struct cairn_server *server)
{
	for (unsigned i = 0; i < server->listeners_count; i++) {
		watch(server, EPOLL_CTL_MOD, server->listeners[i].socket, 0, listener_tag(server, i));
		server->listeners[i].paused = true;
	}
	server->accept_again_ms = now_ms() + accept_pause_ms;
}

static void resume_listeners(struct cairn_server *server)
{
	for (unsigned i = 0; i < server->listeners_count; i++) {
		if (server->listeners[i].paused)
			watch(server, EPOLL_CTL_MOD, server->listeners[i].socket, EPOLLIN, listener_tag(server, i));
		server->listeners[i].paused = false;
	}
	server->accept_again_ms = 0;
}

static void accept_one(struct cairn_server *server, unsigned index)
{
	int socket = accept4(server->listeners[index].socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (socket < 0) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			pause_listeners(server); /* else the waiting connection would wake us without end */
		return;
	}
	if (server->listeners[index].local && !cairn_peer_is_allowed(socket)) {
		close(socket);
		return;
	}
	struct connection *connection = find_slot(server);
	if (!connection) {
		refuse_crowd(socket);
		return;
	}
	socket = cairn_descriptor_adopt(socket);
	if (socket < 0)
		return;
	*connection = (struct connection){
		.server = server,
		.socket = socket,
		.input = cairn_pages(CAIRN_REQUEST_HEAD_MAXIMUM + server->options.body_maximum + 4096),
		.exchange.response.body = cairn_pages(server->options.response_maximum),
		.exchange.local = server->listeners[index].local,
	};
	begin_request(connection, 0);
	if (!watch(server, EPOLL_CTL_ADD, socket, EPOLLIN | EPOLLRDHUP, (uint64_t)(connection - server->connections)))
		drop(connection);
}

static const char *reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
		{200, "OK"}, {204, "No Content"}, {400, "Bad Request"}, {401, "Unauthorized"}, {403, "Forbidden"},
		{404, "Not Found"}, {405, "Method Not Allowed"}, {408, "Request Timeout"}, {409, "Conflict"},
		{413, "Content Too Large"}, {414, "URI Too Long"}, {415, "Unsupported Media Type"}, {417, "Expectation Failed"},
		{422, "Unprocessable Entity"}, {431, "Request Header Fields Too Large"}, {500, "Internal Server Error"},
		{501, "Not Implemented"}, {503, "Service Unavailable"}, {504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"},
	};
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

static void write_head(struct connection *connection)
{
	struct cairn_response *response = &connection->exchange.response;
	if (response->body.failed && !response->release)
		cairn_response_text(response, 500, "text/plain; charset=utf-8", "the answer does not fit in memory\n");
	struct tm date = cairn_date(time(NULL));
	static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	int length = snprintf(connection->head, sizeof connection->head,
			      "HTTP/1.1 %d %s\r\nDate: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			      "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n%s%s\r\n",
			      response->status, reason_of(response->status), days + 3 * date.tm_wday, date.tm_mday,
			      months + 3 * date.tm_mon, date.tm_year + 1900, date.tm_hour, date.tm_min, date.tm_sec,
			      response->type ? response->type : "text/plain; charset=utf-8", cairn_response_content(response).length,
			      response->headers, connection->closing ? "Connection: close\r\n" : "");
	connection->head_size = length > 0 && (size_t)length < sizeof connection->head ? (size_t)length : 0;
}

/* Puts what has come into ROOM. 0 when there is nothing more now, or the client has gone and its connection with it. */
static size_t take(struct connection *connection, char *room, size_t size)
{
	for (;;) {
		ssize_t part = recv(connection->socket, room, size, 0);
		if (part > 0)
			return (size_t)part;
		if (part < 0 && errno == EINTR)
			continue;
		if (part == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			drop(connection);
		return 0;
	}
}

/* Takes what a refused client still sends, without looking at it, until it ends or its time is over. */
static void drain(struct connection *connection)
{
	char unread[16 << 10];
	size_t part = 1;
	for (size_t taken = 0; part > 0 && taken < drained_at_once; taken += part)
		part = take(connection, unread, sizeof unread);
}

/* Everything is sent: the next request, or the end. */
static void complete(struct connection *connection)
{
	if (connection->closing) {
		shutdown(connection->socket, SHUT_WR);
		if (connection->whole) {
			drop(connection);
			return;
		}
		cairn_response_free(&connection->exchange.response);
		cairn_buffer_free(&connection->input);
		connection->deadline_ms = now_ms() + 1000 * (int64_t)connection->server->options.seconds;
		atomic_store(&connection->state, DRAINING);
		watch_connection(connection, EPOLLIN | EPOLLRDHUP);
		return;
	}
	size_t from = connection->head_length + (connection->exchange.request.chunked
							 ? connection->chunks.read
							 : connection->exchange.request.body.length);
	begin_request(connection, from);
	watch_connection(connection, EPOLLIN | EPOLLRDHUP);
}

static void transmit(struct connection *connection)
{
	struct cairn_bytes body = cairn_response_content(&connection->exchange.response);
	if (cairn_request_is(&connection->exchange.request, "HEAD"))
		body.length = 0;
	for (;;) {
		bool in_head = connection->sent < connection->head_size;
		const char *data = in_head ? connection->head + connection->sent : body.data + (connection->sent - connection->head_size);
		size_t left = in_head ? connection->head_size - connection->sent
				      : body.length - (connection->sent - connection->head_size);
		if (left == 0)
			break;
		ssize_t part = send(connection->socket, data, left, MSG_NOSIGNAL | (in_head && body.length ? MSG_MORE : 0));
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			watch_connection(connection, EPOLLOUT);
			return;
		}
		if (part < 0) {
			drop(connection);
			return;
		}
		connection->sent += (size_t)part;
	}
	complete(connection);
}

static void respond(struct connection *connection)
{
	if (atomic_load(&connection->exchange.gone)) {
		drop(connection);
		return;
	}
	if (!connection->exchange.request.keep_alive)
		connection->closing = true;
	write_head(connection);
	connection->sent = connection->taken = 0;
	connection->deadline_ms = now_ms() + 1000 * (int64_t)connection->server->options.seconds;
	atomic_store(&connection->state, SENDING);
	transmit(connection);
}

static void refuse(struct connection *connection, int status)
{
	connection->closing = true;
	cairn_response_text(&connection->exchange.response, status, "text/plain; charset=utf-8", "%s\n", reason_of(status));
	respond(connection);
}

void cairn_exchange_finish(struct cairn_exchange *exchange)
{
	struct connection *connection = (struct connection *)(void *)exchange;
	struct cairn_server *server = connection->server;
	atomic_store(&connection->state, FINISHED);
	if (cairn_descriptor_is_ours(server->wake)) /* the host may have closed it, and have opened another of that number */
		(void)!write(server->wake, &(uint64_t){1}, sizeof(uint64_t));
}

static void dispatch(struct connection *connection)
{
	struct cairn_server *server = connection->server;
	connection->whole = true;
	atomic_store(&connection->state, WORKING);
	atomic_store(&connection->exchange.half_closed, false);
	watch_connection(connection, EPOLLRDHUP);
	if (server->options.handle(server->options.context, &connection->exchange))
		respond(connection);
}

/* The head is there: may the request come in, and with how long a body? */
static bool admit(struct connection *connection)
{
	struct cairn_server_options *options = &connection->server->options;
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

/* Looks at what has arrived; true when the request is whole. */
static bool examine(struct connection *connection)
{
	struct cairn_request *request = &connection->exchange.request;
	struct cairn_bytes input = cairn_buffer_bytes(&connection->input);
	if (!connection->head_done) {
		int status = cairn_request_parse(request, input, &connection->head_length);
		if (status != 200) {
			if (status)
				refuse(connection, status);
			return false;
		}
		if (!admit(connection))
			return false;
		connection->head_done = true;
		bool waits = request->expect_continue && (request->chunked || request->content_length > 0);
		if (waits && input.length == connection->head_length)
			(void)!send(connection->socket, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
	} else {
		/* The buffer may have moved: what the request borrows must move with it. */
		size_t length;
		cairn_request_parse(request, (struct cairn_bytes){input.data, connection->head_length}, &length);
	}
	char *body = connection->input.data + connection->head_length;
	size_t arrived = input.length - connection->head_length;
	if (!request->chunked) {
		request->body = (struct cairn_bytes){body, (size_t)request->content_length};
		return arrived >= request->content_length;
	}
	int status = cairn_chunks_decode(&connection->chunks, body, arrived);
	if (connection->chunks.written > connection->body_maximum)
		status = 413;
	if (status == 0) { /* drop the framing, so that it cannot fill the buffer */
		connection->chunks.read = connection->chunks.written;
		connection->input.length = connection->head_length + connection->chunks.written;
	} else if (status != 200) {
		refuse(connection, status);
	}
	request->body = (struct cairn_bytes){body, connection->chunks.written};
	return status == 200;
}

static size_t input_total(const struct cairn_server *server)
{
	size_t total = 0;
	for (unsigned i = 0; i < server->options.connections; i++)
		if (atomic_load(&server->connections[i].state) != EMPTY)
			total += server->connections[i].input.capacity;
	return total;
}

static void receive(struct connection *connection)
{
	for (;;) {
		char *room = cairn_buffer_room(&connection->input, 4096);
		if (!room || input_total(connection->server) > connection->server->options.input_maximum) {
			refuse(connection, room ? 503 : 413);
			return;
		}
		size_t part = take(connection, room, connection->input.capacity - connection->input.length);
		if (part == 0)
			return;
		connection->input.length += part;
		if (examine(connection)) {
			dispatch(connection);
			return;
		}
		if (atomic_load(&connection->state) != READING)
			return;
		/* A body that was admitted may come slowly, as long as it comes. */
		if (connection->head_done && connection->input.length >= connection->taken + stretch) {
			connection->taken = connection->input.length;
			connection->deadline_ms = now_ms() + 1000 * (int64_t)connection->server->options.seconds;
		}
	}
}

/* A request that arrived behind the one just answered is not announced by epoll again. */
static void look_ahead(struct connection *connection)
{
	while (atomic_load(&connection->state) == READING && connection->input.length > 0 && !connection->head_done) {
		if (!examine(connection))
			return;
		dispatch(connection);
	}
}

static void connection_event(struct connection *connection, uint32_t events)
{
	switch (atomic_load(&connection->state)) {
	case READING:
		receive(connection);
		break;
	case SENDING:
		if (events & (EPOLLERR | EPOLLHUP))
			drop(connection);
		else
			transmit(connection);
		break;
	case DRAINING:
		drain(connection);
		break;
	case WORKING:
		/* Half-closed is how many clients send; only a full hang-up means that nobody waits any more. */
		if (events & (EPOLLERR | EPOLLHUP)) {
			atomic_store(&connection->exchange.gone, true);
			epoll_ctl(connection->server->epoll, EPOLL_CTL_DEL, connection->socket, NULL);
		} else {
			atomic_store(&connection->exchange.half_closed, true);
			watch_connection(connection, 0);
		}
		break;
	default:
		return;
	}
	look_ahead(connection);
}

static void collect_finished(struct cairn_server *server)
{
	uint64_t count;
	(void)!read(server->wake, &count, sizeof count);
	for (unsigned i = 0; i < server->options.connections; i++) {
		struct connection *connection = &server->connections[i];
		if (atomic_load(&connection->state) == FINISHED) {
			respond(connection);
			look_ahead(connection);
		}
	}
}

/* Puts the deadline off for a client that takes what is sent. Only real progress buys time: one that takes a byte now and then does not
 * keep its connection. What the kernel has accepted says nothing of that: it may hold megabytes, and asks for more only when a third
 * is gone. */
static bool has_progress(struct connection *connection, int64_t now)
{
	int held = 0;
	ioctl(connection->socket, SIOCOUTQ, &held);
	size_t waiting = held > 0 ? (size_t)held : 0, taken = connection->sent > waiting ? connection->sent - waiting : 0;
	if (taken < connection->taken + stretch)
		return false;
	connection->taken = taken;
	connection->deadline_ms = now + 1000 * (int64_t)connection->server->options.seconds;
	return true;
}

static void expire(struct cairn_server *server, int64_t now)
{
	for (unsigned i = 0; i < server->options.connections; i++) {
		struct connection *connection = &server->connections[i];
		enum connection_state state = atomic_load(&connection->state);
		if ((state != READING && state != SENDING && state != DRAINING) || now < connection->deadline_ms)
			continue;
		if (state == SENDING && has_progress(connection, now))
			continue;
		if (state == READING && connection->input.length > 0)
			refuse(connection, 408);
		if (atomic_load(&connection->state) != EMPTY)
			drop(connection);
	}
}

/* The kernel forgets a closed descriptor without a word; asked, it does not know it any more, or knows the number as another file. */
static bool has_descriptors(struct cairn_server *server)
{
	for (unsigned i = 0; i < server->listeners_count; i++)
		if (!watch(server, EPOLL_CTL_MOD, server->listeners[i].socket, server->listeners[i].paused ? 0 : EPOLLIN, listener_tag(server, i)))
			return false;
	return watch(server, EPOLL_CTL_MOD, server->wake, EPOLLIN, wake_tag(server));
}

bool cairn_server_run(struct cairn_server *server)
{
	struct epoll_event events[events_maximum];
	while (!atomic_load(server->options.stop)) {
		int64_t wait = server->tick_ms - now_ms();
		int count = epoll_wait(server->epoll, events, events_maximum, wait <= 0 ? 0 : wait < tick_ms ? (int)wait : tick_ms);
		if (count < 0 && errno != EINTR)
			return false;
		for (int i = 0; i < count; i++) {
			uint64_t tag = events[i].data.u64;
			if (tag < server->options.connections)
				connection_event(&server->connections[tag], events[i].events);
			else if (tag < wake_tag(server))
				accept_one(server, (unsigned)(tag - server->options.connections));
			else
				collect_finished(server);
		}
		int64_t now = now_ms();
		if (server->accept_again_ms && now >= server->accept_again_ms)
			resume_listeners(server);
		if (now >= server->tick_ms) {
			int next = server->options.tick ? server->options.tick(server->options.context) : tick_ms;
			server->tick_ms = now + (next > 0 && next < tick_ms ? next : tick_ms);
			expire(server, now);
			if (!has_descriptors(server))
				return false;
		}
	}
	return true;
}

void cairn_server_close(struct cairn_server *server)
{
	for (unsigned i = 0; i < server->options.connections; i++)
		if (atomic_load(&server->connections[i].state) != EMPTY)
			drop(&server->connections[i]);
	for (unsigned i = 0; i < server->listeners_count; i++)
		cairn_descriptor_close(server->listeners[i].socket);
	cairn_descriptor_close(server->epoll);
	cairn_descriptor_close(server->wake);
	cairn_pages_unmap(server, server->mapped);
}
