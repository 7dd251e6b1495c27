/* history.h - a row of the ledger's history each second: memory of the process and of its control group, and the
 * sampler's sums.
 *
 * Half of the rows are a ring of seconds, an hour of them in a ledger of the default size; the others are a ring of minutes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_HISTORY_H
#define CAIRN_AGENT_SAMPLER_HISTORY_H

#include "agent/sampler/record.h"

/* Writes the row of the second in which NOW_NS lies. For one thread of the agent, the same each time. */
void cairn_history_look(struct cairn_record *record, int64_t now_ns);

/* Closes what the looks opened, once there are no more. */
void cairn_history_close(void);

/* In a forked child: its descriptors are the parent's. */
void cairn_history_in_child(void);

#endif
