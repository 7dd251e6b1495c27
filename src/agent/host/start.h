/* start.h - starts and stops the agent, and keeps it working across fork.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_START_H
#define CAIRN_AGENT_HOST_START_H

#include "agent/host/agent.h"

/* Holds the agent's `life`: several threads of the host may start or stop it at once. A child that is forked meanwhile has it unlocked. */
void cairn_service_lock(void);
void cairn_service_unlock(void);

/* Reads file and environment on top of CONFIG, finds jemalloc (or uses the one already in the agent's profiler), and starts the server's
 * thread. With ONLY_LIVE, nothing is started in a process without a jemalloc in use. Call it locked, as for stop. */
bool cairn_service_start(const struct cairn_config *config, bool only_live, struct cairn_error *error);

/* Whether the agent of this process runs. In a forked child that waits for its first sample, it starts now. */
bool cairn_service_is_running(void);

void cairn_service_stop(void);

#endif
