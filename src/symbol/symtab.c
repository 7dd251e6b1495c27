/* symtab.c - reads a symbol table once for a whole batch, without sorting or keeping it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symtab.h"

#include "symbol/ranges.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

/* Ranks the names of one address: with a size before without, a function before an untyped symbol, public before private. Among equals, the
 * name with fewer underscores is the one that people know. */
static uint8_t rank_of(const struct cairn_elf_symbol *symbol)
{
	uint8_t rank = symbol->size == 0 ? 0 : symbol->type == STT_NOTYPE ? 3 : 6;
	if (symbol->binding == STB_GLOBAL)
		return rank + 2;
	return symbol->binding == STB_WEAK ? rank + 1 : rank;
}

/* The number of underscores at the start of NAME, up to a few. */
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

static bool is_function(const struct cairn_elf_symbol *symbol)
{
	return symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
}

/* Whether NAME is that of code that the linker added, as on 64-bit PowerPC: 0000001b.plt_call.puts. */
static bool is_stub(const char *name)
{
	return strspn(name, "0123456789abcdef") == 8 && (strncmp(name + 8, ".plt_", 5) == 0 || strncmp(name + 8, ".long_branch.", 13) == 0);
}

/* The addresses that SYMBOL names; none if it is not code. A function without a size names at least its own address; private labels are
 * inside functions. */
static struct cairn_range covered_by(const struct cairn_elf_symbol *symbol)
{
	if (!symbol->name[0] || (!is_function(symbol) && symbol->type != STT_NOTYPE))
		return (struct cairn_range){0, 0};
	uint64_t size = symbol->size ? symbol->size : is_function(symbol) || symbol->binding != STB_LOCAL || is_stub(symbol->name);
	return (struct cairn_range){symbol->address, symbol->address + size};
}

/* The last function that starts at or before an address, whether or not it covers the address. */
struct nearest {
	struct cairn_symtab_match match;
	uint64_t end; /* the latest address at which it ends, if it has no size */
};

/* The latest address at which a symbol without a size can end; 0 if it has a size, or is not in a code section. */
static uint64_t farthest(const struct cairn_elf *elf, const struct cairn_elf_symbol *symbol)
{
	if (symbol->size || symbol->section >= elf->section_count || !(elf->sections[symbol->section].flags & SHF_EXECINSTR))
		return 0;
	return elf->sections[symbol->section].address + elf->sections[symbol->section].size;
}

/* A function is recorded as nearest to the first address at or after its start; extend_nearest passes it on to later addresses, up to the
 * next function. */
static void see_start(const struct cairn_elf *elf, const struct cairn_elf_symbol *symbol, struct cairn_symtab_match match,
	struct nearest *nearest)
{
	if (is_better(symbol, match.rank, &nearest->match))
		*nearest = (struct nearest){match, farthest(elf, symbol)};
}

static void extend_nearest(const uint64_t *addresses, size_t count, struct nearest *nearest, struct cairn_symtab_match *matches)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && (!nearest[i].match.name || nearest[i].match.address < nearest[i - 1].match.address))
			nearest[i] = nearest[i - 1];
		if (!matches[i].name && nearest[i].match.name && addresses[i] < nearest[i].end)
			matches[i] = nearest[i].match;
	}
}

void cairn_symtab_match(const struct cairn_elf *elf, const char *table, const uint64_t *addresses, size_t count,
	struct cairn_symtab_match *matches)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	/* An address has at most a dozen names; a hostile table could give each address a million. */
	size_t left = 1000 * count + symbols.entries.length;
	const char *file = NULL;
	struct cairn_arena scratch = {0};
	bool extends = strcmp(table, ".dynsym") != 0 && symbols.entries.length;
	struct nearest *nearest = extends ? cairn_arena_zero(&scratch, count, sizeof *nearest) : NULL;
	while (cairn_elf_symbols_next(&symbols, &symbol)) {
		/* The private symbols of a file follow the file's name; the public symbols of all files are at the end. */
		if (symbol.type == STT_FILE)
			file = symbol.name[0] ? symbol.name : NULL;
		struct cairn_range range = covered_by(&symbol);
		if (range.low >= range.high)
			continue;
		size_t found, first = cairn_addresses_within(addresses, count, range, &found);
		if (found > left)
			break;
		left -= found;
		struct cairn_symtab_match match = {symbol.name, symbol.binding == STB_LOCAL ? file : NULL, symbol.address,
			rank_of(&symbol)};
		for (size_t i = first; i < first + found; i++)
			if (is_better(&symbol, match.rank, &matches[i]))
				matches[i] = match;
		if (extends && first < count)
			see_start(elf, &symbol, match, &nearest[first]);
	}
	if (extends)
		extend_nearest(addresses, count, nearest, matches);
	cairn_arena_free(&scratch);
}

/* The length of the identifier at the start of PLAIN, without the arguments of a template; 0 if it is an operator or has no name, because
 * these are mangled to something else. */
static size_t identifier_length(const char *plain)
{
	static const char word[] = "operator";
	size_t length = strcspn(plain, "<");
	bool is_operator = strncmp(plain, word, sizeof word - 1) == 0;
	unsigned char next = is_operator ? (unsigned char)plain[sizeof word - 1] : 0;
	return is_operator && !isalnum(next) && next != '_' && next < 0x80 ? 0 : length;
}

enum { longest_identifier = 1024 };

/* Whether SYMBOL contains the identifier at the start of PLAIN, LENGTH bytes long, after its length in decimal digits. The digits may
 * follow an identifier that ends in a digit: _ZN2v13getEv is v1::get. A number that is no length, such as an argument of a template, is
 * taken for one, too; it only adds places to look at. */
static bool has_identifier(const char *symbol, const char *plain, size_t length)
{
	enum { digits_most = 4 };
	bool ends[4 * longest_identifier] = {false}; /* where an identifier may end */
	size_t whole = strlen(symbol);
	for (size_t at = 1; at < whole; at++) {
		bool is_inside = isdigit((unsigned char)symbol[at - 1]) && !(at < sizeof ends / sizeof *ends && ends[at]);
		size_t number = 0, next = at;
		while (!is_inside && next - at < digits_most && isdigit((unsigned char)symbol[next]))
			number = number * 10 + (size_t)(symbol[next++] - '0');
		if (number == 0 || number > whole - next || isdigit((unsigned char)symbol[next]))
			continue;
		if (number == length && memcmp(symbol + next, plain, length) == 0)
			return true;
		if (next + number < sizeof ends / sizeof *ends)
			ends[next + number] = true;
	}
	return false;
}

bool cairn_symtab_is_mangled(const char *symbol, const char *plain)
{
	if (strcmp(symbol, "MAIN__") == 0) /* the main program in Fortran, whatever it is called */
		return true;
	if (symbol[0] != '_' || (symbol[1] != 'Z' && symbol[1] != 'R' && !(symbol[1] == 'D' && isdigit((unsigned char)symbol[2]))))
		return false;
	plain += plain[0] == '~';
	size_t length = identifier_length(plain);
	if (length == 0 || strcmp(symbol, plain) == 0)
		return true;
	return length <= longest_identifier && has_identifier(symbol, plain, length);
}
