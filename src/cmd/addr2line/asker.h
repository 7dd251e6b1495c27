/* asker.h - what a word given to addr2line asks for: an address, an offset in a section, or a symbol with an offset.
 *
 * As in GNU addr2line, a word that begins with a digit or has only hexadecimal digits is an address; any other is the name of a symbol,
 * mangled or not, and what follows a + is added to its address. So `beef` is an address and `beef+0` a symbol.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_ADDR2LINE_ASKER_H
#define CAIRN_CMD_ADDR2LINE_ASKER_H

#include "base/arena.h"
#include "base/hash.h"
#include "symbol/lookup.h"

struct cairn_asked {
	uint64_t shown;   /* the address as the user sees it: in an object file and with --section, an offset */
	uint64_t address; /* where to look it up; CAIRN_NOWHERE if no section has that offset */
};

#define CAIRN_NOWHERE UINT64_MAX

/* Reads questions about FILES, which are borrowed. Offsets are in SECTION; if that is NULL, in an object file in the first section with
 * code that is long enough. Fill these two, leave the rest zero. */
struct cairn_asker {
	const struct cairn_symbols_files *files;
	const struct cairn_elf_section *section;
	/* The symbols of all tables, read when the first word asks for one, and demangled when one looks like such a name. */
	struct cairn_asker_symbol {
		const char *name;
		uint64_t value, address; /* the value as in the table */
	} *symbols;
	size_t symbol_count, symbol_capacity;
	struct cairn_index names, demangled_names;
	bool has_symbols, has_demangled;
	const char **demangled; /* by symbol */
	struct cairn_arena arena;
};

/* What WORD asks for. A symbol that is not there is address 0. */
struct cairn_asked cairn_asker_read(struct cairn_asker *asker, struct cairn_bytes word);

void cairn_asker_free(struct cairn_asker *asker);

#endif
