/* modules.h - the files that another process has mapped: in its ledger, for names, and in its core, for stacks.
 *
 * Nobody else writes them there, so that what was written is known here and never read back.
 *
 * One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_BESIDE_MODULES_H
#define CAIRN_AGENT_BESIDE_MODULES_H

#include "agent/sampler/record.h"
#include "protocol/beside.h"

/* Begins with a ledger that has no modules, or none of its own any more, and a core whose table may have some. */
void cairn_beside_modules_open(const struct cairn_beside *beside, struct cairn_record *record);

/* Lists what is mapped now. What is not mapped any more stays in the ledger, marked. */
void cairn_beside_modules_list(const struct cairn_beside *beside, struct cairn_record *record);

#endif
