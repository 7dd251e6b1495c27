/* client.h - one HTTP exchange with a server, over TCP, TLS or a unix socket.
 *
 * libcurl does the work. It is loaded at the first call, so commands that fetch nothing start without it. Time, size and the number of
 * redirects are limited, so no server can block a command or fill its memory. A server gets the user and password that were set aside
 * for it (base/url.h); messages do not. A server that another one redirects to gets neither these nor the headers of the call, which may
 * have a token. Redirects through a unix socket are not followed, and a loopback address is never asked for through a proxy.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_CLIENT_H
#define CAIRN_HTTP_CLIENT_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdatomic.h>

/* The request. With everything but the URL zero it is a GET with the limits below. Everything is borrowed for the call. */
struct cairn_http_call {
	const char *url;            /* http:// (may be omitted) or https://; with a socket, the host is used for the Host header only */
	const char *socket;         /* path of a unix socket to use, or @ and an abstract name; NULL connects to the URL's host */
	const char *method;         /* NULL is GET, or POST if there is a body */
	struct cairn_bytes body;
	const char *const *headers; /* lines such as "Authorization: Bearer …", ending with NULL; may be NULL */
	/* With a socket: asked about whoever answers there, before anything of the answer is read. False, with a message, ends the
	 * exchange. May be NULL. */
	bool (*approve)(void *context, int descriptor, struct cairn_error *error);
	int file;                   /* receives the body of a 200, from its start on, in place of `body`; 0 for none */
	uint64_t limit_bytes;       /* of the answer; 0 is 1 GiB, or the value of CAIRN_HTTP_LIMIT */
	unsigned connect_ms;        /* to connect; 0 is 10 seconds */
	unsigned silence_ms;        /* how long less than 1 KiB a second may arrive; 0 is cairn_http_silence_ms() */
	unsigned total_ms;          /* for the whole exchange; 0 is no limit while data arrives faster than that */
	/* Called from time to time with the number of bytes received; may be NULL. */
	void (*progress)(void *context, uint64_t received);
	void *context; /* of both functions */
	const atomic_bool *stop; /* the exchange ends, without an answer, within about a second of its turning true; may be NULL */
};

enum { CAIRN_HTTP_REDIRECTIONS = 5 };

struct cairn_http_answer {
	int status;
	char type[64];            /* the content type; empty if there is none */
	struct cairn_buffer body; /* decompressed if it was sent compressed */
	uint64_t length;          /* of the body, also where it is in a file */
};

/* Performs the exchange. Returns false with a message if there is no complete answer; an answer of any status is an answer. The caller
 * frees ANSWER in either case. Any thread may call it. */
bool cairn_http_ask(const struct cairn_http_call *call, struct cairn_http_answer *answer, struct cairn_error *error);

/* The same for callers that want a page and nothing else: a status other than 200 to 299 is a failure too, and the message contains what
 * the server wrote. */
bool cairn_http_fetch(const struct cairn_http_call *call, struct cairn_http_answer *answer, struct cairn_error *error);

/* What a server wrote about a failure, on one line: the "error" of its JSON, or its text, but no HTML. Truncated to SIZE. */
void cairn_http_words(struct cairn_bytes body, char *out, size_t size);

/* How long a server may be silent: a minute, or CAIRN_HTTP_TIMEOUT seconds. */
unsigned cairn_http_silence_ms(void);

void cairn_http_answer_free(struct cairn_http_answer *answer);

#endif
