/* jemalloc.c - recognizes jemalloc by its symbols and strings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/jemalloc.h"

#include "arch/arch.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>

/* In a hostile file, all symbols may share one endless name, or all may look like jemalloc's. */
enum { name_most = 256, tries_most = 16 };

static bool ends_with(const char *text, const char *end, size_t *before)
{
	size_t length = strnlen(text, name_most + 1), end_length = strlen(end);
	if (length < end_length || length > name_most || memcmp(text + length - end_length, end, end_length) != 0)
		return false;
	*before = length - end_length;
	return true;
}

static bool has_function(const struct cairn_elf *elf, const char *table, const char *prefix, const char *name)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	size_t length = strlen(prefix), before;
	while (cairn_elf_symbols_next(&symbols, &symbol))
		if (ends_with(symbol.name, name, &before) && before == length && memcmp(symbol.name, prefix, length) == 0)
			return true;
	return false;
}

/* Finds a function whose name ends in mallctl, if one with the same prefix prints statistics. */
static bool find_symbols(const struct cairn_elf *elf, const char *table, struct cairn_elf_jemalloc *jemalloc)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	size_t length;
	for (int tries = 0; tries < tries_most && cairn_elf_symbols_next(&symbols, &symbol);) {
		if (symbol.type != STT_FUNC || !ends_with(symbol.name, "mallctl", &length) || length >= sizeof jemalloc->prefix)
			continue;
		tries++;
		snprintf(jemalloc->prefix, sizeof jemalloc->prefix, "%.*s", (int)length, symbol.name);
		if (has_function(elf, table, jemalloc->prefix, "malloc_stats_print"))
			return true;
	}
	jemalloc->prefix[0] = 0;
	return false;
}

static bool contains(struct cairn_bytes text, const char *part)
{
	return text.length && memmem(text.data, text.length, part, strlen(part));
}

/* Finds a whole string that ends in END (including the terminator) and otherwise consists of characters that are valid in a name. */
static void find_name(struct cairn_bytes text, const char *end, size_t end_size, char *out)
{
	const char *at = text.data;
	out[0] = 0;
	while (text.length && (at = memmem(at, text.length - (size_t)(at - text.data), end, end_size))) {
		const char *start = at;
		while (start > text.data && (isalnum((unsigned char)start[-1]) || start[-1] == '_' || start[-1] == '/'))
			start--;
		if (start == text.data || start[-1] == 0) {
			snprintf(out, CAIRN_JEMALLOC_TEXT, "%.*s", (int)(at - start) + (int)end_size - 1, start);
			return;
		}
		at += end_size;
	}
}

/* Finds "5.3.0-0-g54eaed1d8b56…": digits and dots, a count, and a hash of at least HASH_LEAST digits; other programs have short hashes. */
static void find_version(struct cairn_bytes text, ptrdiff_t hash_least, char *out)
{
	out[0] = 0;
	for (const char *at = text.data; text.length && (at = memmem(at, text.length - (size_t)(at - text.data), "-g", 2)); at += 2) {
		const char *start = at, *end = at + 2;
		while (start > text.data && (isdigit((unsigned char)start[-1]) || start[-1] == '.' || start[-1] == '-'))
			start--;
		while (end < text.data + text.length && isxdigit((unsigned char)*end))
			end++;
		if (end - at - 2 >= hash_least && at - start >= 7 && isdigit((unsigned char)*start) &&
		    (start == text.data || start[-1] == 0)) {
			snprintf(out, CAIRN_JEMALLOC_TEXT, "%.*s", (int)(end - start), start);
			return;
		}
	}
}

bool cairn_elf_jemalloc(const struct cairn_elf *elf, struct cairn_elf_jemalloc *jemalloc)
{
	static const char variable[] = "MALLOC_CONF", link[] = "malloc.conf";
	*jemalloc = (struct cairn_elf_jemalloc){0};
	struct cairn_bytes text = cairn_elf_named(elf, ".rodata");
	jemalloc->exported = find_symbols(elf, ".dynsym", jemalloc);
	jemalloc->has_symbols = jemalloc->exported || find_symbols(elf, ".symtab", jemalloc);
	find_version(text, 40, jemalloc->version);
	if (!jemalloc->version[0])
		find_version(text, 6, jemalloc->version);
	/* A program that only calls or mentions jemalloc does not contain these strings; a stripped one with jemalloc in it still does. */
	if (!contains(text, "<jemalloc>: ") || (!jemalloc->has_symbols && !jemalloc->version[0]))
		return false;
	/* If profiling was not compiled in, the code that writes dumps is missing, and with it the first line of a dump. */
	jemalloc->profiles = contains(text, "heap_v2/%");
	find_name(text, variable, sizeof variable, jemalloc->variable);
	find_name(text, link, sizeof link, jemalloc->link);
	return true;
}

static bool find_data(const struct cairn_elf *elf, const char *table, const char *prefix, const char *name, uint64_t *address)
{
	struct cairn_elf_symbols symbols = cairn_elf_symbols(elf, table);
	struct cairn_elf_symbol symbol;
	size_t length = strlen(prefix), before;
	while (cairn_elf_symbols_next(&symbols, &symbol)) {
		if (!ends_with(symbol.name, name, &before) || before < length || memcmp(symbol.name, prefix, length) != 0)
			continue;
		if (before == length || (before == length + 3 && memcmp(symbol.name + length, "je_", 3) == 0)) {
			*address = symbol.address;
			return true;
		}
	}
	return false;
}

bool cairn_elf_jemalloc_symbol(const struct cairn_elf *elf, const struct cairn_elf_jemalloc *jemalloc, const char *name, uint64_t *address)
{
	return find_data(elf, ".symtab", jemalloc->prefix, name, address) || find_data(elf, ".dynsym", jemalloc->prefix, name, address);
}

/* Finds the value that relocation stores at ADDRESS, if it points into the same file. */
static bool relocated(const struct cairn_elf *elf, uint64_t address, uint64_t *value)
{
	struct cairn_bytes entries = cairn_elf_named(elf, ".rela.dyn");
	uint32_t relative = cairn_arch_relative(elf->machine);
	for (; entries.length >= sizeof(Elf64_Rela); entries = cairn_bytes_skip(entries, sizeof(Elf64_Rela))) {
		Elf64_Rela entry;
		memcpy(&entry, entries.data, sizeof entry);
		if (entry.r_offset != address)
			continue;
		*value = (uint64_t)entry.r_addend;
		return ELF64_R_TYPE(entry.r_info) == relative;
	}
	return false;
}

/* The bytes of the file that are loaded from ADDRESS on. */
static struct cairn_bytes loaded(const struct cairn_elf *elf, uint64_t address)
{
	uint64_t offset;
	if (!cairn_elf_offset_of(elf, address, &offset))
		return (struct cairn_bytes){"", 0};
	return cairn_bytes_skip(elf->file.bytes, (size_t)offset);
}

const char *cairn_elf_pointed_text(const struct cairn_elf *elf, uint64_t address)
{
	uint64_t value = 0;
	struct cairn_bytes pointer = loaded(elf, address);
	if (pointer.length < sizeof value || elf->layout.narrow || elf->layout.big_endian)
		return NULL;
	memcpy(&value, pointer.data, sizeof value);
	if (!relocated(elf, address, &value) && elf->type == ET_DYN && value == 0)
		return NULL;
	struct cairn_bytes text = value ? loaded(elf, value) : (struct cairn_bytes){"", 0};
	return text.length && memchr(text.data, 0, text.length) ? text.data : NULL;
}
