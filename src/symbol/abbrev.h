/* abbrev.h - abbreviation tables, compiled so that entries can be skipped fast.
 *
 * An *abbreviation* gives an entry's tag and the forms of its attributes (DWARF 5, 7.5.3). Nearly every entry on a walk is only skipped,
 * so each abbreviation is compiled into *steps*: a run of attributes that nobody needs is one step of known size, and an entry of known
 * size is skipped with a single addition.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_ABBREV_H
#define CAIRN_SYMBOL_ABBREV_H

#include "base/arena.h"
#include "base/cursor.h"
#include "base/hash.h"

/* The properties of a unit that determine the sizes of forms. */
struct cairn_encoding {
	uint8_t version;
	uint8_t address_size; /* 4 or 8 */
	uint8_t offset_size;  /* 4, or 8 in the 64-bit format */
};

/* What a walk does with an entry. */
enum cairn_entry_role {
	CAIRN_ENTRY_CLOSED,   /* never contains functions: skipped with everything below it */
	CAIRN_ENTRY_TYPE,     /* a type, or a function without code; may contain functions, but seldom does */
	CAIRN_ENTRY_SCOPE,    /* may contain functions: a unit, namespace, module */
	CAIRN_ENTRY_BLOCK,    /* part of a function's body: may contain inlined calls */
	CAIRN_ENTRY_FUNCTION, /* has code */
	CAIRN_ENTRY_INLINED,  /* has code */
};

enum cairn_step_kind {
	CAIRN_STEP_FIXED, /* `size` bytes */
	CAIRN_STEP_LEB,
	CAIRN_STEP_TEXT,
	CAIRN_STEP_BLOCK1,
	CAIRN_STEP_BLOCK2,
	CAIRN_STEP_BLOCK4,
	CAIRN_STEP_BLOCK,
	CAIRN_STEP_INDIRECT,
};

struct cairn_step {
	uint8_t kind;      /* how it is skipped */
	bool implicit;     /* the value is in the table: implicit[size], and takes no bytes */
	uint16_t attribute; /* which value this is; 0 if not needed */
	uint16_t form;
	uint32_t size;
};

struct cairn_abbrev {
	uint16_t tag;
	uint8_t role; /* enum cairn_entry_role */
	bool has_children;
	bool sized;          /* `size` is the size of all attributes together */
	bool has_sibling;    /* DW_AT_sibling is present */
	bool placed_sibling; /* the sibling is a DW_FORM_ref4, `sibling` bytes after the first attribute */
	uint32_t size;
	uint32_t sibling;
	uint32_t first_step;
	uint32_t step_count;
};

struct cairn_abbrevs {
	struct cairn_abbrev *items; /* indexed by code - 1 if the codes count up from one, as all compilers write them */
	size_t count;
	struct cairn_map *sparse; /* otherwise maps a code to its index; NULL if not needed */
	struct cairn_step *steps;
	int64_t *implicit;
	struct cairn_encoding encoding;
	bool has_functions; /* some abbreviation has the role FUNCTION: the unit may contain code */
};

/* Tables by offset, for one thread. All zeroes is empty. */
struct cairn_abbrev_cache {
	struct cairn_arena arena;
	struct cairn_map index;
	struct cairn_abbrevs **items;
	size_t count, capacity;
	struct cairn_map **maps; /* of sparse tables, to be freed */
	size_t map_count, map_capacity;
	uint64_t compiled_bytes; /* in total; in a hostile file, every unit could use its own view of one large table */
};

/* The table at OFFSET of SECTION, for units of ENCODING. Never NULL: if the section is damaged, the table ends there, and if far more has
 * been compiled than the section contains, it is empty. Borrowed until the cache is trimmed or freed. */
const struct cairn_abbrevs *cairn_abbrevs_at(
	struct cairn_abbrev_cache *cache, struct cairn_bytes section, uint64_t offset, struct cairn_encoding encoding);

/* The abbreviation for CODE, or NULL. */
static inline const struct cairn_abbrev *cairn_abbrevs_find(const struct cairn_abbrevs *table, uint64_t code)
{
	if (code - 1 < table->count && !table->sparse)
		return &table->items[code - 1];
	uint32_t index = table->sparse ? cairn_map_get(table->sparse, code) : CAIRN_NONE;
	return index == CAIRN_NONE ? NULL : &table->items[index];
}

/* Drops all tables if they have become large. */
void cairn_abbrev_cache_trim(struct cairn_abbrev_cache *cache);
void cairn_abbrev_cache_free(struct cairn_abbrev_cache *cache);

/* Skips one value. */
void cairn_step_skip(const struct cairn_step *step, struct cairn_encoding encoding, struct cairn_cursor *in);

/* How a value of FORM is skipped; false if the form is unknown. */
bool cairn_step_of_form(uint64_t form, struct cairn_encoding encoding, struct cairn_step *step);

/* Skips all attributes of an entry with ABBREV. */
static inline void cairn_abbrev_skip(const struct cairn_abbrevs *table, const struct cairn_abbrev *abbrev, struct cairn_cursor *in)
{
	if (abbrev->sized) {
		cairn_cursor_skip(in, abbrev->size);
		return;
	}
	for (uint32_t i = 0; i < abbrev->step_count; i++)
		cairn_step_skip(&table->steps[abbrev->first_step + i], table->encoding, in);
}

#endif
