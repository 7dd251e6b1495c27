/* ranges_test.c - both forms of range lists, base addresses, and code the linker removed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/ranges.h"

#include "assemble.h"
#include "tap.h"

static const struct cairn_form_value none;

/* The ranges as "low-high low-high", in hex. */
static const char *spell(struct cairn_ranges ranges)
{
	static char text[500];
	struct cairn_range range;
	size_t used = 0;
	text[0] = '\0';
	while (cairn_ranges_next(&ranges, &range) && used < sizeof text - 50)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%llx-%llx", used ? " " : "", (unsigned long long)range.low,
			(unsigned long long)range.high);
	return text;
}

static void test_single(void)
{
	struct cairn_dwarf dwarf;
	make_dwarf(&dwarf);
	struct cairn_unit unit = {.dwarf = &dwarf, .encoding = {4, 8, 4}};
	struct cairn_form_value low = {.kind = CAIRN_FORM_ADDRESS, .number = 0x1000}, length = {.kind = CAIRN_FORM_NUMBER, .number = 0x20};
	struct cairn_form_value high = {.kind = CAIRN_FORM_ADDRESS, .number = 0x1080};
	is_text(spell(cairn_ranges(&unit, &low, &length, &none)), "1000-1020", "high_pc as a length");
	is_text(spell(cairn_ranges(&unit, &low, &high, &none)), "1000-1080", "high_pc as an address");
	is_text(spell(cairn_ranges(&unit, &low, &none, &none)), "", "no high_pc");
	is_text(spell(cairn_ranges(&unit, &none, &high, &none)), "", "no low_pc");
	static const uint64_t removed[] = {0, UINT64_MAX, UINT64_MAX - 1};
	for (size_t i = 0; i < 3; i++) {
		low.number = removed[i];
		is_text(spell(cairn_ranges(&unit, &low, &length, &none)), "", "removed code at %llx", (unsigned long long)removed[i]);
	}
	dwarf.zero_is_code = true;
	low.number = 0;
	is_text(spell(cairn_ranges(&unit, &low, &length, &none)), "0-20", "unless code is at 0");
}

static void test_old(void)
{
	struct cairn_buffer out = cairn_buffer(1000);
	static const uint64_t list[] = {0x10, 0x20, 0x30, 0x30, UINT64_MAX, 0x5000, 0x1, 0x2, UINT64_MAX - 1, UINT64_MAX - 1,
					UINT64_MAX, 0, 1, 1, 0x7000, 0x7001, 0, 0, 0x99, 0xaa};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		put(&out, list[i], 8);
	struct cairn_dwarf dwarf;
	make_dwarf(&dwarf);
	dwarf.sections[CAIRN_DWARF_RANGES] = cairn_buffer_bytes(&out);
	struct cairn_unit unit = {.dwarf = &dwarf, .encoding = {4, 8, 4}, .base = 0x1000};
	struct cairn_form_value offset = {.kind = CAIRN_FORM_OFFSET, .number = 0};
	is_text(spell(cairn_ranges(&unit, &none, &none, &offset)), "1010-1020 5001-5002 7000-7001", "base of the unit, then of the list");
	struct cairn_unit skeleton = unit;
	skeleton.ranges_base = 96;
	struct cairn_dwarf other;
	make_dwarf(&other);
	struct cairn_unit split = {.dwarf = &other, .encoding = {4, 8, 4}, .skeleton = &skeleton};
	skeleton.base = 0;
	offset.number = 16;
	is_text(spell(cairn_ranges(&split, &none, &none, &offset)), "7000-7001", "a split unit's list is with the skeleton");
	offset.number = 1 << 20;
	is_text(spell(cairn_ranges(&unit, &none, &none, &offset)), "", "an offset past the section");
	dwarf.sections[CAIRN_DWARF_RANGES].length = 24;
	offset.number = 0;
	is_text(spell(cairn_ranges(&unit, &none, &none, &offset)), "1010-1020", "a list cut short");
	cairn_buffer_free(&out);
}

static void test_new(void)
{
	struct cairn_buffer addresses = cairn_buffer(100), out = cairn_buffer(1000);
	put(&addresses, 0x2000, 8);
	put(&addresses, 0x2100, 8);
	put(&out, 4, 4); /* the offsets: one list, four bytes on */
	put_bytes(&out, 4, 0x10, 0x20);                      /* offset_pair */
	put_bytes(&out, 1, 0, 4, 1, 2);                      /* base_addressx, offset_pair */
	put_bytes(&out, 2, 0, 1, 3, 1, 9);                   /* startx_endx, startx_length */
	put_bytes(&out, 5);
	put(&out, 0x6000, 8);
	put_bytes(&out, 4, 0, 1, 6);                         /* base_address, offset_pair, start_end */
	put(&out, 0x7000, 8);
	put(&out, 0x7010, 8);
	put_bytes(&out, 7);
	put(&out, 0x8000, 8);
	put_bytes(&out, 5, 7);                               /* start_length, then one of removed code */
	put(&out, UINT64_MAX, 8);
	put_bytes(&out, 5, 0, 4, 1, 9);                      /* end of list */
	struct cairn_dwarf dwarf;
	make_dwarf(&dwarf);
	dwarf.sections[CAIRN_DWARF_RNGLISTS] = cairn_buffer_bytes(&out);
	dwarf.sections[CAIRN_DWARF_ADDR] = cairn_buffer_bytes(&addresses);
	struct cairn_unit unit = {.dwarf = &dwarf, .encoding = {5, 8, 4}, .base = 0x1000};
	struct cairn_form_value offset = {.kind = CAIRN_FORM_OFFSET, .number = 4}, index = {.kind = CAIRN_FORM_LIST_INDEX, .number = 0};
	static const char wanted[] = "1010-1020 2001-2002 2000-2100 2100-2109 6000-6001 7000-7010 8000-8005";
	is_text(spell(cairn_ranges(&unit, &none, &none, &offset)), wanted, "every kind of entry, by offset");
	is_text(spell(cairn_ranges(&unit, &none, &none, &index)), wanted, "and by index");
	index.number = UINT64_MAX;
	is_text(spell(cairn_ranges(&unit, &none, &none, &index)), "", "an index past the offsets");
	cairn_buffer_free(&addresses);
	cairn_buffer_free(&out);
}

static void test_addresses(void)
{
	static const uint64_t sorted[] = {5, 10, 11, 20};
	size_t found;
	is_int(cairn_addresses_within(sorted, 4, (struct cairn_range){10, 20}, &found), 1, "the first address in a range");
	is_int(found, 2, "and how many");
	cairn_addresses_within(sorted, 4, (struct cairn_range){21, UINT64_MAX}, &found);
	is_int(found, 0, "none");
	is_int(cairn_addresses_find(sorted, 4, 0), 0, "before all");
	is_int(cairn_addresses_find(sorted, 4, 21), 4, "behind all");
}

int main(void)
{
	test_single();
	test_old();
	test_new();
	test_addresses();
	return tap_done();
}
