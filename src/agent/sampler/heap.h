/* heap.h - the names of custom heaps: memory that the host manages itself and reports with cairn_heap_allocated.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_HEAP_H
#define CAIRN_AGENT_SAMPLER_HEAP_H

#include "dump/ledger.h"

/* Puts all names into the header of a new ledger, which is open already. */
void cairn_heap_names(struct cairn_ledger_header *header);

/* In a forked child: threads that were writing a name are not here. */
void cairn_heap_in_child(void);

#endif
