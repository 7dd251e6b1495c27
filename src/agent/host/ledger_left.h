/* ledger_left.h - turns the ledger that an earlier process left in the file of `ledger` into a dump.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_LEDGER_LEFT_H
#define CAIRN_AGENT_HOST_LEDGER_LEFT_H

#include "agent/work/agent.h"

/* Makes the sampler keep its ledger in the configured file, if there is one. AGENT must outlive the sampler. */
void cairn_ledger_left_configure(struct cairn_agent *agent);

#endif
