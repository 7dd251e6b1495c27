/* own_dump.h - a dump of this process's own ledger.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_OWN_DUMP_H
#define CAIRN_AGENT_SAMPLER_OWN_DUMP_H

#include "agent/engine/jemalloc.h"
#include "base/buffer.h"
#include "dump/ledger_read.h"

/* Reads the ledger, which must be there (cairn_sample_is_ours). */
bool cairn_own_ledger_open(struct cairn_ledger *ledger, struct cairn_error *error);

/* Appends a dump of it to OUT, an empty one if there is none. JEMALLOC is the process's. */
bool cairn_own_dump_make(const struct cairn_jemalloc *jemalloc, struct cairn_buffer *out, struct cairn_error *error);

#endif
