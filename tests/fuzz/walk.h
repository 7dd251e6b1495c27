/* walk.h - a heap that is sound but for what the input puts over it: pairs of a place (a byte for the region, three for the offset) and a
 * word. A word whose top byte is 0xfe is a pointer: a byte for the region, and an offset. SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_FUZZ_WALK_H
#define CAIRN_TESTS_FUZZ_WALK_H

#include "made_heap.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t place_of(uint8_t region, uint64_t offset)
{
	const struct made_region *found = &made_region[region % made_regions];
	return found->start + offset % found->size;
}

static int walk_fuzzed(enum cairn_walk_kind kind, const uint8_t *data, size_t size)
{
	enum { pair = 12, resident_most = 4 << 20 };
	static struct made_heap heap;
	struct cairn_walk walk;
	double share;
	made_makers[kind](&heap);
	for (; size >= pair; data += pair, size -= pair) {
		uint64_t word;
		memcpy(&word, data + 4, sizeof word);
		if (word >> 56 == 0xfe)
			word = place_of((uint8_t)(word >> 48), word & 0xffffff);
		made_put(&heap, place_of(data[0], (uint64_t)data[1] | (uint64_t)data[2] << 8 | (uint64_t)data[3] << 16), word);
	}
	if (made_walk(&heap, &walk)) {
		const struct cairn_walk_sum *sum = &walk.sum;
		if (sum->resident > heap.image.resident_bytes || sum->resident_free > sum->resident || sum->returnable > sum->resident ||
		    sum->pinned + sum->reserved > sum->resident || sum->pinned_by_cache > sum->pinned)
			abort();
		for (uint64_t at = 0; at < 0x10000; at += 1000)
			cairn_walk_share(&walk, made_region[made_objects].start + at, 1000, &share);
	}
	made_free(&heap, &walk);
	return 0;
}

#endif
