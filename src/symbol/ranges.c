/* ranges.c - reads range lists: DWARF 4, 2.17.3 (.debug_ranges) and DWARF 5, 7.25 (.debug_rnglists).
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/ranges.h"

enum {
	DW_RLE_end_of_list = 0,
	DW_RLE_base_addressx = 1,
	DW_RLE_startx_endx = 2,
	DW_RLE_startx_length = 3,
	DW_RLE_offset_pair = 4,
	DW_RLE_base_address = 5,
	DW_RLE_start_end = 6,
	DW_RLE_start_length = 7,
};

static void start_list(struct cairn_ranges *list, const struct cairn_form_value *ranges)
{
	const struct cairn_unit *unit = list->unit;
	uint64_t offset = ranges->number;
	if (unit->encoding.version < 5) {
		/* The lists of a split unit are in the skeleton's file. */
		const struct cairn_unit *owner = unit->skeleton ? unit->skeleton : unit;
		list->in = cairn_dwarf_cursor(owner->dwarf, owner->dwarf->sections[CAIRN_DWARF_RANGES]);
		list->form = CAIRN_RANGES_OLD;
		cairn_cursor_seek(&list->in, unit->skeleton ? offset + owner->ranges_base : offset);
		return;
	}
	list->in = cairn_dwarf_cursor(unit->dwarf, unit->dwarf->sections[CAIRN_DWARF_RNGLISTS]);
	list->form = CAIRN_RANGES_NEW;
	if (ranges->kind == CAIRN_FORM_LIST_INDEX) {
		cairn_cursor_seek(&list->in, unit->rnglists_base);
		unsigned size = unit->encoding.offset_size;
		cairn_cursor_skip(&list->in, ranges->number < UINT32_MAX ? ranges->number * size : UINT64_MAX);
		uint64_t from_base = cairn_cursor_sized(&list->in, size);
		offset = unit->rnglists_base + from_base;
	}
	if (!list->in.failed)
		cairn_cursor_seek(&list->in, offset);
}

struct cairn_ranges cairn_ranges(const struct cairn_unit *unit, const struct cairn_form_value *low, const struct cairn_form_value *high,
	const struct cairn_form_value *ranges)
{
	struct cairn_ranges list = {.unit = unit, .base = unit->skeleton ? unit->skeleton->base : unit->base};
	struct cairn_range single;
	if (ranges->kind != CAIRN_FORM_NONE) {
		start_list(&list, ranges);
	} else if (cairn_unit_address(unit, low, &single.low) && high->kind != CAIRN_FORM_NONE) {
		if (!cairn_unit_address(unit, high, &single.high))
			single.high = single.low + high->number;
		list.single = single;
		list.form = CAIRN_RANGES_SINGLE;
	}
	return list;
}

static uint64_t read_address(struct cairn_ranges *list)
{
	return cairn_cursor_sized(&list->in, list->unit->encoding.address_size);
}

static uint64_t read_indexed(struct cairn_ranges *list)
{
	struct cairn_form_value value = {.kind = CAIRN_FORM_ADDRESS_INDEX, .number = cairn_cursor_uleb(&list->in)};
	uint64_t address;
	return cairn_unit_address(list->unit, &value, &address) ? address : UINT64_MAX;
}

/* Reads the next pair of .debug_ranges. Two zeros end the list; all ones in the first changes the base. */
static bool next_old(struct cairn_ranges *list, struct cairn_range *range)
{
	uint64_t ones = list->unit->encoding.address_size == 8 ? UINT64_MAX : UINT32_MAX;
	for (;;) {
		uint64_t low = read_address(list), high = read_address(list);
		if (list->in.failed || (low == 0 && high == 0))
			return false;
		if (low == ones) {
			list->base = high;
			continue;
		}
		/* For code that the linker removed, low and high are a tombstone, to which the base does not apply. */
		*range = (struct cairn_range){low + list->base, high + list->base};
		if (low < ones - 1 && !cairn_dwarf_is_tombstone(list->unit->dwarf, list->base + low) && low < high)
			return true;
	}
}

static bool next_new(struct cairn_ranges *list, struct cairn_range *range)
{
	while (!list->in.failed) {
		bool removed = false;
		switch (cairn_cursor_u8(&list->in)) {
		case DW_RLE_base_addressx:
			list->base = read_indexed(list);
			continue;
		case DW_RLE_base_address:
			list->base = read_address(list);
			continue;
		case DW_RLE_startx_endx:
			range->low = read_indexed(list);
			range->high = read_indexed(list);
			break;
		case DW_RLE_startx_length:
			range->low = read_indexed(list);
			range->high = range->low + cairn_cursor_uleb(&list->in);
			break;
		case DW_RLE_offset_pair:
			removed = list->base != 0 && cairn_dwarf_is_tombstone(list->unit->dwarf, list->base);
			range->low = list->base + cairn_cursor_uleb(&list->in);
			range->high = list->base + cairn_cursor_uleb(&list->in);
			break;
		case DW_RLE_start_end:
			range->low = read_address(list);
			range->high = read_address(list);
			break;
		case DW_RLE_start_length:
			range->low = read_address(list);
			range->high = range->low + cairn_cursor_uleb(&list->in);
			break;
		case DW_RLE_end_of_list:
		default:
			return false;
		}
		if (!removed && !list->in.failed && range->low < range->high &&
		    !cairn_dwarf_is_tombstone(list->unit->dwarf, range->low))
			return true;
	}
	return false;
}

bool cairn_ranges_next(struct cairn_ranges *list, struct cairn_range *range)
{
	switch (list->form) {
	case CAIRN_RANGES_OLD:
		return next_old(list, range);
	case CAIRN_RANGES_NEW:
		return next_new(list, range);
	case CAIRN_RANGES_SINGLE:
		list->form = CAIRN_RANGES_NONE;
		*range = list->single;
		return range->low < range->high && !cairn_dwarf_is_tombstone(list->unit->dwarf, range->low);
	case CAIRN_RANGES_NONE:
		break;
	}
	return false;
}

size_t cairn_addresses_find(const uint64_t *addresses, size_t count, uint64_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t cairn_addresses_within(const uint64_t *addresses, size_t count, struct cairn_range range, size_t *found)
{
	size_t first = cairn_addresses_find(addresses, count, range.low);
	*found = 0;
	if (first < count && addresses[first] < range.high)
		*found = cairn_addresses_find(addresses + first, count - first, range.high);
	return first;
}
