/* filter.h - a quick answer to "may this address be a live sample?", for every free of the host.
 *
 * A bitmap, one look per free, and behind it a count for each bit that only samples touch, so that bits are cleared again. "No" is
 * certain, "perhaps" is looked up in the ledger. It is in ordinary memory: a forked child has a copy of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_FILTER_H
#define CAIRN_AGENT_SAMPLER_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_filter {
	_Atomic uint8_t *bits;
	unsigned shift; /* 64 less the binary logarithm of the number of bits */
};

extern struct cairn_filter cairn_filter;

/* Room for about SAMPLES live samples: one bit in eight is then set. Never given back, and only ever made larger. False where there is no
 * memory. */
bool cairn_filter_open(size_t samples);

static inline uint64_t cairn_filter_place(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15u >> cairn_filter.shift;
}

/* Before it was opened everything is certainly not there. */
static inline bool cairn_filter_has(uint64_t key)
{
	uint64_t place = cairn_filter_place(key);
	return atomic_load_explicit(&cairn_filter.bits[place >> 3], memory_order_relaxed) >> (place & 7) & 1;
}

void cairn_filter_add(uint64_t key);
void cairn_filter_remove(uint64_t key);

/* In a forked child, whose ledger is new: none is there. */
void cairn_filter_clear(void);

#endif
