/* aranges.h - .debug_aranges: which unit contains which addresses, without reading the units.
 *
 * This only speeds things up: clang and rustc do not write it, and a file may have it for some of its units. Addresses that it does not
 * cover are looked up in the units themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_ARANGES_H
#define CAIRN_SYMBOL_ARANGES_H

#include "symbol/ranges.h"

/* Some of the requested addresses, given by their places in the sorted array, are in the unit at UNIT of .debug_info. */
struct cairn_touch {
	uint64_t unit;
	size_t first;
	size_t count;
};

struct cairn_aranges {
	struct cairn_touch *touches; /* by unit */
	size_t touch_count, touch_capacity;
	uint64_t *units; /* sorted: the units that the section covers */
	size_t unit_count, unit_capacity;
};

/* Finds ADDRESSES, which are sorted, in the section of DWARF's file. Free with cairn_aranges_free. */
void cairn_aranges_match(struct cairn_aranges *aranges, const struct cairn_dwarf *dwarf, const uint64_t *addresses, size_t count);
void cairn_aranges_free(struct cairn_aranges *aranges);

#endif
