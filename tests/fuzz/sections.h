/* sections.h - DWARF sections out of any bytes, without an ELF file around them.
 *
 * An input begins with the lengths, two bytes each, of the sections that the target asks for; what is left over is the last
 * one. Lengths past the end are cut.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_FUZZ_SECTIONS_H
#define CAIRN_TESTS_FUZZ_SECTIONS_H

#include "base/cursor.h"
#include "symbol/dwarf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void take_sections(struct cairn_dwarf *dwarf, const uint8_t *data, size_t size, const int *sections, size_t count)
{
	static char name[] = "input";
	static struct cairn_elf no_file = {.path = name};
	struct cairn_cursor lengths = cairn_cursor((struct cairn_bytes){(const char *)data, size});
	struct cairn_cursor in = lengths;
	cairn_cursor_skip(&in, 2 * (count - 1));
	*dwarf = (struct cairn_dwarf){.elf = &no_file};
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++)
		dwarf->sections[i] = (struct cairn_bytes){"", 0};
	for (size_t i = 0; i < count; i++) {
		size_t length = i + 1 < count ? cairn_cursor_u16(&lengths) : SIZE_MAX;
		size_t left = cairn_cursor_left(&in);
		dwarf->sections[sections[i]] = cairn_cursor_bytes(&in, length < left ? length : left);
	}
}

#endif
