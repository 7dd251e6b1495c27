/* route.h - the requests of pages and scripts, and the events for pages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_ROUTE_H
#define CAIRN_FLEET_SERVE_ROUTE_H

#include "fleet/serve/serve.h"

/* The handlers of the HTTP server (http/server.h); CONTEXT is a struct cairn_serve. */
bool cairn_serve_admit(void *context, struct cairn_exchange *exchange, size_t *body_maximum);
bool cairn_serve_handle(void *context, struct cairn_exchange *exchange);
int cairn_serve_tick(void *context);

/* Sends an event to all pages: DATA is one JSON object. Under serve->lock. */
void cairn_serve_tell(struct cairn_serve *serve, const char *event, struct cairn_bytes data);

/* The same about PROCESS, with what has changed; POINT is the dump that is new, or NULL. */
void cairn_serve_tell_news(const struct cairn_serve_process *process, const char *event, const struct cairn_serve_point *point);

/* Whether a page is open, or a request came recently. Under serve->lock. */
bool cairn_serve_is_watched(const struct cairn_serve *serve);

#endif
