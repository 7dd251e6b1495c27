/* access.h - who may ask: the rules for requests over TCP, the same for the three servers.
 *
 * A unix socket is protected by the permissions of its folder and by its peer (peer.h): whoever reaches it may ask. Everybody on the
 * machine can connect to a loopback address, and any page in a browser can make it send requests. So a request over TCP must name a host
 * that a page cannot have made up (*Host*), must not come from a page of another site (*Origin*, *Sec-Fetch-Site*), and must have the
 * token if the server has one. If it changes something, its sender must show that it was meant. The table in access.c says what
 * each server allows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_ACCESS_H
#define CAIRN_HTTP_ACCESS_H

#include "http/server.h"

enum cairn_access_server { CAIRN_ACCESS_AGENT, CAIRN_ACCESS_SERVE, CAIRN_ACCESS_COLLECTOR };

struct cairn_access {
	enum cairn_access_server server;
	const char *hosts; /* names besides our own that Host may have, separated by spaces; NULL for any */
	bool asks_token;
	/* Whether the request has the token. Called last, only if the server asks for one. */
	bool (*has_token)(void *context, const struct cairn_request *request);
	void *context;
	bool is_open; /* what it asks for has no secrets, so that pages of other sites may link to it */
	bool visits;  /* a browser follows an address that has the token, from wherever it got it */
};

struct cairn_refusal {
	int status;
	const char *why;
};

/* Returns why REQUEST, which came over TCP, is refused; NULL if it may be answered. */
const struct cairn_refusal *cairn_access_check(const struct cairn_access *access, const struct cairn_request *request);

/* The same for a request that changes something, once it may be answered. */
const struct cairn_refusal *cairn_access_check_change(enum cairn_access_server server, const struct cairn_request *request);

/* Fills in the refusal. */
void cairn_access_refuse(const struct cairn_refusal *refusal, struct cairn_response *response);

#endif
