/* receive.h - the requests of senders: which are accepted, and how snapshots get into the spool.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_RECEIVE_H
#define CAIRN_CMD_COLLECT_RECEIVE_H

#include "http/server.h"

/* The handlers of the HTTP server; CONTEXT is the collector. */
bool cairn_receive_admit(void *context, struct cairn_exchange *exchange, size_t *body_maximum);
bool cairn_receive_handle(void *context, struct cairn_exchange *exchange);

/* A thread: writes queued snapshots to the spool, until `stop`. CONTEXT is the collector. */
void *cairn_receive_run(void *context);

#endif
