/* filter.c - setting and clearing the bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/filter.h"

#include "base/pages.h"

#include <string.h>
#include <sys/mman.h>

enum { bits_per_sample = 8 };

static _Atomic uint8_t nothing[1];
struct cairn_filter cairn_filter = {nothing, 63}; /* of two bits */

static _Atomic uint8_t *counts; /* one for each bit; a count that has reached its end stays there */
static size_t bit_count;

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

bool cairn_filter_open(size_t samples)
{
	if (counts)
		return true;
	size_t wanted = samples * bits_per_sample, bits = 4096;
	unsigned shift = 52;
	for (; bits < wanted && shift > 38; bits *= 2)
		shift--;
	_Atomic uint8_t *map_of_bits = map(bits / 8), *map_of_counts = map(bits);
	if (!map_of_bits || !map_of_counts) {
		cairn_pages_unmap(map_of_bits, bits / 8);
		cairn_pages_unmap(map_of_counts, bits);
		return false;
	}
	counts = map_of_counts;
	bit_count = bits;
	cairn_filter.shift = shift; /* nobody looks yet: relocations are changed after this */
	cairn_filter.bits = map_of_bits;
	return true;
}

static void set(uint64_t place)
{
	atomic_fetch_or(&cairn_filter.bits[place >> 3], (uint8_t)(1u << (place & 7)));
}

void cairn_filter_add(uint64_t key)
{
	uint64_t place = cairn_filter_place(key);
	uint8_t count = atomic_load(&counts[place]);
	while (count < UINT8_MAX && !atomic_compare_exchange_weak(&counts[place], &count, (uint8_t)(count + 1)))
		;
	set(place);
}

void cairn_filter_remove(uint64_t key)
{
	uint64_t place = cairn_filter_place(key);
	uint8_t count = atomic_load(&counts[place]);
	do {
		if (count == 0 || count == UINT8_MAX)
			return;
	} while (!atomic_compare_exchange_weak(&counts[place], &count, (uint8_t)(count - 1)));
	if (count > 1)
		return;
	atomic_fetch_and(&cairn_filter.bits[place >> 3], (uint8_t)(~(1u << (place & 7))));
	if (atomic_load(&counts[place]) > 0) /* another came in between */
		set(place);
}

void cairn_filter_clear(void)
{
	if (!counts)
		return;
	memset((void *)(uintptr_t)cairn_filter.bits, 0, bit_count / 8);
	madvise((void *)(uintptr_t)counts, bit_count, MADV_DONTNEED);
}
