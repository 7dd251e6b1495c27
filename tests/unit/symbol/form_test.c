/* form_test.c - every form of attribute value.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/form.h"

#include "assemble.h"
#include "tap.h"

static void test_forms(void)
{
	static const char data[] = "\x81\x02\x83\x04\x85\x06\x87\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12";
	static const struct {
		uint64_t form;
		enum cairn_form_class kind;
		uint64_t number;
		size_t size;
	} cases[] = {
		{DW_FORM_addr, CAIRN_FORM_ADDRESS, 0x0887068504830281, 8},
		{DW_FORM_data1, CAIRN_FORM_NUMBER, 0x81, 1},
		{DW_FORM_data2, CAIRN_FORM_NUMBER, 0x0281, 2},
		{DW_FORM_data4, CAIRN_FORM_NUMBER, 0x04830281, 4},
		{DW_FORM_data8, CAIRN_FORM_NUMBER, 0x0887068504830281, 8},
		{DW_FORM_data16, CAIRN_FORM_NONE, 0, 16},
		{DW_FORM_flag, CAIRN_FORM_NUMBER, 0x81, 1},
		{DW_FORM_flag_present, CAIRN_FORM_NUMBER, 1, 0},
		{DW_FORM_udata, CAIRN_FORM_NUMBER, 0x101, 2},
		{DW_FORM_sdata, CAIRN_FORM_NUMBER, 0x101, 2},
		{DW_FORM_strp, CAIRN_FORM_STR, 0x04830281, 4},
		{DW_FORM_line_strp, CAIRN_FORM_LINE_STR, 0x04830281, 4},
		{DW_FORM_strp_sup, CAIRN_FORM_ALT_STR, 0x04830281, 4},
		{DW_FORM_GNU_strp_alt, CAIRN_FORM_ALT_STR, 0x04830281, 4},
		{DW_FORM_strx, CAIRN_FORM_STR_INDEX, 0x101, 2},
		{DW_FORM_GNU_str_index, CAIRN_FORM_STR_INDEX, 0x101, 2},
		{DW_FORM_strx1, CAIRN_FORM_STR_INDEX, 0x81, 1},
		{DW_FORM_strx2, CAIRN_FORM_STR_INDEX, 0x0281, 2},
		{DW_FORM_strx3, CAIRN_FORM_STR_INDEX, 0x830281, 3},
		{DW_FORM_strx4, CAIRN_FORM_STR_INDEX, 0x04830281, 4},
		{DW_FORM_addrx, CAIRN_FORM_ADDRESS_INDEX, 0x101, 2},
		{DW_FORM_GNU_addr_index, CAIRN_FORM_ADDRESS_INDEX, 0x101, 2},
		{DW_FORM_addrx1, CAIRN_FORM_ADDRESS_INDEX, 0x81, 1},
		{DW_FORM_addrx2, CAIRN_FORM_ADDRESS_INDEX, 0x0281, 2},
		{DW_FORM_addrx3, CAIRN_FORM_ADDRESS_INDEX, 0x830281, 3},
		{DW_FORM_addrx4, CAIRN_FORM_ADDRESS_INDEX, 0x04830281, 4},
		{DW_FORM_ref1, CAIRN_FORM_UNIT_REFERENCE, 0x81, 1},
		{DW_FORM_ref2, CAIRN_FORM_UNIT_REFERENCE, 0x0281, 2},
		{DW_FORM_ref4, CAIRN_FORM_UNIT_REFERENCE, 0x04830281, 4},
		{DW_FORM_ref8, CAIRN_FORM_UNIT_REFERENCE, 0x0887068504830281, 8},
		{DW_FORM_ref_udata, CAIRN_FORM_UNIT_REFERENCE, 0x101, 2},
		{DW_FORM_ref_addr, CAIRN_FORM_INFO_REFERENCE, 0x04830281, 4},
		{DW_FORM_GNU_ref_alt, CAIRN_FORM_ALT_REFERENCE, 0x04830281, 4},
		{DW_FORM_ref_sup4, CAIRN_FORM_ALT_REFERENCE, 0x04830281, 4},
		{DW_FORM_ref_sup8, CAIRN_FORM_ALT_REFERENCE, 0x0887068504830281, 8},
		{DW_FORM_ref_sig8, CAIRN_FORM_NONE, 0, 8},
		{DW_FORM_sec_offset, CAIRN_FORM_OFFSET, 0x04830281, 4},
		{DW_FORM_rnglistx, CAIRN_FORM_LIST_INDEX, 0x101, 2},
		{DW_FORM_loclistx, CAIRN_FORM_NONE, 0, 2},
	};
	static const struct cairn_encoding encoding = {5, 8, 4};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_cursor in = cairn_cursor((struct cairn_bytes){data, sizeof data - 1}), skipped = in;
		struct cairn_form_value value = cairn_value_read_form(cases[i].form, encoding, &in);
		struct cairn_step step;
		bool known = cairn_step_of_form(cases[i].form, encoding, &step);
		cairn_step_skip(&step, encoding, &skipped);
		ok(known && value.kind == cases[i].kind && value.number == cases[i].number && cairn_cursor_offset(&in) == cases[i].size &&
			in.at == skipped.at,
			"form 0x%llx", (unsigned long long)cases[i].form);
	}
}

static void test_blocks(void)
{
	static const struct {
		uint64_t form;
		const char *data;
		size_t size;
	} cases[] = {
		{DW_FORM_block1, "\3abcdef", 4},
		{DW_FORM_block2, "\3\0abcdef", 5},
		{DW_FORM_block4, "\3\0\0\0abcdef", 7},
		{DW_FORM_block, "\3abcdef", 4},
		{DW_FORM_exprloc, "\3abcdef", 4},
		{DW_FORM_string, "ab\0cdef", 3},
		{DW_FORM_indirect, "\x0b" "abcdef", 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_cursor in = cairn_cursor((struct cairn_bytes){cases[i].data, cases[i].size + 2}), cut = in;
		cairn_value_read_form(cases[i].form, (struct cairn_encoding){5, 8, 4}, &in);
		is_int(cairn_cursor_offset(&in), cases[i].size, "form 0x%llx", (unsigned long long)cases[i].form);
		cut.end = cut.at + cases[i].size - 1;
		cairn_value_read_form(cases[i].form, (struct cairn_encoding){5, 8, 4}, &cut);
		ok(cut.failed, "and cut short");
	}
}

static void test_sizes(void)
{
	struct cairn_cursor in = cairn_cursor((struct cairn_bytes){"\1\2\3\4\5\6\7\10", 8}), again = in;
	cairn_value_read_form(DW_FORM_ref_addr, (struct cairn_encoding){2, 8, 4}, &in);
	is_int(cairn_cursor_offset(&in), 8, "before version 3 a reference has the size of an address");
	is_int(cairn_value_read_form(DW_FORM_strp, (struct cairn_encoding){5, 8, 8}, &again).number, 0x0807060504030201,
	       "offsets of the 64-bit format");
}

int main(void)
{
	test_forms();
	test_blocks();
	test_sizes();
	return tap_done();
}
