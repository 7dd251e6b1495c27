/* name.h - entries, and the names of functions, which may be several references away.
 *
 * An inlined call refers to the function it is a copy of, which refers to its declaration in a class, which has the name:
 * in the same unit, in another, or in the file dwz made for several programs (DWARF 5, 3.3.8.2).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_NAME_H
#define CAIRN_SYMBOL_NAME_H

#include "symbol/unit.h"

/* The attributes that are read from an entry. */
struct cairn_debug_entry {
	struct cairn_form_value low, high, ranges;
	struct cairn_form_value name, linkage_name;
	struct cairn_form_value origin; /* DW_AT_abstract_origin, else DW_AT_specification */
	uint64_t call_file;
	uint32_t call_line, call_column;
	uint32_t line; /* DW_AT_decl_line */
	uint32_t sibling; /* from the start of the unit; 0 when absent */
};

/* Reads the attributes of an entry of ABBREV at IN. */
void cairn_debug_entry_read(
	struct cairn_debug_entry *entry, const struct cairn_abbrevs *table, const struct cairn_abbrev *abbrev, struct cairn_cursor *in);

struct cairn_name {
	const char *text; /* NULL when not known; owned by the file's sections, or by the names */
	uint32_t line;    /* where the function is declared */
	bool mangled;     /* a linkage name */
};

/* What a chain of references says about a function: the first value of each kind. */
struct cairn_found_name {
	const char *linkage, *plain; /* NULL when not there */
	uint32_t line;
};

/* One thread's abbreviations and the names it has seen. All zeroes is empty. */
struct cairn_names {
	struct cairn_abbrev_cache abbrevs;
	struct cairn_map index;
	struct cairn_found_name *items;
	size_t count, capacity;
	struct cairn_arena texts; /* copies of those that are in .debug_info */
	/* How much has been read, in bytes and list entries, and the limit (0 for none). Every part of a normal file is read a few times
	 * at most; in a hostile file, all units could use the same long list. */
	uint64_t spent, limit;
};

/* Counts AMOUNT as read; returns false beyond the limit. */
static inline bool cairn_names_spend(struct cairn_names *names, uint64_t amount)
{
	names->spent += amount;
	return names->limit == 0 || names->spent <= names->limit;
}

/* The name of ENTRY, which is in UNIT: the first linkage name along its references, else the first name. In C, a linkage name is an alias
 * of the function, such as its private name in a library (__GI_f), and the plain name is preferred wherever it is along the references: so
 * the function has one name, inlined or not. A linkage name that only adds scopes to the plain name is not an alias; Zig writes those and
 * claims to be C. */
struct cairn_name cairn_names_of(struct cairn_names *names, const struct cairn_unit *unit, const struct cairn_debug_entry *entry);

void cairn_names_free(struct cairn_names *names);

#endif
