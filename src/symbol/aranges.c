/* aranges.c - reading .debug_aranges (DWARF 5, 6.1.2).
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/aranges.h"

#include "base/array.h"

#include <stdlib.h>

/* Reads the pairs of one set. A pair of zeros should end them, but it also occurs in between: for an empty function that the linker removed
 * and, on some machines, for one not yet relocated. So only the length of the set counts. */
static bool read_pairs(struct cairn_aranges *aranges, const struct cairn_dwarf *dwarf, struct cairn_cursor *in, uint64_t unit,
	unsigned address_size, const uint64_t *addresses, size_t count)
{
	bool any = false;
	while (cairn_cursor_left(in) >= 2 * address_size) {
		uint64_t low = cairn_cursor_sized(in, address_size);
		uint64_t length = cairn_cursor_sized(in, address_size);
		if (length == 0 || cairn_dwarf_is_tombstone(dwarf, low) || low + length < low)
			continue;
		any = true;
		struct cairn_touch touch = {.unit = unit};
		touch.first = cairn_addresses_within(addresses, count, (struct cairn_range){low, low + length}, &touch.count);
		if (touch.count == 0)
			continue;
		cairn_array_room(aranges->touches, aranges->touch_count, aranges->touch_capacity);
		aranges->touches[aranges->touch_count++] = touch;
	}
	return any;
}

/* Reads one set: a header, and the pairs of one unit. Returns false at the end. */
static bool read_set(struct cairn_aranges *aranges, const struct cairn_dwarf *dwarf, struct cairn_cursor *in,
	const uint64_t *addresses, size_t count)
{
	size_t start = cairn_cursor_offset(in);
	uint64_t length = cairn_cursor_u32(in);
	bool wide = length == UINT32_MAX;
	if (wide)
		length = cairn_cursor_u64(in);
	struct cairn_cursor set = *in;
	cairn_cursor_skip(in, length);
	if (in->failed || length == 0)
		return false;
	set.end = in->at;
	uint16_t version = cairn_cursor_u16(&set);
	uint64_t unit = cairn_cursor_sized(&set, wide ? 8 : 4);
	uint8_t address_size = cairn_cursor_u8(&set), segment_size = cairn_cursor_u8(&set);
	if (set.failed || version != 2 || (address_size != 8 && address_size != 4) || segment_size != 0)
		return true;
	/* Pairs are aligned to their own size, counted from the start of the set. */
	cairn_cursor_skip(&set, -(cairn_cursor_offset(&set) - start) & (2u * address_size - 1));
	if (!read_pairs(aranges, dwarf, &set, unit, address_size, addresses, count))
		return true;
	cairn_array_room(aranges->units, aranges->unit_count, aranges->unit_capacity);
	aranges->units[aranges->unit_count++] = unit;
	return true;
}

static int by_unit(const void *a, const void *b)
{
	const struct cairn_touch *left = a, *right = b;
	if (left->unit != right->unit)
		return left->unit < right->unit ? -1 : 1;
	return (left->first > right->first) - (left->first < right->first);
}

static int by_number(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

void cairn_aranges_match(struct cairn_aranges *aranges, const struct cairn_dwarf *dwarf, const uint64_t *addresses, size_t count)
{
	*aranges = (struct cairn_aranges){0};
	struct cairn_cursor in = cairn_dwarf_cursor(dwarf, cairn_elf_named(dwarf->elf, ".debug_aranges"));
	while (cairn_cursor_left(&in) > 0 && read_set(aranges, dwarf, &in, addresses, count))
		;
	if (aranges->touch_count)
		qsort(aranges->touches, aranges->touch_count, sizeof *aranges->touches, by_unit);
	if (aranges->unit_count)
		qsort(aranges->units, aranges->unit_count, sizeof *aranges->units, by_number);
}

void cairn_aranges_free(struct cairn_aranges *aranges)
{
	free(aranges->touches);
	free(aranges->units);
}
