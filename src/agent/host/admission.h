/* admission.h - admits requests: who may send them, where they go, and who waits for the answer.
 *
 * A request comes from the agent's own server, which calls cairn_admission_admit when its head has arrived and cairn_admission_handle
 * when it is complete, or from a thread of the host through cairn_admission_answer. All of them make a call (call.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_ADMISSION_H
#define CAIRN_AGENT_HOST_ADMISSION_H

#include "agent/work/agent.h"

/* Sets up the memory limits of requests and answers. */
void cairn_admission_open(struct cairn_agent *agent);

/* Whether this request may be answered at all. Fills in the refusal otherwise. */
bool cairn_admission_check(struct cairn_agent *agent, const struct cairn_request *request, bool local, struct cairn_response *response);

/* The server's `admit`, `handle` and `abandon`; the context is the agent. */
bool cairn_admission_admit(void *context, struct cairn_exchange *exchange, size_t *maximum);
bool cairn_admission_handle(void *context, struct cairn_exchange *exchange);
void cairn_admission_abandon(void *context, struct cairn_exchange *exchange);

/* Answers on the calling thread, or waits there for the worker that does. The caller frees RESPONSE. */
void cairn_admission_answer(const struct cairn_request *request, struct cairn_response *response);

/* Waits on the calling thread for a snapshot that a worker takes; NULL on failure. The caller releases it. */
struct cairn_snapshot *cairn_admission_snapshot(struct cairn_error *error);

#endif
