/* handover.h - passes the last snapshot of a process that ends to the `cairn run` that started it.
 *
 * $CAIRN_REPORT names an abstract unix socket, which a host can reach whatever its user and root are by then. The host asks there whether
 * its snapshot is wanted, because most processes of a large tree are not worth the time, and sends the descriptor. The host writes and
 * prints nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_HANDOVER_H
#define CAIRN_AGENT_HOST_HANDOVER_H

#include "agent/host/agent.h"
#include "protocol/handover_answer.h"

/* Sends the snapshot from a separate thread and waits for it only for a limited time: exit may have been called with one of jemalloc's
 * locks held. */
void cairn_handover_at_exit(struct cairn_agent *agent);

#endif
