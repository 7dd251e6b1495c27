/* start.h - starts and stops the agent, and keeps it working across fork.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_START_H
#define CAIRN_AGENT_HOST_START_H

#include "agent/work/agent.h"

/* Holds the agent's `life`: several threads of the host may start or stop it at once. A child that is forked meanwhile has it unlocked. */
void cairn_service_lock(void);
void cairn_service_unlock(void);

/* Who wants an agent: the host, a command from outside, or the environment. Only the host gets one in any case: the others do not where
 * there is nothing to profile with. */
enum cairn_service_reason { CAIRN_SERVICE_CALLED, CAIRN_SERVICE_ATTACHED, CAIRN_SERVICE_PRELOADED };

/* Reads file and environment on top of CONFIG, finds jemalloc (or uses the one already in the agent's profiler), begins to sample if
 * configured, and starts the server's thread; a preloaded agent that has no work yet waits. Call it locked, as for stop. */
bool cairn_service_start(const struct cairn_config *config, enum cairn_service_reason reason, struct cairn_error *error);

/* Whether the agent of this process runs. One that waits starts now. */
bool cairn_service_is_running(void);

void cairn_service_stop(void);

#endif
