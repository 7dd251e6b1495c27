/* client.h - one HTTP exchange with a server, over TCP, TLS or a unix socket.
 *
 * Done by libcurl, which is loaded at the first call: commands that fetch nothing start without it. Every exchange is bounded
 * in time, in size and in redirections, so that no server can hold a command or fill its memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_CLIENT_H
#define CAIRN_HTTP_CLIENT_H

#include "base/buffer.h"
#include "base/error.h"

/* What to ask. All zeroes but the URL is a GET with the limits below. Everything is borrowed for the call. */
struct cairn_http_call {
	const char *url;            /* http:// (which may be left out) or https://; with a socket its host only goes into the Host header */
	const char *socket;         /* path of a unix socket to speak through, or @ and an abstract name; NULL for the URL's own host */
	const char *method;         /* NULL is GET, or POST where there is a body */
	struct cairn_bytes body;
	const char *const *headers; /* lines such as "Authorization: Bearer …", ending with NULL; may be NULL */
	uint64_t limit_bytes;       /* of the answer; 0 is 1 GiB, or what CAIRN_HTTP_LIMIT says */
	unsigned connect_ms;        /* until there is a connection; 0 is 10 seconds */
	unsigned silence_ms;        /* the longest the server may send nothing; 0 is cairn_http_silence_ms() */
	unsigned total_ms;          /* for all of it; 0 is as long as something comes */
	/* Called now and then with how much has come; may be NULL. */
	void (*progress)(void *context, uint64_t received);
	void *context;
};

enum { CAIRN_HTTP_REDIRECTIONS = 5 };

struct cairn_http_answer {
	int status;
	char type[64];            /* the content type; empty when there was none */
	struct cairn_buffer body; /* unpacked where the transfer was packed */
};

/* Does the exchange. False, with a sentence, when there was no whole answer; an answer of any status is an answer. ANSWER is
 * freed by the caller in either case. Any thread may call it. */
bool cairn_http_ask(const struct cairn_http_call *call, struct cairn_http_answer *answer, struct cairn_error *error);

/* The same for callers who want a page and nothing else: statuses other than 200 to 299 are failures too, with what the server
 * wrote about it. */
bool cairn_http_fetch(const struct cairn_http_call *call, struct cairn_http_answer *answer, struct cairn_error *error);

/* What a server wrote about a failure, in one line: the "error" of its JSON, or its text, but no HTML. Cut where it does not fit into SIZE. */
void cairn_http_words(struct cairn_bytes body, char *out, size_t size);

/* How long a server may be silent: a minute, or the seconds that CAIRN_HTTP_TIMEOUT says. */
unsigned cairn_http_silence_ms(void);

void cairn_http_answer_free(struct cairn_http_answer *answer);

#endif
