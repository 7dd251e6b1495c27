/* symtab.h - names from symbol tables, for what DWARF does not name.
 *
 * A symbol names an address only inside its size: the nearest symbol below an address is often a neighbour's, and a wrong
 * name is worse than none. One without a size, as hand-written assembly has them, reaches to the next symbol or the end of its section; in
 * .dynsym, which does not have all functions, it names the very address it is at.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_SYMTAB_H
#define CAIRN_SYMBOL_SYMTAB_H

#include "symbol/elf.h"

struct cairn_symtab_match {
	const char *name; /* NULL when no symbol covers the address */
	const char *file; /* of a private symbol, the source or object file it is from, where the table says so; else NULL */
	uint64_t address; /* where that symbol starts */
	uint8_t rank;     /* between symbols of one place, the higher one is preferred */
};

/* Fills MATCHES, all zeroes at first, for ADDRESSES, which are sorted, from ".symtab" or ".dynsym" of ELF. */
void cairn_symtab_match(const struct cairn_elf *elf, const char *table, const uint64_t *addresses, size_t count,
	struct cairn_symtab_match *matches);

#endif
