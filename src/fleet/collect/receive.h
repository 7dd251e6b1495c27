/* receive.h - the requests of senders: which are accepted, and how snapshots get into the spool.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_RECEIVE_H
#define CAIRN_FLEET_COLLECT_RECEIVE_H

#include "http/server.h"

/* The handlers of the HTTP server; CONTEXT is the collector. */
bool cairn_receive_admit(void *context, struct cairn_exchange *exchange, size_t *body_maximum);
bool cairn_receive_handle(void *context, struct cairn_exchange *exchange);

/* `send` of the outbox of snapshots: writes those of a request to the spool, and answers it. */
bool cairn_receive_send(void *context, void *item, struct cairn_error *error);

#endif
