/* filter.c - entering samples and taking them out.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/filter.h"

#include <string.h>
#include <sys/mman.h>

enum {
	word_bits = 32,
	count_most = 15,
	small_words = 1 << 10, /* 8 KiB, */
	small_live = small_words * word_bits / 64, /* until one other address in 64 is taken for a sample */
	bits_per_slot = 16, /* of the ledger, in the large part */
};

_Atomic uint64_t cairn_filter_words[CAIRN_FILTER_WORDS] __attribute__((aligned(4096)));

#ifdef CAIRN_CORE /* it is as it is from the start */
_Atomic uint64_t cairn_filter_mask = small_words - 1;
static const uint64_t large_mask = CAIRN_FILTER_WORDS - 1;
#else
_Atomic uint64_t cairn_filter_mask;
static uint64_t large_mask;
#endif
static _Atomic bool is_large; /* samples are entered in the large part only */

/* Where the count of the four bits is that BIT belongs to. */
static unsigned count_at(unsigned bit)
{
	return word_bits + (bit & ~3u);
}

static unsigned get_count(uint64_t word, unsigned bit)
{
	return word >> count_at(bit) & count_most;
}

/* A count that has reached its end stays there. */
static uint64_t with_one(uint64_t word, unsigned bit)
{
	return (word | UINT64_C(1) << bit) + (get_count(word, bit) < count_most ? UINT64_C(1) << count_at(bit) : 0);
}

static uint64_t without_one(uint64_t word, unsigned bit)
{
	unsigned count = get_count(word, bit);
	if (count == 0 || count == count_most)
		return word;
	return (count > 1 ? word : word & ~(UINT64_C(15) << (bit & ~3u))) - (UINT64_C(1) << count_at(bit));
}

static void change(uint64_t key, uint64_t (*changed)(uint64_t word, unsigned bit))
{
	uint64_t hash = cairn_filter_hash(key), masks[] = {small_words - 1, large_mask};
	for (unsigned i = atomic_load_explicit(&is_large, memory_order_acquire); i < 2; i++) {
		_Atomic uint64_t *word = cairn_filter_word(hash, masks[i]);
		uint64_t before = atomic_load_explicit(word, memory_order_relaxed);
		while (!atomic_compare_exchange_weak(word, &before, changed(before, hash & 31)))
			;
	}
}

void cairn_filter_add(uint64_t key)
{
	change(key, with_one);
}

void cairn_filter_remove(uint64_t key)
{
	change(key, without_one);
}

/* First where frees look, then where samples are entered: a thread that is handed an object whose sample was entered in the large part only
 * sees both, so it never looks for it where it is not. */
void cairn_filter_grow(uint64_t live)
{
	if (live <= small_live || atomic_load_explicit(&is_large, memory_order_relaxed))
		return;
	atomic_store(&cairn_filter_mask, large_mask);
	atomic_store(&is_large, true);
}

#ifndef CAIRN_CORE
void cairn_filter_open(size_t samples)
{
	size_t words = small_words;
	if (large_mask) /* in a forked child, whose ledger is as large as its parent's */
		return;
	while (words < samples * bits_per_slot / word_bits && words < CAIRN_FILTER_WORDS)
		words *= 2;
	large_mask = words - 1;
	atomic_store(&cairn_filter_mask, small_words - 1);
}

void cairn_filter_clear(void)
{
	void *words = (void *)(uintptr_t)cairn_filter_words;
	size_t size = (large_mask + 1) * sizeof cairn_filter_words[0];
	if (!large_mask)
		return;
	if (madvise(words, size, MADV_DONTNEED) != 0) /* pages that are larger than usual */
		memset(words, 0, size);
	atomic_store(&is_large, false);
	atomic_store(&cairn_filter_mask, small_words - 1);
}
#endif
