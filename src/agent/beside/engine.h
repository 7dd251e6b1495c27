/* engine.h - Cairn's sampler in another process, which has its core (agent/core/), as the engine of this one.
 *
 * The ledger is mapped here, too, but the program may write anything there: what is read is checked, as that of any ledger; and of what is
 * written here, each place is known from how the ledger was laid out, not from what it says. Everything else is the core's own memory, which
 * is written from outside.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_BESIDE_ENGINE_H
#define CAIRN_AGENT_BESIDE_ENGINE_H

#include "agent/engine/profiler.h"
#include "protocol/beside.h"
#include "protocol/config.h"

extern const struct cairn_engine cairn_engine_beside;

/* Makes the ledger, unless the program has one from an earlier time, whose samples are then discarded, and has the core record there once
 * sampling is switched on. */
bool cairn_beside_open(const struct cairn_beside *beside, const struct cairn_config *config, struct cairn_error *error);

/* Whether the program is still the one that has the core: not if it has ended, or executes another one. */
bool cairn_beside_is_there(void);

/* Ends sampling: the program's calls lead past the core. */
bool cairn_beside_close(struct cairn_error *error);

#endif
