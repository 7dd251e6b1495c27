/* abbrev_fuzz.c - any bytes as an abbreviation table, then as entries of it to step over.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sections.h"
#include "symbol/name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cairn_encoding encodings[] = {{2, 4, 4}, {4, 8, 4}, {5, 8, 4}, {5, 8, 8}};
	struct cairn_dwarf dwarf;
	take_sections(&dwarf, data, size, (const int[]){CAIRN_DWARF_ABBREV, CAIRN_DWARF_INFO}, 2);
	struct cairn_abbrev_cache cache = {0};
	for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
		const struct cairn_abbrevs *table = cairn_abbrevs_at(&cache, dwarf.sections[CAIRN_DWARF_ABBREV], 0, encodings[i]);
		struct cairn_cursor in = cairn_cursor(dwarf.sections[CAIRN_DWARF_INFO]);
		const struct cairn_abbrev *abbrev;
		while (cairn_cursor_left(&in) && (abbrev = cairn_abbrevs_find(table, cairn_cursor_uleb(&in)))) {
			struct cairn_cursor again = in;
			struct cairn_debug_entry entry;
			cairn_abbrev_skip(table, abbrev, &in);
			cairn_debug_entry_read(&entry, table, abbrev, &again);
			/* Reading and stepping over must come to the same place. */
			if (!in.failed && !again.failed && in.at != again.at)
				__builtin_trap();
		}
	}
	cairn_abbrev_cache_free(&cache);
	return 0;
}
