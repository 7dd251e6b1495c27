/* form.h - encoded attribute values, which get their meaning from a unit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FORM_H
#define CAIRN_SYMBOL_FORM_H

#include "symbol/abbrev.h"

/* The classes of DWARF 5, 7.5.5, distinguished by what the number refers to. */
enum cairn_value_kind {
	CAIRN_VALUE_NONE, /* absent, or of a class that is not needed */
	CAIRN_VALUE_NUMBER,
	CAIRN_VALUE_ADDRESS,
	CAIRN_VALUE_ADDRESS_INDEX, /* in .debug_addr */
	CAIRN_VALUE_OFFSET,        /* in the section the attribute is about */
	CAIRN_VALUE_LIST_INDEX,    /* in the offsets of .debug_rnglists */
	CAIRN_VALUE_TEXT,          /* `text` itself */
	CAIRN_VALUE_STR,           /* in .debug_str */
	CAIRN_VALUE_LINE_STR,
	CAIRN_VALUE_STR_INDEX, /* in .debug_str_offsets */
	CAIRN_VALUE_ALT_STR,   /* in .debug_str of the shared file */
	CAIRN_VALUE_UNIT_REFERENCE, /* from the start of the unit */
	CAIRN_VALUE_INFO_REFERENCE, /* from the start of .debug_info */
	CAIRN_VALUE_ALT_REFERENCE,  /* from the start of .debug_info of the shared file */
};

struct cairn_value {
	enum cairn_value_kind kind;
	uint64_t number;
	const char *text;
};

/* Reads the value at IN that STEP of TABLE describes. */
struct cairn_value cairn_value_read(const struct cairn_abbrevs *table, const struct cairn_step *step, struct cairn_cursor *in);

/* Reads a value of FORM; for line number headers, which have forms but no abbreviations. */
struct cairn_value cairn_value_read_form(uint64_t form, struct cairn_encoding encoding, struct cairn_cursor *in);

#endif
