/* filter.h - a quick answer to "may this address be a live sample?", for every free of the host.
 *
 * A table of 64-bit words. Each KiB of addresses has a word, and each 16 bytes of it a bit, which is set for a live sample. So a free
 * costs one load, objects that lie together share a word, which stays in the first cache, and with 32,000 live samples in a ledger of the
 * default size one other address in 33 is taken for one of them. A second bit would make that one in 200 and is not worth it: its
 * instructions cost every free more than the look into the ledger costs one in 33. Behind every four bits there is a count that only
 * samples touch, so that they are cleared again. "No" is certain, "perhaps" is looked up in the ledger. It is in ordinary memory: a
 * forked child has a copy of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_FILTER_H
#define CAIRN_AGENT_SAMPLER_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hidden, so that they are reached without the table of addresses that the loader fills. */
extern __attribute__((visibility("hidden"))) _Atomic uint64_t *cairn_filter_words;
extern __attribute__((visibility("hidden"))) uint64_t cairn_filter_mask; /* the number of words, a power of two, less one */

/* For a ledger of SAMPLES slots: 16 bits each. Never given back, and opened once. False where there is no memory. */
bool cairn_filter_open(size_t samples);

/* The same for all addresses of one KiB. The low six bits turn the bits of a word, the others tell which word it is. */
static inline uint64_t cairn_filter_hash(uint64_t key)
{
	return (key >> 10) * 0x61c88647u >> 20;
}

static inline uint64_t cairn_filter_word(uint64_t key)
{
	return cairn_filter_hash(key) >> 6 & cairn_filter_mask;
}

static inline unsigned cairn_filter_bit(uint64_t key)
{
	return (unsigned)(cairn_filter_hash(key) + (key >> 4)) & 63;
}

/* Before it was opened everything is certainly not there. */
static inline bool cairn_filter_has(uint64_t key)
{
	uint64_t word = atomic_load_explicit(&cairn_filter_words[cairn_filter_word(key)], memory_order_relaxed);
	return word >> cairn_filter_bit(key) & 1;
}

void cairn_filter_add(uint64_t key);
void cairn_filter_remove(uint64_t key);

/* In a forked child, whose ledger is new: none is there. */
void cairn_filter_clear(void);

#endif
