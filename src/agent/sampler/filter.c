/* filter.c - setting and clearing the bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/filter.h"

#include "base/pages.h"

#include <string.h>
#include <sys/mman.h>

enum { bits_per_sample = 16, word_bits = 64, least_words = 64, most_words = 1 << 20, count_most = 15 };

static _Atomic uint64_t nothing[2];
struct cairn_filter cairn_filter = {nothing, 63};

/* Four bits for each two bits of the filter, which are cleared when neither is in use. A count that has reached its end stays there. */
static _Atomic uint8_t *counts;
static size_t word_count;

static size_t size_of_words(void)
{
	return word_count * sizeof(uint64_t);
}

static size_t size_of_counts(void)
{
	return word_count * word_bits / 4;
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

/* The count of a bit at PLACE is half of a byte. */
static _Atomic uint8_t *byte_of(uint64_t word, unsigned place)
{
	return &counts[word * (word_bits / 4) + place / 4];
}

static unsigned get_count(uint8_t byte, unsigned place)
{
	return byte >> (place & 2) * 2 & count_most;
}

static uint8_t get_one(unsigned place)
{
	return (uint8_t)(1u << (place & 2) * 2);
}

static void add_bit(uint64_t word, unsigned place)
{
	_Atomic uint8_t *byte = byte_of(word, place);
	uint8_t before = atomic_load(byte);
	while (get_count(before, place) < count_most && !atomic_compare_exchange_weak(byte, &before, (uint8_t)(before + get_one(place))))
		;
	atomic_fetch_or(&cairn_filter.words[word], UINT64_C(1) << place);
}

static void remove_bit(uint64_t word, unsigned place)
{
	_Atomic uint8_t *byte = byte_of(word, place);
	uint64_t both = UINT64_C(3) << (place & ~1u);
	uint8_t before = atomic_load(byte);
	do {
		if (get_count(before, place) == 0 || get_count(before, place) == count_most)
			return;
	} while (!atomic_compare_exchange_weak(byte, &before, (uint8_t)(before - get_one(place))));
	if (get_count(before, place) > 1)
		return;
	atomic_fetch_and(&cairn_filter.words[word], ~both);
	if (get_count(atomic_load(byte), place) > 0) /* another came in between */
		atomic_fetch_or(&cairn_filter.words[word], both);
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
