/* server.c - the epoll loop over the connections, and which clients get one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include "base/descriptor.h"
#include "base/pages.h"
#include "http/connection.h"
#include "http/peer.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { listeners_maximum = 4, events_maximum = 32, accept_pause_ms = 1000, tick_ms = 1000 };

struct cairn_server {
	struct cairn_server_options options;
	size_t mapped;
	int epoll, wake;
	struct {
		int socket;
		bool local, paused;
	} listeners[listeners_maximum];
	unsigned listeners_count;
	int64_t accept_again_ms, next_tick_ms;
	struct cairn_connection connections[];
};

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

struct cairn_server *cairn_server_open(const struct cairn_server_options *options, struct cairn_error *error)
{
	size_t size = sizeof(struct cairn_server) + options->connections * sizeof(struct cairn_connection);
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

static enum cairn_connection_state state_of(struct cairn_connection *connection)
{
	return atomic_load(&connection->state);
}

/* Whether CONNECTION is waiting for a request, or for the end of one, and has been for longer than OTHER. */
static bool is_idler(struct cairn_connection *connection, const struct cairn_connection *other)
{
	enum cairn_connection_state state = state_of(connection);
	return (state == CAIRN_CONNECTION_READING || state == CAIRN_CONNECTION_DRAINING) &&
	       (!other || connection->since_ms < other->since_ms);
}

/* A slot for a new connection: an empty one, else that of the connection that has waited longest for a request or its end. Remote
 * connections leave a quarter of the slots to local ones and only replace each other. */
static struct cairn_connection *find_slot(struct cairn_server *server, bool local)
{
	struct cairn_connection *empty = NULL, *far_idler = NULL, *local_idler = NULL;
	unsigned far = 0;
	for (unsigned i = 0; i < server->options.connections; i++) {
		struct cairn_connection *connection = &server->connections[i];
		bool is_local = connection->exchange.local;
		if (state_of(connection) == CAIRN_CONNECTION_EMPTY) {
			if (!empty)
				empty = connection;
			continue;
		}
		far += !is_local;
		if (!is_local && is_idler(connection, far_idler))
			far_idler = connection;
		else if (is_local && is_idler(connection, local_idler))
			local_idler = connection;
	}
	unsigned reserved = (server->options.connections + 3) / 4;
	if (!local && far + reserved >= server->options.connections)
		empty = NULL;
	if (empty)
		return empty;
	struct cairn_connection *idler = far_idler ? far_idler : local ? local_idler : NULL;
	if (idler)
		cairn_connection_drop(idler);
	return idler;
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
	server->accept_again_ms = cairn_connection_now_ms() + accept_pause_ms;
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
			pause_listeners(server); /* otherwise the waiting connection would wake the loop again and again */
		return;
	}
	if (server->listeners[index].local && !cairn_peer_is_allowed(socket)) {
		close(socket);
		return;
	}
	struct cairn_connection *connection = find_slot(server, server->listeners[index].local);
	if (!connection) {
		refuse_crowd(socket);
		return;
	}
	socket = cairn_descriptor_adopt(socket);
	if (socket < 0)
		return;
	connection->options = &server->options;
	connection->epoll = server->epoll;
	connection->wake = server->wake;
	connection->tag = (uint64_t)(connection - server->connections);
	cairn_connection_open(connection, socket, server->listeners[index].local);
}

static void collect_finished(struct cairn_server *server)
{
	uint64_t count;
	(void)!read(server->wake, &count, sizeof count);
	for (unsigned i = 0; i < server->options.connections; i++)
		if (state_of(&server->connections[i]) == CAIRN_CONNECTION_FINISHED)
			cairn_connection_answer(&server->connections[i]);
}

/* When a descriptor is closed, epoll silently forgets it; asked about it, epoll no longer knows it, or knows the number as another file. */
static bool has_descriptors(struct cairn_server *server)
{
	for (unsigned i = 0; i < server->listeners_count; i++)
		if (!watch(server, EPOLL_CTL_MOD, server->listeners[i].socket, server->listeners[i].paused ? 0 : EPOLLIN,
			   listener_tag(server, i)))
			return false;
	return watch(server, EPOLL_CTL_MOD, server->wake, EPOLLIN, wake_tag(server));
}

/* What is done about once a second. False if the descriptors are gone. */
static bool tick(struct cairn_server *server, int64_t now)
{
	int next = server->options.tick ? server->options.tick(server->options.context) : tick_ms;
	server->next_tick_ms = now + (next > 0 && next < tick_ms ? next : tick_ms);
	for (unsigned i = 0; i < server->options.connections; i++)
		cairn_connection_expire(&server->connections[i], now);
	return has_descriptors(server);
}

bool cairn_server_step(struct cairn_server *server, int wait_ms)
{
	struct epoll_event events[events_maximum];
	int count = epoll_wait(server->epoll, events, events_maximum, wait_ms);
	if (count < 0 && errno != EINTR)
		return false;
	for (int i = 0; i < count; i++) {
		uint64_t tag = events[i].data.u64;
		if (tag < server->options.connections)
			cairn_connection_event(&server->connections[tag], events[i].events);
		else if (tag < wake_tag(server))
			accept_one(server, (unsigned)(tag - server->options.connections));
		else
			collect_finished(server);
	}
	int64_t now = cairn_connection_now_ms();
	if (server->accept_again_ms && now >= server->accept_again_ms)
		resume_listeners(server);
	return now < server->next_tick_ms || tick(server, now);
}

unsigned cairn_server_push(struct cairn_server *server, struct cairn_bytes bytes)
{
	unsigned count = 0;
	for (unsigned i = 0; i < server->options.connections; i++) {
		struct cairn_connection *connection = &server->connections[i];
		if (state_of(connection) != CAIRN_CONNECTION_STREAMING)
			continue;
		count++;
		if (bytes.length > 0)
			cairn_connection_push(connection, bytes);
	}
	return count;
}

bool cairn_server_run(struct cairn_server *server)
{
	while (!atomic_load(server->options.stop)) {
		int64_t wait = server->next_tick_ms - cairn_connection_now_ms();
		if (!cairn_server_step(server, wait <= 0 ? 0 : wait < tick_ms ? (int)wait : tick_ms))
			return false;
	}
	return true;
}

void cairn_server_close(struct cairn_server *server)
{
	for (unsigned i = 0; i < server->options.connections; i++)
		if (state_of(&server->connections[i]) != CAIRN_CONNECTION_EMPTY)
			cairn_connection_drop(&server->connections[i]);
	for (unsigned i = 0; i < server->listeners_count; i++)
		cairn_descriptor_close(server->listeners[i].socket);
	cairn_descriptor_close(server->epoll);
	cairn_descriptor_close(server->wake);
	cairn_pages_unmap(server, server->mapped);
}
