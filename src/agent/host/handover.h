/* handover.h - passes the last snapshot of a process that ends to the `cairn run` that started it.
 *
 * $CAIRN_REPORT names an abstract unix socket, which a host can reach whatever its user and root are by then. The host asks there whether
 * its snapshot is wanted, because most processes of a large tree are not worth the time, and sends the descriptor: that of its ledger, from
 * which `cairn run` makes the snapshot, or of a snapshot by jemalloc's profiler. The host writes and prints nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_HANDOVER_H
#define CAIRN_AGENT_HOST_HANDOVER_H

#include "agent/work/agent.h"
#include "protocol/handover_answer.h"

/* Connects to the socket NAME of `cairn run`. Returns a descriptor (base/descriptor.h), which waits for seconds at most, or -1. */
int cairn_handover_reach(const char *name);

/* A snapshot by jemalloc is taken on a separate thread, for which this waits only for a limited time: exit may have been called with one of
 * jemalloc's locks held. */
void cairn_handover_at_exit(struct cairn_agent *agent);

#endif
