/* aranges_test.c - .debug_aranges of several units.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/aranges.h"

#include "assemble.h"
#include "tap.h"

static void put_set(struct cairn_buffer *out, uint64_t unit, const uint64_t *list)
{
	size_t start = out->length;
	put(out, 0, 4);
	put(out, 2, 2);
	put(out, unit, 4);
	put_bytes(out, 8, 0, 0, 0, 0, 0);
	for (; list[0] || list[1]; list += 2) {
		put(out, list[0], 8);
		put(out, list[1], 8);
	}
	put(out, 0, 16);
	patch(out, start, out->length - start - 4, 4);
}

int main(void)
{
	struct cairn_buffer section = cairn_buffer(1000), file;
	put_set(&section, 0x500, (const uint64_t[]){0x3000, 0x10, 0x1000, 0x100, 0, 0});
	put_set(&section, 0x100, (const uint64_t[]){0x2000, 0x10, UINT64_MAX - 4, 0x100, 0, 0});
	put_set(&section, 0x900, (const uint64_t[]){0, 0});
	put(&section, 0xffff, 4); /* a set that is cut short */
	const struct elf_part parts[] = {{".debug_aranges", cairn_buffer_bytes(&section), 0, 0, 0}};
	make_elf(&file, parts, 1);
	struct cairn_elf *elf = cairn_elf_open_bytes(cairn_buffer_bytes(&file), "made", NULL);
	struct cairn_dwarf dwarf;
	cairn_dwarf_open(&dwarf, elf, false);
	struct cairn_aranges aranges;
	static const uint64_t addresses[] = {0xfff, 0x1000, 0x10ff, 0x1100, 0x2003, 0x3000, UINT64_MAX};
	cairn_aranges_match(&aranges, &dwarf, addresses, 7);
	is_int(aranges.unit_count, 2, "units with ranges; one without does not count");
	ok(aranges.units[0] == 0x100 && aranges.units[1] == 0x500, "in order");
	if (ok(aranges.touch_count == 3, "three ranges have addresses")) {
		ok(aranges.touches[0].unit == 0x100 && aranges.touches[0].first == 4 && aranges.touches[0].count == 1, "the first unit's");
		ok(aranges.touches[1].unit == 0x500 && aranges.touches[1].first == 1 && aranges.touches[1].count == 2, "the second's");
		ok(aranges.touches[2].first == 5 && aranges.touches[2].count == 1, "its other range");
	}
	cairn_aranges_free(&aranges);
	cairn_elf_close(elf);
	cairn_buffer_free(&file);
	cairn_buffer_free(&section);
	return tap_done();
}
