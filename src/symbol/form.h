/* form.h - encoded attribute values, which get their meaning from a unit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FORM_H
#define CAIRN_SYMBOL_FORM_H

#include "symbol/abbrev.h"

/* The classes of DWARF 5, 7.5.5, distinguished by what the number refers to. */
enum cairn_form_class {
	CAIRN_FORM_NONE, /* absent, or of a class that is not needed */
	CAIRN_FORM_NUMBER,
	CAIRN_FORM_ADDRESS,
	CAIRN_FORM_ADDRESS_INDEX, /* in .debug_addr */
	CAIRN_FORM_OFFSET,        /* in the section the attribute is about */
	CAIRN_FORM_LIST_INDEX,    /* in the offsets of .debug_rnglists */
	CAIRN_FORM_TEXT,          /* `text` itself */
	CAIRN_FORM_STR,           /* in .debug_str */
	CAIRN_FORM_LINE_STR,
	CAIRN_FORM_STR_INDEX, /* in .debug_str_offsets */
	CAIRN_FORM_ALT_STR,   /* in .debug_str of the shared file */
	CAIRN_FORM_UNIT_REFERENCE, /* from the start of the unit */
	CAIRN_FORM_INFO_REFERENCE, /* from the start of .debug_info */
	CAIRN_FORM_ALT_REFERENCE,  /* from the start of .debug_info of the shared file */
};

struct cairn_form_value {
	enum cairn_form_class kind;
	uint64_t number;
	const char *text;
};

/* Reads the value at IN that STEP of TABLE describes. */
struct cairn_form_value cairn_value_read(const struct cairn_abbrevs *table, const struct cairn_step *step, struct cairn_cursor *in);

/* Reads a value of FORM; for line number headers, which have forms but no abbreviations. */
struct cairn_form_value cairn_value_read_form(uint64_t form, struct cairn_encoding encoding, struct cairn_cursor *in);

#endif
