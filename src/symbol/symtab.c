/* symtab.c - symbol tables are read through once for a whole batch; nothing is sorted or kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symtab.h"

#include "symbol/ranges.h"

#include <elf.h>

/* Of several names for one place: one with a size before one without, a function's before an untyped one, what others link to before what is private; and of
 * equals the one with fewer underscores, which is the one people know. */
static uint8_t rank_of(const struct cairn_elf_symbol *symbol)
{
	uint8_t rank = symbol->size == 0 ? 0 : symbol->type == STT_NOTYPE ? 3 : 6;
	if (symbol->binding == STB_GLOBAL)
		return rank + 2;
	return symbol->binding == STB_WEAK ? rank + 1 : rank;
}

/* How many underscores NAME starts with; more than a few are not counted. */
static size_t underscores(const char *name)
{
	size_t count = 0;
	while (count < 8 && name[count] == '_')
		count++;
	return count;
}

static bool is_better(const struct cairn_elf_symbol *symbol, uint8_t rank, const struct cairn_symtab_match *match)
{
	if (!match->name)
		return true;
	if (symbol->address != match->address || rank != match->rank)
		return symbol->address != match->address ? symbol->address > match->address : rank > match->rank;
	return underscores(symbol->name) < underscores(match->name);
}

/* What SYMBOL names; nothing when it is not code. A function without a size, as assembler makes them (_init and _fini are two),
 * names the address it is at and no other. */
static struct cairn_range covered_by(const struct cairn_elf_symbol *symbol)
{
	bool is_function = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
	if (!symbol->name[0] || (!is_function && symbol->type != STT_NOTYPE))
		return (struct cairn_range){0, 0};
	uint64_t size = symbol->size ? symbol->size : is_function || symbol->binding == STB_GLOBAL;
	return (struct cairn_range){symbol->address, symbol->address + size};
}

void cairn_symtab_match(const struct cairn_elf *elf, const char *table, const uint64_t *addresses, size_t count,
	struct cairn_symtab_match *matches)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	/* An address has a dozen names at most; a hostile table could give each a million. */
	size_t left = 1000 * count + symbols.entries.length;
	const char *file = NULL;
	while (cairn_elf_symbols_next(&symbols, &symbol)) {
		/* The private symbols of a file come after its name; the public ones of all files at the end. */
		if (symbol.type == STT_FILE)
			file = symbol.name[0] ? symbol.name : NULL;
		struct cairn_range range = covered_by(&symbol);
		if (range.low >= range.high)
			continue;
		size_t found, first = cairn_addresses_within(addresses, count, range, &found);
		if (found > left)
			break;
		left -= found;
		uint8_t rank = rank_of(&symbol);
		for (size_t i = first; i < first + found; i++)
			if (is_better(&symbol, rank, &matches[i]))
				matches[i] = (struct cairn_symtab_match){
					symbol.name, symbol.binding == STB_LOCAL ? file : NULL, symbol.address, rank};
	}
}
