/* symtab.c - symbol tables are read through once for a whole batch; nothing is sorted or kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symtab.h"

#include "symbol/ranges.h"

#include <elf.h>

/* Of several names for one place: a function's before an untyped one, what others link to before what is private; and of
 * equals the one with fewer underscores, which is the one people know. */
static uint8_t rank_of(const struct cairn_elf_symbol *symbol)
{
	uint8_t rank = symbol->type == STT_NOTYPE ? 1 : 4;
	if (symbol->binding == STB_GLOBAL)
		return rank + 2;
	return symbol->binding == STB_WEAK ? rank + 1 : rank;
}

static bool is_better(const struct cairn_elf_symbol *symbol, uint8_t rank, const struct cairn_symtab_match *match)
{
	if (!match->name)
		return true;
	if (symbol->address != match->address || rank != match->rank)
		return symbol->address != match->address ? symbol->address > match->address : rank > match->rank;
	return strspn(symbol->name, "_") < strspn(match->name, "_");
}

void cairn_symtab_match(const struct cairn_elf *elf, const char *table, const uint64_t *addresses, size_t count,
	struct cairn_symtab_match *matches)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	const char *file = NULL;
	while (cairn_elf_symbols_next(&symbols, &symbol)) {
		/* The private symbols of a file come after its name; the public ones of all files at the end. */
		if (symbol.type == STT_FILE)
			file = symbol.name[0] ? symbol.name : NULL;
		if (symbol.size == 0 || symbol.address + symbol.size < symbol.address || !symbol.name[0] ||
		    (symbol.type != STT_FUNC && symbol.type != STT_GNU_IFUNC && symbol.type != STT_NOTYPE))
			continue;
		size_t found, first = cairn_addresses_within(
			addresses, count, (struct cairn_range){symbol.address, symbol.address + symbol.size}, &found);
		uint8_t rank = rank_of(&symbol);
		for (size_t i = first; i < first + found; i++)
			if (is_better(&symbol, rank, &matches[i]))
				matches[i] = (struct cairn_symtab_match){
					symbol.name, symbol.binding == STB_LOCAL ? file : NULL, symbol.address, rank};
	}
}
