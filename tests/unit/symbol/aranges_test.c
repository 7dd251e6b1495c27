/* aranges_test.c - .debug_aranges of several units, with zeros in their midst, and of other machines.
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

/* Two pairs with zeros between them, of addresses of SIZE bytes, in either byte order. */
static void put_foreign(struct cairn_buffer *out, unsigned size, bool big_endian)
{
	struct cairn_buffer fields = cairn_buffer(200);
	const uint64_t values[] = {0, 2, 0x700, size, 0};
	const unsigned widths[] = {4, 2, 4, 1, 1};
	for (unsigned i = 0; i < 5; i++) {
		uint64_t value = big_endian ? __builtin_bswap64(values[i]) >> (64 - 8 * widths[i]) : values[i];
		put(&fields, value, widths[i]);
	}
	while (fields.length % (2 * size))
		put(&fields, 0, 1);
	static const uint64_t pairs_of[] = {0x4000, 0x10, 0, 0, 0x5000, 0x20, 0, 0};
	for (unsigned i = 0; i < 8; i++)
		put(&fields, big_endian ? __builtin_bswap64(pairs_of[i]) >> (64 - 8 * size) : pairs_of[i], size);
	uint64_t length = fields.length - 4;
	patch(&fields, 0, big_endian ? __builtin_bswap32((uint32_t)length) : length, 4);
	cairn_buffer_append(out, fields.data, fields.length);
	cairn_buffer_free(&fields);
}

static void test_foreign(unsigned size, bool big_endian, const char *name)
{
	struct cairn_buffer section = cairn_buffer(1000), file;
	put_foreign(&section, size, big_endian);
	const struct elf_part parts[] = {{".debug_aranges", cairn_buffer_bytes(&section), 0, 0, 0}};
	make_elf(&file, parts, 1);
	struct cairn_elf *elf = cairn_elf_open_bytes(cairn_buffer_bytes(&file), "made", NULL);
	elf->layout = (struct cairn_layout){.narrow = size == 4, .big_endian = big_endian};
	struct cairn_dwarf dwarf;
	cairn_dwarf_open(&dwarf, elf, false);
	struct cairn_aranges aranges;
	static const uint64_t addresses[] = {0, 0x4001, 0x5001, 0x5020};
	cairn_aranges_match(&aranges, &dwarf, addresses, 4);
	ok(aranges.unit_count == 1 && aranges.units[0] == 0x700, "%s: the unit", name);
	ok(aranges.touch_count == 2 && aranges.touches[0].first == 1 && aranges.touches[0].count == 1, "%s: what is before the zeros",
		name);
	ok(aranges.touch_count == 2 && aranges.touches[1].first == 2 && aranges.touches[1].count == 1, "%s: and behind them", name);
	cairn_aranges_free(&aranges);
	cairn_elf_close(elf);
	cairn_buffer_free(&file);
	cairn_buffer_free(&section);
}

int main(void)
{
	test_foreign(8, false, "64 bits");
	test_foreign(4, false, "32 bits");
	test_foreign(8, true, "64 bits, big-endian");
	test_foreign(4, true, "32 bits, big-endian");
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
