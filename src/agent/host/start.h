/* start.h - starts and stops the agent, and keeps it working across fork.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_START_H
#define CAIRN_AGENT_HOST_START_H

#include "agent/host/agent.h"

/* Reads file and environment on top of CONFIG, finds jemalloc (or uses the one already in the agent's profiler), and starts the server's
 * thread. With ONLY_LIVE, nothing is started in a process without a jemalloc in use. Call it with the agent's `life` held, as for stop. */
bool cairn_service_start(const struct cairn_config *config, bool only_live, struct cairn_error *error);

/* Whether the agent of this process runs. In a forked child that waits for its first sample, it starts now. */
bool cairn_service_is_running(void);

void cairn_service_stop(void);

#endif
