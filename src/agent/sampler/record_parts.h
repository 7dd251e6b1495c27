/* record_parts.h - what the files of record.h share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_RECORD_PARTS_H
#define CAIRN_AGENT_SAMPLER_RECORD_PARTS_H

#include "agent/sampler/record.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* One step of a table, as cairn_record_grow: its next generation can be used after the last of its steps. */
bool cairn_record_grow_samples(struct cairn_record *record);
bool cairn_record_grow_stacks(struct cairn_record *record);

/* Holds the stack at INDEX. Returns false, and does not hold it, if there is none. */
bool cairn_record_try_stack(struct cairn_record *record, uint32_t index);

/* Before any change to what lives of STACK: saves what lived at the highest point, unless that is saved already. */
void cairn_record_save_peak(struct cairn_record *record, struct cairn_ledger_stack *stack);

static inline uint64_t cairn_record_mix(uint64_t value)
{
	value *= 0x9e3779b97f4a7c15u;
	return value ^ value >> 29;
}

/* The first slot of the bucket that HASH has in a generation of TABLE. Each looks at other bits, so that the keys of a full bucket do not
 * meet again. */
static inline uint32_t cairn_record_bucket(const struct cairn_record_table *table, uint32_t generation, uint64_t hash)
{
	uint32_t first = table->bounds[generation], buckets = (table->bounds[generation + 1] - first) / table->bucket;
	unsigned turn = (7 * generation + 1) & 63;
	uint32_t part = (uint32_t)(hash >> turn | hash << (-turn & 63));
	return first + (uint32_t)((uint64_t)part * buckets >> 32) * table->bucket;
}

/* What lives of STACK, by its samples, or more while it changes: those that go are read first. */
static inline uint64_t cairn_record_live_samples(struct cairn_ledger_stack *stack)
{
	uint64_t gone = atomic_load_explicit(&stack->freed_samples, memory_order_acquire);
	gone += atomic_load_explicit(&stack->thinned_samples, memory_order_acquire);
	return atomic_load_explicit(&stack->allocated_samples, memory_order_acquire) - gone;
}

#endif
