/* filter.c - setting and clearing the bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/filter.h"

#include "base/pages.h"

#include <string.h>
#include <sys/mman.h>

enum { bits_per_sample = 16, word_bits = 64, least_words = 64, most_words = 1 << 20, count_most = 15 };

static _Atomic uint64_t nothing[2];
struct cairn_filter cairn_filter = {nothing, 63};

/* Four bits for each bit of the filter. A count that has reached its end stays there. */
static _Atomic uint8_t *counts;
static size_t word_count;

static size_t size_of_words(void)
{
	return word_count * sizeof(uint64_t);
}

static size_t size_of_counts(void)
{
	return word_count * word_bits / 2;
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
	unsigned shift = 64 - 6;
	for (word_count = least_words; word_count < samples * bits_per_sample / word_bits && word_count < most_words; word_count *= 2)
		shift--;
	_Atomic uint64_t *words = map(size_of_words());
	_Atomic uint8_t *map_of_counts = map(size_of_counts());
	if (!words || !map_of_counts) {
		cairn_pages_unmap(words, size_of_words());
		cairn_pages_unmap(map_of_counts, size_of_counts());
		return false;
	}
	counts = map_of_counts;
	cairn_filter.shift = shift; /* nobody looks yet: relocations are changed after this */
	cairn_filter.words = words;
	return true;
}

static unsigned get_count(uint8_t pair, unsigned place)
{
	return pair >> (place & 1) * 4 & count_most;
}

static void add_bit(uint64_t word, unsigned place)
{
	_Atomic uint8_t *pair = &counts[(word * word_bits + place) / 2];
	uint8_t before = atomic_load(pair);
	while (get_count(before, place) < count_most && !atomic_compare_exchange_weak(pair, &before, (uint8_t)(before + (1u << (place & 1) * 4))))
		;
	atomic_fetch_or(&cairn_filter.words[word], UINT64_C(1) << place);
}

static void remove_bit(uint64_t word, unsigned place)
{
	_Atomic uint8_t *pair = &counts[(word * word_bits + place) / 2];
	uint8_t before = atomic_load(pair);
	do {
		if (get_count(before, place) == 0 || get_count(before, place) == count_most)
			return;
	} while (!atomic_compare_exchange_weak(pair, &before, (uint8_t)(before - (1u << (place & 1) * 4))));
	if (get_count(before, place) > 1)
		return;
	atomic_fetch_and(&cairn_filter.words[word], ~(UINT64_C(1) << place));
	if (get_count(atomic_load(pair), place) > 0) /* another came in between */
		atomic_fetch_or(&cairn_filter.words[word], UINT64_C(1) << place);
}

void cairn_filter_add(uint64_t key)
{
	unsigned places = cairn_filter_places(key);
	add_bit(cairn_filter_word(key), places & 63);
	add_bit(cairn_filter_word(key), places >> 6);
}

void cairn_filter_remove(uint64_t key)
{
	unsigned places = cairn_filter_places(key);
	remove_bit(cairn_filter_word(key), places & 63);
	remove_bit(cairn_filter_word(key), places >> 6);
}

void cairn_filter_clear(void)
{
	if (!counts)
		return;
	memset((void *)(uintptr_t)cairn_filter.words, 0, size_of_words());
	madvise((void *)(uintptr_t)counts, size_of_counts(), MADV_DONTNEED);
}
