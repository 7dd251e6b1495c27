/* unit_fuzz.c - any bytes as abbreviations, strings, ranges and units: every unit is walked for some addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sections.h"
#include "symbol/function.h"
#include "symbol/ranges.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = {0, 1, 0x10, 0x1000, 0x1001, 0x1010,
					     0x1136, 0x400118, 0x400130, 0x400140, 0x401136, UINT64_MAX};
	enum { count = sizeof addresses / sizeof *addresses };
	static const int sections[] = {CAIRN_DWARF_ABBREV, CAIRN_DWARF_STR, CAIRN_DWARF_RNGLISTS, CAIRN_DWARF_ADDR, CAIRN_DWARF_INFO};
	struct cairn_dwarf dwarf;
	take_sections(&dwarf, data, size, sections, sizeof sections / sizeof *sections);
	dwarf.sections[CAIRN_DWARF_RANGES] = dwarf.sections[CAIRN_DWARF_RNGLISTS];
	dwarf.sections[CAIRN_DWARF_STR_OFFSETS] = dwarf.sections[CAIRN_DWARF_ADDR];
	dwarf.units = cairn_units_new(&dwarf);
	dwarf.alt = &dwarf;
	struct cairn_names names = {0};
	struct cairn_arena arena = {0};
	struct cairn_unit unit;
	uint64_t offset = 0, next;
	do {
		if (cairn_unit_read(&unit, &dwarf, offset, &next) && cairn_unit_read_root(&unit, &names.abbrevs)) {
			const struct cairn_inline_call **calls = cairn_functions_match(&unit, &names, &arena, addresses, count);
			for (size_t i = 0; calls && i < count; i++)
				for (const struct cairn_inline_call *call = calls[i]; call; call = call->caller)
					if (call->name.text && strlen(call->name.text) > size)
						__builtin_trap();
		}
		if (next && next <= offset)
			__builtin_trap();
		offset = next;
	} while (next);
	cairn_names_free(&names);
	cairn_arena_free(&arena);
	cairn_units_free(dwarf.units);
	return 0;
}
