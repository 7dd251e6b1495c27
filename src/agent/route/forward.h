/* forward.h - answers for the other processes of a tree.
 *
 * One process of a tree has the TCP port: the first, which usually is the parent of the others. A request there with ?pid=N is passed on
 * to the agent of process N through its own socket, if N descends from this process, and its answer is passed back.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ROUTE_FORWARD_H
#define CAIRN_AGENT_ROUTE_FORWARD_H

#include "agent/route/route.h"

/* Whether REQUEST is for another process. */
bool cairn_forward_is_meant(const struct cairn_request *request);

/* Sends the request of CALL, for PATH and without `pid`, through DESCRIPTOR, a connection that the caller closes, and makes what comes back
 * the answer. False where nothing whole came back; there is no answer then. */
bool cairn_forward_exchange(struct cairn_call *call, int descriptor, struct cairn_bytes path);

/* For how many seconds an answer to REQUEST is waited for: a profile of ?seconds=N comes after that time. */
int64_t cairn_forward_patience(const struct cairn_request *request);

/* The route that passes it on, whatever its path. */
extern const struct cairn_route cairn_forward_route;

#endif
