/* form.c - decoding attribute values (DWARF 5, 7.5.6).
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/form.h"

#include "symbol/dwarf.h"

static uint64_t read_u24(struct cairn_cursor *in)
{
	uint64_t first = cairn_cursor_u16(in), last = cairn_cursor_u8(in);
	return in->big_endian ? first << 8 | last : first | last << 16;
}

static struct cairn_form_value value(enum cairn_form_class kind, uint64_t number)
{
	return (struct cairn_form_value){.kind = kind, .number = number};
}

static struct cairn_form_value skip_form(uint64_t form, struct cairn_encoding encoding, struct cairn_cursor *in)
{
	struct cairn_step step;
	if (cairn_step_of_form(form, encoding, &step))
		cairn_step_skip(&step, encoding, in);
	else
		cairn_cursor_fail(in);
	return value(CAIRN_FORM_NONE, 0);
}

struct cairn_form_value cairn_value_read_form(uint64_t form, struct cairn_encoding encoding, struct cairn_cursor *in)
{
	switch (form) {
	case DW_FORM_addr:
		return value(CAIRN_FORM_ADDRESS, cairn_cursor_sized(in, encoding.address_size));
	case DW_FORM_data1:
	case DW_FORM_flag:
		return value(CAIRN_FORM_NUMBER, cairn_cursor_u8(in));
	case DW_FORM_data2:
		return value(CAIRN_FORM_NUMBER, cairn_cursor_u16(in));
	case DW_FORM_data4:
		return value(CAIRN_FORM_NUMBER, cairn_cursor_u32(in));
	case DW_FORM_data8:
		return value(CAIRN_FORM_NUMBER, cairn_cursor_u64(in));
	case DW_FORM_udata:
		return value(CAIRN_FORM_NUMBER, cairn_cursor_uleb(in));
	case DW_FORM_sdata:
		return value(CAIRN_FORM_NUMBER, (uint64_t)cairn_cursor_sleb(in));
	case DW_FORM_flag_present:
		return value(CAIRN_FORM_NUMBER, 1);
	case DW_FORM_sec_offset:
		return value(CAIRN_FORM_OFFSET, cairn_cursor_sized(in, encoding.offset_size));
	case DW_FORM_rnglistx:
		return value(CAIRN_FORM_LIST_INDEX, cairn_cursor_uleb(in));
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		return value(CAIRN_FORM_ADDRESS_INDEX, cairn_cursor_uleb(in));
	case DW_FORM_addrx1:
		return value(CAIRN_FORM_ADDRESS_INDEX, cairn_cursor_u8(in));
	case DW_FORM_addrx2:
		return value(CAIRN_FORM_ADDRESS_INDEX, cairn_cursor_u16(in));
	case DW_FORM_addrx3:
		return value(CAIRN_FORM_ADDRESS_INDEX, read_u24(in));
	case DW_FORM_addrx4:
		return value(CAIRN_FORM_ADDRESS_INDEX, cairn_cursor_u32(in));
	case DW_FORM_string:
		return (struct cairn_form_value){.kind = CAIRN_FORM_TEXT, .text = cairn_cursor_text(in).data};
	case DW_FORM_strp:
		return value(CAIRN_FORM_STR, cairn_cursor_sized(in, encoding.offset_size));
	case DW_FORM_line_strp:
		return value(CAIRN_FORM_LINE_STR, cairn_cursor_sized(in, encoding.offset_size));
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		return value(CAIRN_FORM_ALT_STR, cairn_cursor_sized(in, encoding.offset_size));
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		return value(CAIRN_FORM_STR_INDEX, cairn_cursor_uleb(in));
	case DW_FORM_strx1:
		return value(CAIRN_FORM_STR_INDEX, cairn_cursor_u8(in));
	case DW_FORM_strx2:
		return value(CAIRN_FORM_STR_INDEX, cairn_cursor_u16(in));
	case DW_FORM_strx3:
		return value(CAIRN_FORM_STR_INDEX, read_u24(in));
	case DW_FORM_strx4:
		return value(CAIRN_FORM_STR_INDEX, cairn_cursor_u32(in));
	case DW_FORM_ref1:
		return value(CAIRN_FORM_UNIT_REFERENCE, cairn_cursor_u8(in));
	case DW_FORM_ref2:
		return value(CAIRN_FORM_UNIT_REFERENCE, cairn_cursor_u16(in));
	case DW_FORM_ref4:
		return value(CAIRN_FORM_UNIT_REFERENCE, cairn_cursor_u32(in));
	case DW_FORM_ref8:
		return value(CAIRN_FORM_UNIT_REFERENCE, cairn_cursor_u64(in));
	case DW_FORM_ref_udata:
		return value(CAIRN_FORM_UNIT_REFERENCE, cairn_cursor_uleb(in));
	case DW_FORM_ref_addr:
		return value(CAIRN_FORM_INFO_REFERENCE,
			cairn_cursor_sized(in, encoding.version <= 2 ? encoding.address_size : encoding.offset_size));
	case DW_FORM_GNU_ref_alt:
		return value(CAIRN_FORM_ALT_REFERENCE, cairn_cursor_sized(in, encoding.offset_size));
	case DW_FORM_ref_sup4:
		return value(CAIRN_FORM_ALT_REFERENCE, cairn_cursor_u32(in));
	case DW_FORM_ref_sup8:
		return value(CAIRN_FORM_ALT_REFERENCE, cairn_cursor_u64(in));
	case DW_FORM_indirect: {
		uint64_t actual = cairn_cursor_uleb(in);
		if (actual != DW_FORM_indirect && actual != DW_FORM_implicit_const)
			return cairn_value_read_form(actual, encoding, in);
		cairn_cursor_fail(in);
		return value(CAIRN_FORM_NONE, 0);
	}
	default:
		return skip_form(form, encoding, in);
	}
}

struct cairn_form_value cairn_value_read(const struct cairn_abbrevs *table, const struct cairn_step *step, struct cairn_cursor *in)
{
	if (step->implicit)
		return value(CAIRN_FORM_NUMBER, (uint64_t)table->implicit[step->size]);
	return cairn_value_read_form(step->form, table->encoding, in);
}
