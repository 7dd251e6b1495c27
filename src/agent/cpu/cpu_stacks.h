/* cpu_stacks.h - stacks with their counts, per thread; on separate pages, for one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_CPU_CPU_STACKS_H
#define CAIRN_AGENT_CPU_CPU_STACKS_H

#include "base/pages.h"

struct cairn_cpu_stacks {
	struct cairn_buffer records; /* struct cairn_cpu_stack, one behind another */
	uint32_t *slots;             /* a hash table of places in `records`, in words, plus 1 */
	size_t slot_count, count;
};

struct cairn_cpu_stack {
	uint64_t hash;
	uint32_t thread, times;
	uint64_t depth;
	uint64_t pcs[]; /* leaf first */
};

bool cairn_cpu_stacks_open(struct cairn_cpu_stacks *stacks);
void cairn_cpu_stacks_close(struct cairn_cpu_stacks *stacks);

/* Counts a stack; returns false if there is no memory for a new one. */
bool cairn_cpu_stacks_add(struct cairn_cpu_stacks *stacks, uint32_t thread, uint32_t times, const uint64_t *pcs, size_t depth);

/* The stack after PREVIOUS, the first after NULL; NULL at the end. */
const struct cairn_cpu_stack *cairn_cpu_stacks_next(const struct cairn_cpu_stacks *stacks, const struct cairn_cpu_stack *previous);

#endif
