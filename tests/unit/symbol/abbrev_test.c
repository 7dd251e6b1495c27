/* abbrev_test.c - abbreviation tables and stepping over entries.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/abbrev.h"

#include "assemble.h"
#include "tap.h"

static const struct cairn_encoding version4 = {4, 8, 4}, version5 = {5, 8, 4}, wide = {5, 8, 8};

static void test_compile(void)
{
	struct cairn_buffer out = cairn_buffer(1000);
	put_abbrev(&out, 1, DW_TAG_compile_unit, true, pairs(DW_AT_name, DW_FORM_strp, 0x25, DW_FORM_strp, DW_AT_low_pc, DW_FORM_addr));
	put_abbrev(&out, 2, DW_TAG_subprogram, true,
		pairs(DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8, DW_AT_sibling, DW_FORM_ref4));
	put_abbrev(&out, 3, DW_TAG_subprogram, false, pairs(DW_AT_name, DW_FORM_strp));
	put_abbrev(&out, 4, DW_TAG_structure_type, true, pairs(0x0b, DW_FORM_data1, DW_AT_sibling, DW_FORM_ref4));
	put_abbrev(&out, 5, 0x34, false, pairs(0x02, DW_FORM_exprloc));
	put(&out, 0, 1);
	struct cairn_abbrev_cache cache = {0};
	const struct cairn_abbrevs *table = cairn_abbrevs_at(&cache, cairn_buffer_bytes(&out), 0, version4);
	is_int(table->count, 5, "five abbreviations");
	const struct cairn_abbrev *unit = cairn_abbrevs_find(table, 1), *function = cairn_abbrevs_find(table, 2);
	is_int(unit->size, 16, "sizes add up");
	ok(unit->sized && unit->role == CAIRN_ENTRY_SCOPE && unit->has_children, "a unit is a scope");
	ok(!function->sized && function->role == CAIRN_ENTRY_FUNCTION && function->has_sibling && !function->placed_sibling,
	   "a function with an inline name has no fixed size");
	is_int(cairn_abbrevs_find(table, 3)->role, CAIRN_ENTRY_TYPE, "a function without code is a declaration");
	const struct cairn_abbrev *type = cairn_abbrevs_find(table, 4);
	ok(type->placed_sibling && type->sibling == 1, "the sibling of a type is at a known place");
	ok(!cairn_abbrevs_find(table, 0) && !cairn_abbrevs_find(table, 6) && !cairn_abbrevs_find(table, UINT64_MAX), "no other codes");
	ok(cairn_abbrevs_at(&cache, cairn_buffer_bytes(&out), 0, version4) == table, "the same table is compiled once");
	is_int(cairn_abbrevs_find(cairn_abbrevs_at(&cache, cairn_buffer_bytes(&out), 0, wide), 1)->size, 24,
	       "the 64-bit format has its own");

	struct cairn_buffer entry = cairn_buffer(100);
	put_text(&entry, "name");
	put(&entry, 0, 8 + 8 + 4);
	put_bytes(&entry, 3, 9, 9, 9, 7);
	struct cairn_cursor in = cairn_cursor(cairn_buffer_bytes(&entry));
	cairn_abbrev_skip(table, function, &in);
	is_int(cairn_cursor_offset(&in), 25, "an entry with a name is stepped over");
	cairn_abbrev_skip(table, cairn_abbrevs_find(table, 5), &in);
	is_int(*in.at, 7, "and one with an expression");
	cairn_abbrev_cache_free(&cache);
	cairn_buffer_free(&entry);
	cairn_buffer_free(&out);
}

static void test_sparse(void)
{
	struct cairn_buffer out = cairn_buffer(1000);
	put_abbrev(&out, 7, 0x24, false, pairs(DW_AT_name, DW_FORM_strp));
	put_abbrev(&out, 1000000, 0x34, false, pairs(DW_AT_name, DW_FORM_data2));
	put(&out, 0, 1);
	struct cairn_abbrev_cache cache = {0};
	const struct cairn_abbrevs *table = cairn_abbrevs_at(&cache, cairn_buffer_bytes(&out), 0, version5);
	is_int(cairn_abbrevs_find(table, 7)->size, 4, "codes need not count from one");
	is_int(cairn_abbrevs_find(table, 1000000)->size, 2, "nor be small");
	ok(!cairn_abbrevs_find(table, 1) && !cairn_abbrevs_find(table, 8), "others are not there");
	cairn_abbrev_cache_free(&cache);
	cairn_buffer_free(&out);
}

static void test_damage(void)
{
	struct cairn_buffer out = cairn_buffer(1000);
	put_abbrev(&out, 1, 0x24, false, pairs(DW_AT_name, DW_FORM_strp));
	put_abbrev(&out, 2, 0x24, false, pairs(DW_AT_name, 0x7777));
	put_abbrev(&out, 3, 0x24, false, pairs(DW_AT_name, DW_FORM_strp));
	struct cairn_abbrev_cache cache = {0};
	is_int(cairn_abbrevs_at(&cache, cairn_buffer_bytes(&out), 0, version5)->count, 1, "a table ends at a form nobody knows");
	is_int(cairn_abbrevs_at(&cache, cairn_buffer_bytes(&out), 5000, version5)->count, 0, "past the section there is none");
	cairn_abbrev_cache_free(&cache);
	is_int(cairn_abbrevs_at(&cache, (struct cairn_bytes){out.data, 5}, 0, version5)->count, 0, "one cut short has nothing");
	struct cairn_step step = {.kind = CAIRN_STEP_INDIRECT};
	struct cairn_cursor in = cairn_cursor((struct cairn_bytes){"\x16\x16\x16", 3});
	cairn_step_skip(&step, version5, &in);
	ok(in.failed, "an indirect form that is indirect again is refused");
	cairn_abbrev_cache_free(&cache);
	cairn_buffer_free(&out);
}

int main(void)
{
	test_compile();
	test_sparse();
	test_damage();
	return tap_done();
}
