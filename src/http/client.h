/* client.h - one request to an agent, over its unix socket or by a URL (the command only; nothing in a host uses it).
 *
 * Unix sockets and plain http are spoken here; https is left to libcurl, loaded when it is asked for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_CLIENT_H
#define CAIRN_HTTP_CLIENT_H

#include "base/buffer.h"
#include "base/error.h"

struct cairn_fetch {
	const char *method; /* "GET", "POST" */
	const char *socket; /* the path of a unix socket, or NULL */
	const char *url;    /* http://host[:port][/path] when there is no socket; `target` is put behind it */
	const char *target; /* "/cairn/status"; may be "" behind a URL */
	const char *token;  /* sent as a bearer token; NULL for none */
	unsigned seconds;   /* without a byte before giving up */
	size_t maximum;     /* of the body */
};

/* Does it and fills BODY, a fresh buffer the caller frees. Returns the HTTP status, or 0 with the reason. */
int cairn_fetch(const struct cairn_fetch *fetch, struct cairn_buffer *body, struct cairn_error *error);

/* Connects to a unix socket; the descriptor, or -1 with errno. */
int cairn_fetch_connect(const char *path);

/* Splits a response into status and body. LENGTH bytes have arrived and no more will when CLOSED. Returns 0 for more, the
 * status when it is whole, or -1 for what is no response; *BODY borrows from DATA, which is decoded in place. */
int cairn_fetch_parse(char *data, size_t length, bool closed, struct cairn_bytes *body);

#endif
