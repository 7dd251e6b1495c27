/* unit.h - compilation units: their headers, their root entries, and finding one by offset.
 *
 * A unit is a tree of entries in .debug_info. Its header and its root entry are enough to know whether it can contain an address; the
 * rest is walked only for addresses that it does contain (function.h). Some values can be understood only together with their unit:
 * strings and addresses by index, addresses relative to the unit's base.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_UNIT_H
#define CAIRN_SYMBOL_UNIT_H

#include "symbol/dwarf.h"
#include "symbol/form.h"

struct cairn_unit {
	struct cairn_dwarf *dwarf;
	uint64_t offset; /* of the header in .debug_info */
	uint64_t end;
	uint64_t first_entry; /* offset of the root */
	uint64_t abbrev_offset;
	struct cairn_encoding encoding;
	uint8_t type; /* DW_UT_…; made up for versions before 5 */
	uint16_t tag; /* of the root; 0 when it could not be read */

	bool is_c;    /* names are not mangled */
	bool mangles; /* the symbol table has names of functions that say more than their plain names */
	bool is_assembler; /* the assembler generated the entries: the symbol table has the names people use */
	const char *directory; /* DW_AT_comp_dir, or NULL */
	const char *dwo_name;
	bool has_dwo_id;
	uint64_t dwo_id;
	bool has_lines;
	uint64_t lines; /* offset in .debug_line */
	struct cairn_form_value low, high, ranges, producer; /* of the root */
	uint64_t base;                        /* address that ranges start from: the root's low_pc, or 0 */
	uint64_t str_offsets_base, addr_base, rnglists_base;
	uint64_t ranges_base; /* GNU split DWARF 4: added to offsets of .debug_ranges in the .dwo */
	/* In a split unit: the skeleton, whose file holds .debug_addr (and .debug_ranges in version 4). */
	const struct cairn_unit *skeleton;
};

/* Reads the header at OFFSET. Returns false at the end of the section and if the header is invalid; *NEXT is then 0 if nothing after it
 * can be found. Otherwise *NEXT is the start of the next unit. Waits until the header is decompressed. The unit is then held until
 * cairn_unit_release, which is not needed where .debug_info is never a stream, as in split DWARF. */
bool cairn_unit_read(struct cairn_unit *unit, struct cairn_dwarf *dwarf, uint64_t offset, uint64_t *next);
void cairn_unit_release(const struct cairn_unit *unit);

/* Waits until the unit is decompressed, and reads the root entry. False when it cannot be read. */
bool cairn_unit_read_root(struct cairn_unit *unit, struct cairn_abbrev_cache *cache);

/* Whether the unit can contain code: it is neither a type unit nor a partial unit that others import. */
static inline bool cairn_unit_has_code(const struct cairn_unit *unit)
{
	return unit->type != DW_UT_type && unit->type != DW_UT_split_type && unit->type != DW_UT_partial;
}

/* The meaning of VALUE in UNIT. NULL or false if it is absent or invalid. */
const char *cairn_unit_text(const struct cairn_unit *unit, const struct cairn_form_value *value);
bool cairn_unit_address(const struct cairn_unit *unit, const struct cairn_form_value *value, uint64_t *address);

/* A cursor over the unit's bytes whose offsets count from the start of .debug_info, placed at OFFSET. */
struct cairn_cursor cairn_unit_cursor(const struct cairn_unit *unit, uint64_t offset);

/* The units of DWARF, for references from one into another. Any thread may use it. Owned by the caller. */
struct cairn_units *cairn_units_new(struct cairn_dwarf *dwarf);
void cairn_units_free(struct cairn_units *units);

/* The unit that contains OFFSET of .debug_info, with its root read, or NULL. Borrowed: lives as long as UNITS. Waits until everything
 * before it is decompressed. It is not held. */
const struct cairn_unit *cairn_units_find(struct cairn_units *units, uint64_t offset);

#endif
