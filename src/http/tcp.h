/* tcp.h - addresses to listen on, and listening there: the same for the agent, for `cairn serve` and for the collector.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HTTP_TCP_H
#define CAIRN_HTTP_TCP_H

#include "base/bytes.h"

#include <netinet/in.h>

enum { CAIRN_TCP_SHOWN = 160 };

struct cairn_tcp {
	char host[64]; /* a numeric address */
	unsigned port;
	union cairn_tcp_address {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
	socklen_t size;
	bool loopback;
};

/* Splits "host:port", "[v6]:port", ":port" or "port". An empty host is loopback. Port 0 is wrong unless ANY_PORT. */
bool cairn_tcp_parse(const char *text, char *host, size_t size, bool any_port, unsigned *port);

/* Fills in TCP from such a TEXT. Returns what is wrong with it: "not address:port" or so; NULL if nothing is. Names other than localhost are
 * not resolved: that would bring the host's resolver, its files and its malloc into the agent's thread. */
const char *cairn_tcp_read(struct cairn_tcp *tcp, const char *text, bool any_port);

/* Listens at TCP, with its port filled in if that was 0. Connections notice clients whose machine has vanished, and buffer little. Returns -1
 * and sets errno on failure. */
int cairn_tcp_listen(struct cairn_tcp *tcp);

/* The address as in an URL. */
char *cairn_tcp_show(const struct cairn_tcp *tcp, char out[CAIRN_TCP_SHOWN]);

/* Listens on a unix socket at PATH that only its user can use. Replaces a socket that nobody listens on any more, but nothing else. Returns
 * -1 and sets errno on failure. A PATH that begins with @ is an abstract name: anybody can connect to it, and peer.h decides who is
 * heard. */
int cairn_unix_listen(const char *path);
/* Whether somebody listens on the socket PATH, or may. */
bool cairn_unix_answers(const char *path);

/* Whether HOST (a Host header, with or without port) is one that a browser cannot have been tricked into: an address, but not the
 * unspecified one (0.0.0.0, ::), localhost, this machine's name, or one of EXTRA (separated by spaces). */
bool cairn_tcp_host_is_ours(struct cairn_bytes host, const char *extra);

#endif
