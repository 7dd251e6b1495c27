/* unit_test.c - unit headers of every version and format, roots, and finding units by offset.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/unit.h"

#include "assemble.h"
#include "tap.h"

static struct cairn_buffer abbrev, info;
static struct cairn_dwarf dwarf;
static struct cairn_abbrev_cache cache;

static void setup(void)
{
	abbrev = cairn_buffer(1000);
	info = cairn_buffer(1000);
	put_abbrev(&abbrev, 1, DW_TAG_compile_unit, false,
		   pairs(DW_AT_comp_dir, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, DW_AT_stmt_list,
			 DW_FORM_sec_offset, DW_AT_language, DW_FORM_data1));
	put_abbrev(&abbrev, 2, DW_TAG_skeleton_unit, false,
		   pairs(DW_AT_low_pc, DW_FORM_addrx, DW_AT_dwo_name, DW_FORM_strx1, DW_AT_addr_base, DW_FORM_sec_offset,
			 DW_AT_str_offsets_base, DW_FORM_sec_offset));
	put_abbrev(&abbrev, 3, DW_TAG_partial_unit, false, pairs(DW_AT_name, DW_FORM_string));
	put(&abbrev, 0, 1);
}

static void finish(void)
{
	make_dwarf(&dwarf);
	dwarf.sections[CAIRN_DWARF_ABBREV] = cairn_buffer_bytes(&abbrev);
	dwarf.sections[CAIRN_DWARF_INFO] = cairn_buffer_bytes(&info);
}

static void teardown(void)
{
	cairn_abbrev_cache_free(&cache);
	cairn_buffer_free(&abbrev);
	cairn_buffer_free(&info);
}

static void put_root(unsigned offset_size)
{
	put_bytes(&info, 1);
	put_text(&info, "/build");
	put(&info, 0x1000, 8);
	put(&info, 0x50, 4);
	put(&info, 0x77, offset_size);
	put_bytes(&info, 0x0c);
}

static void test_versions(void)
{
	setup();
	for (unsigned version = 2; version <= 5; version++) {
		size_t start = begin_unit(&info, version);
		put_root(4);
		end_unit(&info, start);
	}
	size_t wide = info.length;
	put(&info, UINT32_MAX, 4);
	put(&info, 0, 8);
	put(&info, 5, 2);
	put_bytes(&info, DW_UT_compile, 8);
	put(&info, 0, 8);
	put_root(8);
	patch(&info, wide + 4, info.length - wide - 12, 8);
	finish();
	struct cairn_unit unit;
	uint64_t offset = 0, next;
	for (unsigned i = 2; i <= 6; i++, offset = next) {
		bool good = cairn_unit_read(&unit, &dwarf, offset, &next) && cairn_unit_read_root(&unit, &cache);
		ok(good && unit.encoding.version == (i <= 5 ? i : 5) && unit.encoding.offset_size == (i <= 5 ? 4 : 8), "header %u", i);
		ok(unit.base == 0x1000 && unit.has_lines && unit.lines == 0x77 && unit.is_c && unit.tag == DW_TAG_compile_unit, "its root");
		is_text(unit.directory, "/build", "its directory");
	}
	ok(!cairn_unit_read(&unit, &dwarf, offset, &next) && next == 0, "then there are no more");

	struct cairn_units *units = cairn_units_new(&dwarf);
	const struct cairn_unit *found = cairn_units_find(units, wide + 20), *first = cairn_units_find(units, 5);
	ok(found && found->offset == wide, "the unit an offset is in");
	ok(first && first->offset == 0, "and an earlier one");
	ok(!cairn_units_find(units, info.length) && !cairn_units_find(units, UINT64_MAX), "none past the end");
	cairn_units_free(units);
	teardown();
}

static void test_skeleton(void)
{
	struct cairn_buffer addresses = cairn_buffer(100), offsets = cairn_buffer(100);
	setup();
	size_t start = info.length;
	put(&info, 0, 4);
	put(&info, 5, 2);
	put_bytes(&info, DW_UT_skeleton, 8);
	put(&info, 0, 4);
	put(&info, 0x1122334455667788, 8);
	put_bytes(&info, 2, 1, 1);
	put(&info, 8, 4);
	put(&info, 8, 4);
	end_unit(&info, start);
	put(&addresses, 0, 8 + 8);
	put(&addresses, 0x4000, 8);
	put(&offsets, 0, 8 + 4);
	put(&offsets, 3, 4);
	finish();
	dwarf.sections[CAIRN_DWARF_ADDR] = cairn_buffer_bytes(&addresses);
	dwarf.sections[CAIRN_DWARF_STR_OFFSETS] = cairn_buffer_bytes(&offsets);
	dwarf.sections[CAIRN_DWARF_STR] = (struct cairn_bytes){"ab\0unit.dwo", 12};
	struct cairn_unit unit;
	uint64_t next;
	ok(cairn_unit_read(&unit, &dwarf, 0, &next) && cairn_unit_read_root(&unit, &cache), "a skeleton");
	ok(unit.has_dwo_id && unit.dwo_id == 0x1122334455667788, "its id");
	is_text(unit.dwo_name, "unit.dwo", "its name, by index, though the base comes later");
	is_int(unit.base, 0x4000, "its address, by index");
	struct cairn_form_value beyond = {.kind = CAIRN_FORM_STR_INDEX, .number = UINT64_MAX / 4};
	ok(!cairn_unit_text(&unit, &beyond), "an index past the table leads nowhere");
	beyond.kind = CAIRN_FORM_STR;
	ok(!cairn_unit_text(&unit, &beyond), "nor does an offset past the strings");
	cairn_buffer_free(&addresses);
	cairn_buffer_free(&offsets);
	teardown();
}

static void test_damage(void)
{
	setup();
	size_t start = begin_unit(&info, 5);
	put_root(4);
	end_unit(&info, start);
	finish();
	struct cairn_unit unit;
	uint64_t next;
	size_t read = 0;
	for (size_t length = 0; length < info.length; length++) {
		dwarf.sections[CAIRN_DWARF_INFO].length = length;
		read += cairn_unit_read(&unit, &dwarf, 0, &next);
	}
	is_int(read, 0, "a unit that is cut short is not read");
	dwarf.sections[CAIRN_DWARF_INFO].length = info.length;
	info.data[4] = 9;
	ok(!cairn_unit_read(&unit, &dwarf, 0, &next) && next == info.length, "a version nobody knows is stepped over");
	info.data[4] = 5;
	info.data[12] = 99;
	ok(cairn_unit_read(&unit, &dwarf, 0, &next) && !cairn_unit_read_root(&unit, &cache), "a root of no known abbreviation");
	info.data[12] = 3;
	ok(cairn_unit_read(&unit, &dwarf, 0, &next) && cairn_unit_read_root(&unit, &cache) && !cairn_unit_has_code(&unit),
	   "a partial unit has no code");
	teardown();
}

int main(void)
{
	test_versions();
	test_skeleton();
	test_damage();
	return tap_done();
}
