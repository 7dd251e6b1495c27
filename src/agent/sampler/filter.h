/* filter.h - a quick answer to "may this address be a live sample?", for every free of the host.
 *
 * A table of 64-bit words. Each KiB of addresses has a word, the address two bits in it, and both are set for a live sample. So a free
 * costs one load, objects that lie together share a word, which stays in the first cache, and with 32,000 live samples in a ledger of the
 * default size one other address in 200 is taken for one of them. Behind every two bits there is a count that only samples touch, so that
 * they are cleared again. "No" is certain, "perhaps" is looked up in the ledger. It is in ordinary memory: a forked child has a copy of
 * its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_FILTER_H
#define CAIRN_AGENT_SAMPLER_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cairn_filter {
	_Atomic uint64_t *words;
	unsigned shift; /* 64 less the binary logarithm of their number */
};

extern struct cairn_filter cairn_filter;

/* For a ledger of SAMPLES slots: 16 bits each. Never given back, and opened once. False where there is no memory. */
bool cairn_filter_open(size_t samples);

static inline uint64_t cairn_filter_word(uint64_t key)
{
	return (key >> 10) * 0x9e3779b97f4a7c15u >> cairn_filter.shift;
}

/* The low six bits are the first bit's place in the word, the next six the second's. */
static inline unsigned cairn_filter_places(uint64_t key)
{
	return (uint32_t)key * 0x85ebca6bu >> 20;
}

/* Before it was opened everything is certainly not there. */
static inline bool cairn_filter_has(uint64_t key)
{
	uint64_t word = atomic_load_explicit(&cairn_filter.words[cairn_filter_word(key)], memory_order_relaxed);
	unsigned places = cairn_filter_places(key);
	return (word >> (places & 63)) & (word >> (places >> 6)) & 1;
}

void cairn_filter_add(uint64_t key);
void cairn_filter_remove(uint64_t key);

/* In a forked child, whose ledger is new: none is there. */
void cairn_filter_clear(void);

#endif
