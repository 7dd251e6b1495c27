/* asker.c - reads words, and finds symbols by name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/addr2line/asker.h"

#include "base/array.h"
#include "base/text.h"
#include "symbol/demangle.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>

static bool is_named(const char *name, struct cairn_bytes wanted)
{
	return strlen(name) == wanted.length && memcmp(name, wanted.data, wanted.length) == 0;
}

/* The number of the symbol called NAME in INDEX, whose names are NAMES if they are not those in the tables; or CAIRN_NONE. */
static uint32_t find_in(const struct cairn_asker *asker, const struct cairn_index *index, const char *const *names, struct cairn_bytes name)
{
	uint64_t hash = cairn_hash_bytes(name.data, name.length);
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(index, hash, &position)) != CAIRN_NONE)
		if (is_named(names ? names[id] : asker->symbols[id].name, name))
			break;
	return id;
}

/* Adds the symbols of a table. Of several with one name the first counts; some tables have thousands. */
static void read_table(struct cairn_asker *asker, const struct cairn_elf *elf, const char *table)
{
	if (!elf)
		return;
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	while (asker->symbol_count < CAIRN_NONE && cairn_elf_symbols_next(&symbols, &symbol)) {
		struct cairn_bytes name = {symbol.name, strnlen(symbol.name, CAIRN_LONGEST_NAME)};
		if (name.length == CAIRN_LONGEST_NAME || find_in(asker, &asker->names, NULL, name) != CAIRN_NONE)
			continue;
		bool in_object = elf->type == ET_REL && symbol.section < SHN_LORESERVE && symbol.section < elf->section_count;
		uint64_t start = in_object ? elf->sections[symbol.section].address : 0;
		cairn_array_room(asker->symbols, asker->symbol_count, asker->symbol_capacity);
		cairn_index_add(&asker->names, cairn_hash_bytes(name.data, name.length), (uint32_t)asker->symbol_count);
		asker->symbols[asker->symbol_count++] =
			(struct cairn_asker_symbol){symbol.name, symbol.address - start, symbol.address};
	}
}

/* Debug files have the symbols that were stripped from the binary. */
static void read_symbols(struct cairn_asker *asker)
{
	read_table(asker, asker->files->binary, ".symtab");
	read_table(asker, asker->files->debug, ".symtab");
	read_table(asker, asker->files->mini, ".symtab");
	read_table(asker, asker->files->binary, ".dynsym");
	asker->has_symbols = true;
}

static void demangle_symbols(struct cairn_asker *asker)
{
	asker->demangled = cairn_array_zero(asker->symbol_count, sizeof *asker->demangled);
	for (size_t i = 0; i < asker->symbol_count; i++) {
		const char *name = asker->demangled[i] = cairn_demangle(&asker->arena, asker->symbols[i].name);
		if (name && find_in(asker, &asker->demangled_names, asker->demangled, cairn_bytes_of(name)) == CAIRN_NONE)
			cairn_index_add(&asker->demangled_names, cairn_hash_bytes(name, strlen(name)), (uint32_t)i);
	}
	asker->has_demangled = true;
}

/* Demangling all symbols takes a while, so it is done only for a name that could be the result: functions have parameters in C++ and a
 * path in Rust. */
static const struct cairn_asker_symbol *find_symbol(struct cairn_asker *asker, struct cairn_bytes name)
{
	if (!asker->has_symbols)
		read_symbols(asker);
	uint32_t id = find_in(asker, &asker->names, NULL, name);
	if (id == CAIRN_NONE && (cairn_bytes_contain(name, "(") || cairn_bytes_contain(name, "::"))) {
		if (!asker->has_demangled)
			demangle_symbols(asker);
		id = find_in(asker, &asker->demangled_names, asker->demangled, name);
	}
	return id == CAIRN_NONE ? NULL : &asker->symbols[id];
}

/* A number as in C, with its sign: decimal, 0x or a leading 0. Ends where it is no longer one. */
static uint64_t read_offset(struct cairn_bytes text)
{
	char number[32];
	size_t length = text.length < sizeof number - 1 ? text.length : sizeof number - 1;
	memcpy(number, text.data, length);
	number[length] = '\0';
	return (uint64_t)strtol(number, NULL, 0);
}

/* Splits WORD into the name of a symbol and an offset. False if it is an address. */
static bool split(struct cairn_bytes word, struct cairn_bytes *name, uint64_t *offset)
{
	if (word.length == 0 || isdigit((unsigned char)word.data[0]))
		return false;
	const char *plus = memchr(word.data, '+', word.length);
	*name = (struct cairn_bytes){word.data, plus ? (size_t)(plus - word.data) : 0};
	*offset = 0;
	if (plus) {
		*name = cairn_text_trim(*name);
		*offset = read_offset(cairn_bytes_skip(word, (size_t)(plus - word.data) + 1));
		return true;
	}
	bool hexadecimal = true;
	while (name->length < word.length && !isspace((unsigned char)word.data[name->length]))
		hexadecimal &= isxdigit((unsigned char)word.data[name->length++]) != 0;
	return !hexadecimal;
}

/* The first section with code that has a byte at OFFSET. */
static const struct cairn_elf_section *section_with(const struct cairn_elf *elf, uint64_t offset)
{
	for (size_t i = 0; i < elf->section_count; i++)
		if ((elf->sections[i].flags & SHF_EXECINSTR) && offset < elf->sections[i].size)
			return &elf->sections[i];
	return NULL;
}

struct cairn_asked cairn_asker_read(struct cairn_asker *asker, struct cairn_bytes word)
{
	struct cairn_asked question = {0};
	struct cairn_bytes name;
	uint64_t offset;
	const struct cairn_elf_section *section = asker->section;
	bool in_object = asker->files->binary->type == ET_REL;
	word = cairn_text_trim(word);
	if (split(word, &name, &offset)) {
		const struct cairn_asker_symbol *symbol = find_symbol(asker, name);
		if (symbol)
			question = (struct cairn_asked){symbol->value + offset, symbol->address + offset};
		in_object &= !symbol; /* whose section is known */
	} else {
		cairn_text_hex(&word, &question.shown);
		question.address = question.shown;
	}
	if (!section && in_object)
		section = section_with(asker->files->binary, question.shown);
	if (section)
		question.address = question.shown < section->size ? section->address + question.shown : CAIRN_NOWHERE;
	else if (in_object)
		question.address = CAIRN_NOWHERE;
	return question;
}

void cairn_asker_free(struct cairn_asker *asker)
{
	free(asker->symbols);
	free(asker->demangled);
	cairn_index_free(&asker->names);
	cairn_index_free(&asker->demangled_names);
	cairn_arena_free(&asker->arena);
	*asker = (struct cairn_asker){0};
}
