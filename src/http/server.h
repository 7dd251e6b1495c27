/* server.h - an HTTP/1.1 server on one thread, for a process that is not ours.
 *
 * One epoll loop over a fixed table of connections. Each connection has one *exchange* at a time: a parsed request and the
 * response to it. The handler answers an exchange at once, or lets another thread fill in the response and call
 * cairn_exchange_finish; the loop never waits for either. All memory is pages of its own, descriptors are kept by
 * base/descriptor.h, and every limit below is a hard one: a client that is slow, silent or greedy loses its connection, and
 * when the table is full the connection that has waited longest without a complete request makes room. However many come from afar, local
 * ones find room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_SERVER_H
#define CAIRN_HTTP_SERVER_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/quota.h"
#include "http/request.h"

#include <stdatomic.h>

/* The types of most answers. */
#define CAIRN_TEXT "text/plain; charset=utf-8"
#define CAIRN_JSON "application/json"
#define CAIRN_HTML "text/html; charset=utf-8"
#define CAIRN_OCTETS "application/octet-stream"
#define CAIRN_SVG "image/svg+xml"

struct cairn_response {
	int status;
	const char *type; /* content type; a string that lives as long as the program */
	struct cairn_buffer body;
	/* Content kept elsewhere, sent in place of `body` when `release` is set; release(owner) is called once it is sent. */
	struct cairn_bytes content;
	void (*release)(void *owner);
	void *owner;
	/* A file sent in place of both, from its beginning and in pieces, so that it is never held in memory. Owned by the response; a
	 * descriptor from base/descriptor.h, or 0 for none (those numbers are high). If the file becomes shorter meanwhile, the
	 * connection is closed. */
	int file;
	uint64_t file_length;
	char headers[768]; /* further header lines, each with its line end */
	/* The answer has no end: the body is sent at once, and cairn_server_push sends more until the client leaves. */
	bool stream;
};

struct cairn_exchange {
	struct cairn_request request;
	struct cairn_response response;
	bool local;       /* came through a listener that was added as local */
	int socket;       /* on which it came */
	struct cairn_quota *quota; /* charged for its memory; NULL for no limit */
	atomic_bool gone; /* the client has left: work on the answer may stop */
	atomic_bool half_closed; /* it will send no more: it has left, or has closed its sending side and waits */
};

struct cairn_server_options {
	unsigned connections;    /* how many at a time; a quarter of them is reserved for local clients */
	unsigned seconds; /* for a request's head to arrive, for an idle connection, and for each stretch (16 KiB) of a body either way */
	size_t body_maximum;     /* of any request */
	size_t response_maximum; /* of `response.body` */
	struct cairn_quota *quota, *local_quota; /* charged for the bodies of all requests and responses; may be NULL */
	/* Decides about a request whose head has arrived, and lowers *BODY_MAXIMUM to what it may send. Returns false to refuse it, with
	 * the response filled in. Called on the server's thread, before `handle`. */
	bool (*admit)(void *context, struct cairn_exchange *exchange, size_t *body_maximum);
	/* Answers EXCHANGE: true if the response is complete, false if another thread will finish it. Called on the server's thread. */
	bool (*handle)(void *context, struct cairn_exchange *exchange);
	/* The client of an exchange that another thread has to finish has left; `gone` is set. The exchange must still be finished, the
	 * sooner the better. Called on the server's thread; may be NULL. */
	void (*abandon)(void *context, struct cairn_exchange *exchange);
	/* Called on the server's thread about once a second, or sooner: it returns the number of milliseconds until the next call. */
	int (*tick)(void *context);
	void *context;
	const atomic_bool *stop; /* when it turns true, run returns within a second */
};

struct cairn_server;

/* A server without listeners; NULL if the process has no descriptors or memory left. */
struct cairn_server *cairn_server_open(const struct cairn_server_options *options, struct cairn_error *error);

/* Accepts connections from LISTENER, a listening socket that the server owns from now on. At most 4. */
bool cairn_server_listen(struct cairn_server *server, int listener, bool local, struct cairn_error *error);

/* Serves until `stop` (true), or until it finds its descriptors closed, as by a daemon that closes all it can find (false: close the
 * server and open another). */
bool cairn_server_run(struct cairn_server *server);

/* One turn of that loop: waits up to WAIT_MS for events and handles them. False if the descriptors are gone. */
bool cairn_server_step(struct cairn_server *server, int wait_ms);

/* Closes everything. No exchange may still be with another thread. */
void cairn_server_close(struct cairn_server *server);

/* Sends BYTES to all clients whose response is a stream, and returns their number. A client that has CAIRN_STREAM_BACKLOG unread bytes is
 * disconnected. On the server's thread only. */
enum { CAIRN_STREAM_BACKLOG = 64 << 10 };
unsigned cairn_server_push(struct cairn_server *server, struct cairn_bytes bytes);

/* Completes the response to an exchange that `handle` left to another thread; the exchange belongs to the server again. */
void cairn_exchange_finish(struct cairn_exchange *exchange);

/* Sets status and type and empties the body; handlers begin with this. */
void cairn_response_start(struct cairn_response *response, int status, const char *type);

/* The same with the whole body as formatted text. */
void cairn_response_text(struct cairn_response *response, int status, const char *type, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* A 503: "WHY; try again", with Retry-After. Discards other headers and all content. */
void cairn_response_busy(struct cairn_response *response, const char *why);

/* Adds a header line. VALUE must not contain line ends; a line that does not fit is omitted. */
void cairn_response_header(struct cairn_response *response, const char *name, const char *value);

/* The bytes to be sent, unless they are in a file. */
struct cairn_bytes cairn_response_content(const struct cairn_response *response);

/* The number of bytes to be sent. */
uint64_t cairn_response_length(const struct cairn_response *response);

/* Reads the file of RESPONSE into its body, for callers that have no use for a descriptor. On failure returns false, and the response
 * says why. */
bool cairn_response_load(struct cairn_response *response);

/* Writes the head of the response into OUT: status line, headers, empty line. Returns its length. A response that did not fit becomes a
 * 503. */
size_t cairn_response_head(struct cairn_response *response, bool closing, char *out, size_t size);

/* The words for STATUS. */
const char *cairn_response_reason(int status);

/* Frees body and content and closes the file. */
void cairn_response_free(struct cairn_response *response);

#endif
