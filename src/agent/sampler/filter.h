/* filter.h - a quick answer to "may this address be a live sample?", for every free of the host.
 *
 * A table of 64-bit words. Addresses are hashed to bits in the lower halves of the words, about 21 bytes to a bit, neighbours to
 * neighbours; the bit of a live sample is set. The upper half of a word has a count for every four bits, which tells when they may be
 * cleared again. Bits and counts change together, in one step, so that the bit of a live sample is never missing. "No" is certain,
 * "perhaps" is looked up in the ledger. It is in ordinary memory: a forked child has a copy of its own.
 *
 * A free of an object that no cache holds waits for memory, and the processor works on the frees behind it meanwhile, as many as fit its
 * queues. So what counts there is how few instructions, and how few loads among them, depend on the address: one multiplication, and no
 * second bit, although that would make wrong answers rarer. Beyond that, a large table does not stay in the first cache, and a small one
 * takes too many other addresses for samples, whose look into the ledger is dearer still. So only the beginning of the table is used while
 * there are few samples. They are entered at their places in the small part and in the large one, so that both are complete, and to use
 * the large one is one store. There is no way back but in a forked child. What had been entered in the small part stays there, a bit in a
 * thousand of the large one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_FILTER_H
#define CAIRN_AGENT_SAMPLER_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef CAIRN_CORE /* which lies near the code of its program, where there may not be much room */
enum { CAIRN_FILTER_WORDS = 1 << 16 };
#else
enum { CAIRN_FILTER_WORDS = 1 << 18 }; /* pages that no sample and no free has touched take no memory */
#endif

/* Hidden, so that they are reached without the table of addresses that the loader fills. */
extern __attribute__((visibility("hidden"))) _Atomic uint64_t cairn_filter_words[CAIRN_FILTER_WORDS];
/* The number of words in the part that is used, a power of two, less one. */
extern __attribute__((visibility("hidden"))) _Atomic uint64_t cairn_filter_mask;

/* For a ledger of SAMPLES slots, before the first sample. */
void cairn_filter_open(size_t samples);

/* The low five bits are the bit of a word, the others tell which word it is. */
static inline uint64_t cairn_filter_hash(uint64_t key)
{
	return key * 0x61c88647u >> 35;
}

static inline _Atomic uint64_t *cairn_filter_word(uint64_t hash, uint64_t mask)
{
	return &cairn_filter_words[hash >> 5 & mask];
}

/* Before the first sample everything is certainly not there. */
static inline bool cairn_filter_has(uint64_t key)
{
	uint64_t hash = cairn_filter_hash(key), mask = atomic_load_explicit(&cairn_filter_mask, memory_order_relaxed);
	uint32_t bits = (uint32_t)atomic_load_explicit(cairn_filter_word(hash, mask), memory_order_relaxed);
	return bits >> (hash & 31) & 1;
}

void cairn_filter_add(uint64_t key);
void cairn_filter_remove(uint64_t key);

/* LIVE samples are there: uses a larger part of the table from now on, if they have become too many for this one. */
void cairn_filter_grow(uint64_t live);

/* In a forked child, whose ledger is new: none is there. */
void cairn_filter_clear(void);

#endif
