/* connection.h - one connection of the server: a client, its request on the way in and the answer on the way out.
 *
 * A connection is always in one of seven states: empty slot, reading a request, the handler's (working), finished by the
 * handler, sending, streaming (an answer without an end, of which more may come), draining. The last is that of a client whose request was refused before all of it had arrived: closed at once,
 * its unread bytes would make the kernel reset the connection, and a client that sends first and reads then would never see why.
 * Only the step from working to finished is taken by another thread; it is an atomic store followed by a
 * wake-up, and everything else belongs to the loop (server.c).
 *
 * What a request borrows never moves: its head stays where it was received, in a buffer that has its full size from the beginning, and the
 * body, whose buffer grows, becomes part of the request only when all of it is there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_CONNECTION_H
#define CAIRN_HTTP_CONNECTION_H

#include "http/server.h"

enum cairn_connection_state {
	CAIRN_CONNECTION_EMPTY,
	CAIRN_CONNECTION_READING,
	CAIRN_CONNECTION_WORKING,
	CAIRN_CONNECTION_FINISHED,
	CAIRN_CONNECTION_SENDING,
	CAIRN_CONNECTION_STREAMING,
	CAIRN_CONNECTION_DRAINING,
};

struct cairn_connection {
	struct cairn_exchange exchange; /* first: a finished exchange is its connection */
	const struct cairn_server_options *options; /* borrowed from the server, as are the next two */
	int epoll, wake;
	uint64_t tag;    /* of its events */
	uint32_t events; /* those it waits for */
	_Atomic enum cairn_connection_state state;
	int socket;
	bool head_done;
	bool whole;   /* the request has arrived */
	bool closing; /* after this response */
	bool bodiless; /* the response to a HEAD */
	size_t head_length, body_maximum;
	struct cairn_buffer input; /* the head, and what came with it; never moves */
	struct cairn_buffer body;  /* of the request, where it did not come with the head */
	struct cairn_chunks chunks;
	char head[1536]; /* of the response */
	size_t head_size;
	uint64_t sent;
	uint64_t taken; /* of the request by us, or of the response by the client, when the deadline was last put off */
	int64_t deadline_ms;
	int64_t since_ms;
};

/* On the clock that never goes back. */
int64_t cairn_connection_now_ms(void);

/* Makes CONNECTION, an empty slot with `options`, `epoll`, `wake` and `tag` set, that of SOCKET, which it owns from now on. False, with the socket
 * closed, where there is no memory. */
bool cairn_connection_open(struct cairn_connection *connection, int socket, bool local);

/* Closes it: the slot is empty. */
void cairn_connection_drop(struct cairn_connection *connection);

/* Does what EVENTS of its socket ask for. */
void cairn_connection_event(struct cairn_connection *connection, uint32_t events);

/* Sends the answer that another thread has finished. */
void cairn_connection_answer(struct cairn_connection *connection);

/* Sends BYTES behind what a streaming client was sent before. */
void cairn_connection_push(struct cairn_connection *connection, struct cairn_bytes bytes);

/* Ends it if its time is over at NOW. */
void cairn_connection_expire(struct cairn_connection *connection, int64_t now_ms);

#endif
