/* handover.h - the last snapshot of a process that ends, handed to the `cairn run` that started it.
 *
 * $CAIRN_REPORT names an abstract unix socket, which a host reaches whatever its user and its root are by then. The host asks there whether
 * its snapshot is wanted, for most of the processes of a large tree are not worth the time, and sends the descriptor. Nothing is
 * written by the host, and nothing said.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_HANDOVER_H
#define CAIRN_AGENT_HOST_HANDOVER_H

#include "agent/host/agent.h"

/* What `cairn run` answers to who connects. */
enum { CAIRN_HANDOVER_WANTED = 'y', CAIRN_HANDOVER_NOT_WANTED = 'n' };

/* Hands the snapshot over, on a thread of its own that is waited for only so long: exit may have been called with one of jemalloc's
 * locks held. */
void cairn_handover_at_exit(struct cairn_agent *agent);

#endif
