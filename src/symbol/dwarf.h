/* dwarf.h - the DWARF sections of one file, and the constants of DWARF 2 to 5 that the readers know.
 *
 * A *file* here is anything with a .debug_info: a binary, its separate debug file, dwz's shared file, a .dwo, or one unit's part of a
 * .dwp. The bytes of a compressed section appear while it is being decompressed; `cairn_dwarf_await` waits for a part of a section. In a
 * large file .debug_info and .debug_line are streams (base/inflate.h): a part of them can be read only while it is held.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_DWARF_H
#define CAIRN_SYMBOL_DWARF_H

#include "base/arena.h"
#include "symbol/elf.h"

enum cairn_dwarf_section {
	CAIRN_DWARF_INFO,
	CAIRN_DWARF_ABBREV,
	CAIRN_DWARF_LINE,
	CAIRN_DWARF_LINE_STR,
	CAIRN_DWARF_STR,
	CAIRN_DWARF_STR_OFFSETS,
	CAIRN_DWARF_ADDR,
	CAIRN_DWARF_RANGES,
	CAIRN_DWARF_RNGLISTS,
	CAIRN_DWARF_SECTIONS,
};

struct cairn_units;

struct cairn_dwarf {
	struct cairn_elf *elf;
	struct cairn_dwarf *alt;   /* dwz's shared file; NULL when there is none */
	struct cairn_units *units; /* an index of the units, for references from one to another */
	struct cairn_bytes sections[CAIRN_DWARF_SECTIONS];
	struct cairn_inflate *inflates[CAIRN_DWARF_SECTIONS]; /* NULL if nothing is compressed */
	uint32_t number;    /* distinguishes the files of one module */
	struct cairn_layout layout; /* of the file */
	bool zero_is_code;  /* otherwise a function at address 0 was removed by the linker */
};

/* Finds the DWARF sections of ELF; their names end in ".dwo" if SPLIT. Does not decompress anything yet. */
void cairn_dwarf_open(struct cairn_dwarf *dwarf, struct cairn_elf *elf, bool split);

/* Makes streams of the sections that are read from start to end. Call it before anything is read. */
void cairn_dwarf_stream(struct cairn_dwarf *dwarf);

/* Whether SECTION has become one: small ones do not, and those that lie on disk. */
bool cairn_dwarf_is_stream(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section);

/* Waits until SECTION can be read from START to END; returns false if it ends before that. */
bool cairn_dwarf_await(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t start, uint64_t end);

/* Waits for the whole of the sections that are read at random: those that are no streams, except .debug_info, and .debug_str, which takes
 * long: most strings of the first units are at its start, so readers wait for each string. */
void cairn_dwarf_await_others(const struct cairn_dwarf *dwarf);

/* Holds and releases the part of SECTION from START to END. Does nothing if it is no stream. */
void cairn_dwarf_hold(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t start, uint64_t end);
void cairn_dwarf_release(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t start, uint64_t end);

/* TEXT, which is in a held part of SECTION, for as long as ARENA: itself, or a copy if the section is a stream. NULL remains NULL. */
const char *cairn_dwarf_keep(
	const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, const char *text, struct cairn_arena *arena);

/* Announces that LENGTH bytes of SECTION from START on will be read soon, which speeds up reading if the section was decompressed to
 * disk. */
void cairn_dwarf_expect(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t start, uint64_t length);

/* The string at OFFSET of SECTION, or NULL. Waits until it is decompressed. */
const char *cairn_dwarf_string(const struct cairn_dwarf *dwarf, enum cairn_dwarf_section section, uint64_t offset);

/* Whether ADDRESS marks code that the linker removed: all ones, all ones minus one (in .debug_ranges and .debug_loc), or zero. */
static inline bool cairn_dwarf_is_tombstone(const struct cairn_dwarf *dwarf, uint64_t address)
{
	return address >= (dwarf->layout.narrow ? UINT32_MAX : UINT64_MAX) - 1 || (address == 0 && !dwarf->zero_is_code);
}

/* A cursor over BYTES of one of its sections. */
static inline struct cairn_cursor cairn_dwarf_cursor(const struct cairn_dwarf *dwarf, struct cairn_bytes bytes)
{
	return cairn_layout_cursor(dwarf->layout, bytes);
}

