/* filter.c - setting and clearing the bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/filter.h"

#include "base/pages.h"

#include <string.h>
#include <sys/mman.h>

enum { bits_per_sample = 16, word_bits = 64, least_words = 64, most_words = 1 << 20, count_most = 15 };

static _Atomic uint64_t nothing[1];
_Atomic uint64_t *cairn_filter_words = nothing;
uint64_t cairn_filter_mask;

/* For each word of the filter a word of counts. Four bits of it say how many samples have one of the four bits at the same place in the
 * filter, which are cleared when none has. A count that has reached its end stays there. */
static _Atomic uint64_t *counts;

static size_t size_of_words(void)
{
	return (cairn_filter_mask + 1) * sizeof(uint64_t);
}

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

bool cairn_filter_open(size_t samples)
{
	if (counts)
		return true;
	size_t count = least_words;
	while (count < samples * bits_per_sample / word_bits && count < most_words)
		count *= 2;
	_Atomic uint64_t *words = map(count * sizeof *words), *map_of_counts = map(count * sizeof *counts);
	if (!words || !map_of_counts) {
		cairn_pages_unmap(words, count * sizeof *words);
		cairn_pages_unmap(map_of_counts, count * sizeof *counts);
		return false;
	}
	counts = map_of_counts;
	cairn_filter_words = words; /* nobody looks yet: relocations are changed after this */
	cairn_filter_mask = count - 1;
	return true;
}

/* The place of the four bits that BIT belongs to, and of their count. */
static unsigned four_of(unsigned bit)
{
	return bit & ~3u;
}

static unsigned get_count(uint64_t counts_of_word, unsigned bit)
{
	return counts_of_word >> four_of(bit) & count_most;
}

void cairn_filter_add(uint64_t key)
{
	unsigned bit = cairn_filter_bit(key);
	_Atomic uint64_t *count = &counts[cairn_filter_word(key)];
	uint64_t before = atomic_load(count);
	while (get_count(before, bit) < count_most && !atomic_compare_exchange_weak(count, &before, before + (UINT64_C(1) << four_of(bit))))
		;
	atomic_fetch_or(&cairn_filter_words[cairn_filter_word(key)], UINT64_C(1) << bit);
}

void cairn_filter_remove(uint64_t key)
{
	unsigned bit = cairn_filter_bit(key);
	uint64_t four = UINT64_C(15) << four_of(bit);
	_Atomic uint64_t *count = &counts[cairn_filter_word(key)], *word = &cairn_filter_words[cairn_filter_word(key)];
	uint64_t before = atomic_load(count);
	do {
		if (get_count(before, bit) == 0 || get_count(before, bit) == count_most)
			return;
	} while (!atomic_compare_exchange_weak(count, &before, before - (UINT64_C(1) << four_of(bit))));
	if (get_count(before, bit) > 1)
		return;
	atomic_fetch_and(word, ~four);
	if (get_count(atomic_load(count), bit) > 0) /* another came in between */
		atomic_fetch_or(word, four);
}

void cairn_filter_clear(void)
{
	if (!counts)
		return;
	memset((void *)(uintptr_t)cairn_filter_words, 0, size_of_words());
	madvise((void *)(uintptr_t)counts, size_of_words(), MADV_DONTNEED);
}
