/* ranges.h - the address ranges of an entry.
 *
 * An entry has DW_AT_low_pc and DW_AT_high_pc, or DW_AT_ranges: a list in .debug_ranges (DWARF 2 to 4) or .debug_rnglists (DWARF 5,
 * 2.17.3). All become plain pairs of addresses; empty ranges and those of code that the linker removed are left out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_RANGES_H
#define CAIRN_SYMBOL_RANGES_H

#include "symbol/unit.h"

struct cairn_range {
	uint64_t low;
	uint64_t high; /* the first address after it */
};

struct cairn_ranges {
	const struct cairn_unit *unit;
	struct cairn_cursor in;
	uint64_t base;
	struct cairn_range single;
	enum { CAIRN_RANGES_NONE, CAIRN_RANGES_SINGLE, CAIRN_RANGES_OLD, CAIRN_RANGES_NEW } form;
};

/* Starts iterating over the ranges given by these values, any of which may be absent. */
struct cairn_ranges cairn_ranges(const struct cairn_unit *unit, const struct cairn_form_value *low, const struct cairn_form_value *high,
	const struct cairn_form_value *ranges);
bool cairn_ranges_next(struct cairn_ranges *ranges, struct cairn_range *range);

/* The index of the first of ADDRESSES, which are sorted, that is not below ADDRESS; COUNT if there is none. */
size_t cairn_addresses_find(const uint64_t *addresses, size_t count, uint64_t address);

/* Those of ADDRESSES that are in RANGE: the index of the first, and in *FOUND their number. */
size_t cairn_addresses_within(const uint64_t *addresses, size_t count, struct cairn_range range, size_t *found);

#endif
