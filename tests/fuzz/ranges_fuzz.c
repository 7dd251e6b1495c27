/* ranges_fuzz.c - any bytes as range lists, of both forms and by every way to refer to one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sections.h"
#include "symbol/ranges.h"

static void walk(struct cairn_unit *unit, enum cairn_form_class kind, uint64_t number)
{
	struct cairn_form_value none = {0}, list = {.kind = kind, .number = number};
	struct cairn_ranges ranges = cairn_ranges(unit, &none, &none, &list);
	struct cairn_range range;
	size_t count = 0;
	while (cairn_ranges_next(&ranges, &range))
		if (++count > UINT16_MAX)
			__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_dwarf dwarf;
	take_sections(&dwarf, data, size, (const int[]){CAIRN_DWARF_ADDR, CAIRN_DWARF_RNGLISTS}, 2);
	dwarf.sections[CAIRN_DWARF_RANGES] = dwarf.sections[CAIRN_DWARF_RNGLISTS];
	for (uint8_t version = 4; version <= 5; version++) {
		for (uint8_t address_size = 4; address_size <= 8; address_size += 4) {
			struct cairn_unit unit = {.dwarf = &dwarf, .encoding = {version, address_size, address_size}, .base = 0x1000};
			walk(&unit, CAIRN_FORM_OFFSET, 0);
			walk(&unit, CAIRN_FORM_LIST_INDEX, 0);
			walk(&unit, CAIRN_FORM_LIST_INDEX, 3);
			unit.rnglists_base = 12;
			walk(&unit, CAIRN_FORM_LIST_INDEX, 1);
		}
	}
	return 0;
}