enum cairn_dw_tag {
	DW_TAG_class_type = 0x02,
	DW_TAG_lexical_block = 0x0b,
	DW_TAG_compile_unit = 0x11,
	DW_TAG_structure_type = 0x13,
	DW_TAG_union_type = 0x17,
	DW_TAG_inlined_subroutine = 0x1d,
	DW_TAG_module = 0x1e,
	DW_TAG_with_stmt = 0x22,
	DW_TAG_catch_block = 0x25,
	DW_TAG_subprogram = 0x2e,
	DW_TAG_try_block = 0x32,
	DW_TAG_interface_type = 0x38,
	DW_TAG_namespace = 0x39,
	DW_TAG_partial_unit = 0x3c,
	DW_TAG_skeleton_unit = 0x4a,
};

/* The languages that are recognized by name; C's are in unit.c. */
enum { DW_LANG_Go = 0x16, DW_LANG_assembler = 0x8001 };

enum cairn_dw_at {
	DW_AT_sibling = 0x01,
	DW_AT_name = 0x03,
	DW_AT_stmt_list = 0x10,
	DW_AT_low_pc = 0x11,
	DW_AT_high_pc = 0x12,
	DW_AT_language = 0x13,
	DW_AT_comp_dir = 0x1b,
	DW_AT_producer = 0x25,
	DW_AT_abstract_origin = 0x31,
	DW_AT_decl_line = 0x3b,
	DW_AT_specification = 0x47,
	DW_AT_ranges = 0x55,
	DW_AT_call_column = 0x57,
	DW_AT_call_file = 0x58,
	DW_AT_call_line = 0x59,
	DW_AT_linkage_name = 0x6e,
	DW_AT_str_offsets_base = 0x72,
	DW_AT_addr_base = 0x73,
	DW_AT_rnglists_base = 0x74,
	DW_AT_dwo_name = 0x76,
	DW_AT_MIPS_linkage_name = 0x2007,
	DW_AT_GNU_dwo_name = 0x2130,
	DW_AT_GNU_dwo_id = 0x2131,
	DW_AT_GNU_ranges_base = 0x2132,
	DW_AT_GNU_addr_base = 0x2133,
};

enum cairn_dw_form {
	DW_FORM_addr = 0x01,
	DW_FORM_block2 = 0x03,
	DW_FORM_block4 = 0x04,
	DW_FORM_data2 = 0x05,
	DW_FORM_data4 = 0x06,
	DW_FORM_data8 = 0x07,
	DW_FORM_string = 0x08,
	DW_FORM_block = 0x09,
	DW_FORM_block1 = 0x0a,
	DW_FORM_data1 = 0x0b,
	DW_FORM_flag = 0x0c,
	DW_FORM_sdata = 0x0d,
	DW_FORM_strp = 0x0e,
	DW_FORM_udata = 0x0f,
	DW_FORM_ref_addr = 0x10,
	DW_FORM_ref1 = 0x11,
	DW_FORM_ref2 = 0x12,
	DW_FORM_ref4 = 0x13,
	DW_FORM_ref8 = 0x14,
	DW_FORM_ref_udata = 0x15,
	DW_FORM_indirect = 0x16,
	DW_FORM_sec_offset = 0x17,
	DW_FORM_exprloc = 0x18,
	DW_FORM_flag_present = 0x19,
	DW_FORM_strx = 0x1a,
	DW_FORM_addrx = 0x1b,
	DW_FORM_ref_sup4 = 0x1c,
	DW_FORM_strp_sup = 0x1d,
	DW_FORM_data16 = 0x1e,
	DW_FORM_line_strp = 0x1f,
	DW_FORM_ref_sig8 = 0x20,
	DW_FORM_implicit_const = 0x21,
	DW_FORM_loclistx = 0x22,
	DW_FORM_rnglistx = 0x23,
	DW_FORM_ref_sup8 = 0x24,
	DW_FORM_strx1 = 0x25,
	DW_FORM_strx2 = 0x26,
	DW_FORM_strx3 = 0x27,
	DW_FORM_strx4 = 0x28,
	DW_FORM_addrx1 = 0x29,
	DW_FORM_addrx2 = 0x2a,
	DW_FORM_addrx3 = 0x2b,
	DW_FORM_addrx4 = 0x2c,
	DW_FORM_GNU_addr_index = 0x1f01,
	DW_FORM_GNU_str_index = 0x1f02,
	DW_FORM_GNU_ref_alt = 0x1f20,
	DW_FORM_GNU_strp_alt = 0x1f21,
};

enum cairn_dw_ut {
	DW_UT_compile = 0x01,
	DW_UT_type = 0x02,
	DW_UT_partial = 0x03,
	DW_UT_skeleton = 0x04,
	DW_UT_split_compile = 0x05,
	DW_UT_split_type = 0x06,
};

#endif
