/* request.h - parsing HTTP/1.1 requests (RFC 9112), in place and without allocating.
 *
 * Strict where leniency has been used to smuggle requests (two lengths, length with chunks, spaces before the colon,
 * folded lines, anything but CR and LF around chunks), lenient only about a bare LF as line end of the head. Everything a
 * request holds borrows from the bytes it was parsed from.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_REQUEST_H
#define CAIRN_HTTP_REQUEST_H

#include "base/bytes.h"

enum {
	CAIRN_REQUEST_HEAD_MAXIMUM = 16 << 10,
	CAIRN_REQUEST_TARGET_MAXIMUM = 8 << 10,
};

struct cairn_request {
	struct cairn_bytes method;
	struct cairn_bytes path;  /* as sent, not decoded; starts with a slash */
	struct cairn_bytes query; /* after the question mark, as sent */
	struct cairn_bytes host;
	struct cairn_bytes origin;
	struct cairn_bytes authorization;
	struct cairn_bytes cookie;
	struct cairn_bytes content_type;
	struct cairn_bytes fetch_site; /* Sec-Fetch-Site: where the request comes from, according to the browser */
	struct cairn_bytes user_agent;
	struct cairn_bytes if_none_match;
	struct cairn_bytes cairn; /* X-Cairn: a header that a page of another site cannot send */
	struct cairn_bytes body;       /* set by whoever reads the body */
	uint64_t content_length;
	bool has_length;
	bool chunked;
	bool keep_alive;
	bool expect_continue;
	bool takes_interim; /* HTTP/1.1: accepts 1xx before the answer */
};

/* Parses the head at the start of INPUT. Returns 0 if more bytes are needed, 200 if the head is complete (*USED is its length), or the
 * status to refuse it with. */
int cairn_request_parse(struct cairn_request *request, struct cairn_bytes input, size_t *used);

/* Splits TARGET (origin form, or absolute form as sent to proxies) into path and query. False if it is neither. */
bool cairn_request_target(struct cairn_request *request, struct cairn_bytes target);

bool cairn_request_is(const struct cairn_request *request, const char *method);

/* The token that it came with, "Authorization: Bearer TOKEN" with the scheme in any case (RFC 9110, 11.1); empty for none. */
struct cairn_bytes cairn_request_token(const struct cairn_request *request);

/* The value of the cookie NAME that it came with; empty for none. */
struct cairn_bytes cairn_request_cookie(const struct cairn_request *request, const char *name);

/* Whether SENT is TOKEN. The time this takes depends on the length of TOKEN only. */
bool cairn_token_equal(struct cairn_bytes sent, const char *token);

/* Decodes the value of NAME in TEXT (a query or a form body) into OUT, terminated and truncated to SIZE. False if it is missing. */
bool cairn_query_get(struct cairn_bytes text, const char *name, char *out, size_t size);

/* Decodes %XX in TEXT (and + as a space if PLUS) into OUT, terminated and truncated to fit. Returns its length. */
size_t cairn_query_decode(struct cairn_bytes text, bool plus, char *out, size_t size);

/* A chunked body that is decoded in place: data[0, written) is body, data[read, …) has not been read yet. All zeroes is the start. */
struct cairn_chunks {
	int state;
	uint64_t left;
	size_t read;
	size_t written;
};

/* Decodes what has arrived: DATA has LENGTH bytes. Returns 0 if more is needed, 200 at the end (the bytes from `read` on belong to the
 * next request), 400 if a chunk is malformed. */
int cairn_chunks_decode(struct cairn_chunks *chunks, char *data, size_t length);

#endif
