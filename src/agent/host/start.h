/* start.h - the agent as a running thing: starting, stopping, surviving fork.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_START_H
#define CAIRN_AGENT_HOST_START_H

#include "agent/host/agent.h"

/* Reads file and environment over what CONFIG holds by now, finds jemalloc (or uses the one already in the agent's profiler),
 * and starts the server's thread. With ONLY_LIVE nothing is started in a process that has no jemalloc in use. Called with the agent's
 * `life` held, as is stop. */
bool cairn_service_start(const struct cairn_config *config, bool only_live, struct cairn_error *error);

/* Whether the agent of this process runs. That of a forked child which waits for its first sample starts now. */
bool cairn_service_is_running(void);

void cairn_service_stop(void);

#endif
