/* line_fuzz.c - any bytes as a line number program, run for some addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sections.h"
#include "symbol/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = {0, 1, 0x10, 0x1000, 0x1001, 0x1010, 0x400118, 0x400140, 0x401136, UINT64_MAX - 2, UINT64_MAX};
	enum { count = sizeof addresses / sizeof *addresses };
	static const struct cairn_line_function functions[count] = {
		[3] = {0x1000, 10}, [4] = {0x1000, 50}, [5] = {0x1000, UINT32_MAX}, [6] = {0x400118, 1}, [8] = {0x401136, 5}};
	struct cairn_dwarf dwarf;
	take_sections(&dwarf, data, size, (const int[]){CAIRN_DWARF_LINE_STR, CAIRN_DWARF_LINE}, 2);
	dwarf.sections[CAIRN_DWARF_STR] = dwarf.sections[CAIRN_DWARF_LINE_STR];
	struct cairn_unit unit = {.dwarf = &dwarf, .encoding = {5, 8, 4}, .has_lines = true, .directory = "/build"};
	struct cairn_lines lines;
	struct cairn_arena arena = {0};
	struct cairn_line_row rows[count] = {0};
	if (cairn_lines_open(&lines, &unit))
		cairn_lines_match(&lines, addresses, functions, count, rows);
	for (size_t i = 0; i < count; i++) {
		if (rows[i].doubt && !functions[i].line)
			__builtin_trap();
		const char *path = rows[i].found ? cairn_lines_path(&lines, rows[i].file, &arena) : NULL;
		if (path && strlen(path) > size + 64)
			__builtin_trap();
	}
	for (size_t i = 0; i < lines.file_count; i++)
		cairn_lines_path(&lines, i, &arena);
	cairn_lines_close(&lines);
	cairn_arena_free(&arena);
	return 0;
}
