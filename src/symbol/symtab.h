/* symtab.h - names from symbol tables, for addresses that DWARF does not name.
 *
 * A symbol names an address only within its size: the nearest symbol below an address often belongs to a neighbour, and a wrong name is
 * worse than none. A symbol without a size, as in hand-written assembly, extends to the next symbol or the end of its section; in
 * .dynsym, which does not contain all functions, it names only its own address.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_SYMTAB_H
#define CAIRN_SYMBOL_SYMTAB_H

#include "symbol/elf.h"

struct cairn_symtab_match {
	const char *name; /* NULL when no symbol covers the address */
	const char *file; /* the source or object file of a private symbol, if the table has it; else NULL */
	uint64_t address; /* where that symbol starts */
	uint8_t rank;     /* of several symbols at one address, the one with the highest is preferred */
};

/* Fills MATCHES, all zeroes at first, for ADDRESSES, which are sorted, from ".symtab" or ".dynsym" of ELF. */
void cairn_symtab_match(const struct cairn_elf *elf, const char *table, const uint64_t *addresses, size_t count,
	struct cairn_symtab_match *matches);

/* Whether SYMBOL is a mangled name of a function whose name in the source is PLAIN. Functions with the same code may share one address, so
 * the symbol there may be another's. */
bool cairn_symtab_is_mangled(const char *symbol, const char *plain);

#endif
