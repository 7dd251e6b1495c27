/* status.h - the agent's account of itself, in JSON and for Prometheus.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ROUTE_STATUS_H
#define CAIRN_AGENT_ROUTE_STATUS_H

#include "agent/host/agent.h"

void cairn_status_json(struct cairn_agent *agent, struct cairn_buffer *out);
/* The main of it as lines `key: value`, for people and scripts; what is not known is left out. */
void cairn_status_text(struct cairn_agent *agent, struct cairn_buffer *out);
void cairn_status_metrics(struct cairn_agent *agent, struct cairn_buffer *out);

#endif
