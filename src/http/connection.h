/* connection.h - one connection of the server: a client, its request on the way in and the answer on the way out.
 *
 * A connection is always in one of seven states: empty slot, reading a request, working (the handler has it), finished by the handler,
 * sending, streaming (an answer without an end), draining. A connection drains when its request was refused before all of it had arrived:
 * if it were closed at once, the unread bytes would make the kernel reset it, and a client that reads only after sending would never see
 * the reason. Only the step from working to finished is taken by another thread; it is an atomic store followed by a wake-up. Everything
 * else belongs to the loop (server.c).
 *
 * What a request borrows never moves: its head stays where it was received, in a buffer that has its full size from the beginning, and
 * the body, whose buffer grows, becomes part of the request only when it is complete.
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
	uint32_t events; /* the events it waits for */
	_Atomic enum cairn_connection_state state;
	int socket;
	bool head_done;
	bool whole;   /* the request has arrived */
	bool closing; /* after this response */
	bool bodiless; /* the response to a HEAD */
	size_t head_length, body_maximum;
	struct cairn_buffer input; /* the head and whatever arrived with it; never moves */
	struct cairn_buffer body;  /* of the request, if it did not arrive with the head */
	struct cairn_chunks chunks;
	char head[1536]; /* of the response */
	size_t head_size;
	uint64_t sent;
	uint64_t taken; /* bytes of the request received, or of the response taken by the client, when the deadline was last extended */
	int64_t deadline_ms;
	int64_t since_ms;
};

/* Monotonic clock. */
int64_t cairn_connection_now_ms(void);

/* Opens CONNECTION, an empty slot with `options`, `epoll`, `wake` and `tag` set, on SOCKET, which it owns from now on. If there is no
 * memory, closes the socket and returns false. */
bool cairn_connection_open(struct cairn_connection *connection, int socket, bool local);

/* Closes it; the slot is empty afterwards. */
void cairn_connection_drop(struct cairn_connection *connection);

/* Handles the EVENTS of its socket. */
void cairn_connection_event(struct cairn_connection *connection, uint32_t events);

/* Sends the answer that another thread has completed. */
void cairn_connection_answer(struct cairn_connection *connection);

/* Appends BYTES to what is sent to a streaming client. */
void cairn_connection_push(struct cairn_connection *connection, struct cairn_bytes bytes);

/* Closes it if its deadline has passed at NOW. */
void cairn_connection_expire(struct cairn_connection *connection, int64_t now_ms);

#endif
