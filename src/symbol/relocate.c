/* relocate.c - gives the sections of an object file addresses, and applies the relocations of its debug information.
 *
 * An object file has all its sections at address 0, and its debug information refers to their symbols (System V gABI, "Relocation"). Of
 * the kinds of relocations, debug information has only those that store the address of a symbol plus a number.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/elf.h"

#include "base/array.h"
#include "base/inflate.h"

#include <stdlib.h>

/* No section is at 0, which stands for what a relocation does not resolve; each begins on a page of its own. */
static const uint64_t first_address = 1 << 16, page = 1 << 12;
/* A hostile file may list the same bytes as any number of sections. */
static const uint64_t most_copied = 1 << 30;
/* Each of these is looked for among all sections. */
enum { most_lists = 4096 };

struct object {
	struct cairn_elf *elf;
	uint64_t copied;
	uint64_t left; /* bytes of relocations that may still be read: each byte of the file once */
};

static bool place_sections(struct cairn_elf *elf)
{
	uint64_t next = first_address, end = elf->layout.narrow ? UINT32_MAX : INT64_MAX;
	for (size_t i = 0; i < elf->section_count; i++) {
		struct cairn_elf_section *section = &elf->sections[i];
		if (!(section->flags & SHF_ALLOC))
			continue;
		if (section->size > end - next)
			return false;
		section->address = next;
		next += (section->size + page - 1) / page * page + page;
		if (next > end)
			return false;
	}
	return true;
}

/* How many bytes a relocation of TYPE stores for MACHINE; 0 if it stores something else. */
static size_t stored_size(uint16_t machine, uint64_t type)
{
	static const struct {
		uint16_t machine;
		uint32_t type;
		uint8_t size;
	} known[] = {
		{EM_X86_64, R_X86_64_64, 8},      {EM_X86_64, R_X86_64_32, 4},      {EM_X86_64, R_X86_64_32S, 4},
		{EM_386, R_386_32, 4},            {EM_AARCH64, R_AARCH64_ABS64, 8}, {EM_AARCH64, R_AARCH64_ABS32, 4},
		{EM_ARM, R_ARM_ABS32, 4},         {EM_PPC64, R_PPC64_ADDR64, 8},    {EM_PPC64, R_PPC64_ADDR32, 4},
		{EM_PPC, R_PPC_ADDR32, 4},        {EM_S390, R_390_64, 8},           {EM_S390, R_390_32, 4},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].machine == machine && known[i].type == type)
			return known[i].size;
	return 0;
}

/* The address of the symbol with that number in TABLE; 0 if it is defined elsewhere. */
static uint64_t symbol_address(const struct cairn_elf *elf, struct cairn_bytes table, uint64_t number)
{
	size_t size = cairn_layout_symbol_size(elf->layout);
	Elf64_Sym symbol;
	if (number >= table.length / size)
		return 0;
	cairn_layout_symbol(elf->layout, table.data + number * size, &symbol);
	bool elsewhere = symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE || symbol.st_shndx >= elf->section_count;
	return elsewhere ? 0 : symbol.st_value + elf->sections[symbol.st_shndx].address;
}

static void store(char *at, uint64_t value, size_t size, bool big_endian)
{
	for (size_t i = 0; i < size; i++)
		at[big_endian ? size - 1 - i : i] = (char)(value >> 8 * i);
}

static uint64_t load(const char *at, size_t size, bool big_endian)
{
	uint64_t value = 0;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)(unsigned char)at[big_endian ? size - 1 - i : i] << 8 * i;
	return value;
}

/* Applies the relocations in LIST to TARGET, which has its contents in `relocated`. */
static void apply(const struct cairn_elf *elf, const struct cairn_elf_section *list, struct cairn_elf_section *target)
{
	struct cairn_layout layout = elf->layout;
	struct cairn_bytes table = {"", 0};
	if (list->link < elf->section_count && !elf->sections[list->link].inflate)
		table = elf->sections[list->link].bytes;
	struct cairn_cursor in = cairn_layout_cursor(layout, list->bytes);
	bool has_addend = list->type == SHT_RELA;
	size_t record = (has_addend ? 3 : 2) * (layout.narrow ? 4 : 8);
	while (cairn_cursor_left(&in) >= record) {
		uint64_t offset = layout.narrow ? cairn_cursor_u32(&in) : cairn_cursor_u64(&in);
		uint64_t info = layout.narrow ? cairn_cursor_u32(&in) : cairn_cursor_u64(&in);
		uint64_t addend = !has_addend ? 0 : layout.narrow ? cairn_cursor_u32(&in) : cairn_cursor_u64(&in);
		uint64_t symbol = layout.narrow ? ELF32_R_SYM(info) : ELF64_R_SYM(info);
		size_t size = stored_size(elf->machine, layout.narrow ? ELF32_R_TYPE(info) : ELF64_R_TYPE(info));
		if (size == 0 || size > target->bytes.length || offset > target->bytes.length - size)
			continue;
		char *at = target->relocated + offset;
		if (!has_addend)
			addend = load(at, size, layout.big_endian);
		store(at, symbol_address(elf, table, symbol) + addend, size, layout.big_endian);
	}
}

/* Makes a copy of the section's contents that can be changed. */
static bool copy_contents(struct object *object, struct cairn_elf_section *section)
{
	if (section->relocated)
		return true;
	struct cairn_bytes bytes = cairn_elf_named(object->elf, section->name);
	object->copied += bytes.length;
	if (bytes.length == 0 || object->copied > most_copied)
		return false;
	section->relocated = cairn_array_new(bytes.length, 1);
	memcpy(section->relocated, bytes.data, bytes.length);
	section->bytes = (struct cairn_bytes){section->relocated, bytes.length};
	cairn_inflate_free(section->inflate);
	section->inflate = NULL;
	return true;
}

static bool is_debug(const char *name)
{
	return strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0;
}

bool cairn_elf_relocate(struct cairn_elf *elf, struct cairn_error *error)
{
	struct object object = {.elf = elf, .left = elf->file.bytes.length};
	size_t searched = 0;
	if (!place_sections(elf))
		return cairn_fail(error, "%s: its sections are larger than the address space", elf->path);
	for (size_t i = 0; i < elf->section_count; i++) {
		const struct cairn_elf_section *list = &elf->sections[i];
		if ((list->type != SHT_RELA && list->type != SHT_REL) || list->info >= elf->section_count || list->inflate)
			continue;
		struct cairn_elf_section *target = &elf->sections[list->info];
		if (!is_debug(target->name) || list->bytes.length == 0)
			continue;
		if (searched++ == most_lists)
			return cairn_fail(error, "%s: it has more than %d relocation sections for debug information", elf->path,
					  (int)most_lists);
		/* The readers take the first section of a name. */
		if (cairn_elf_section(elf, target->name) != target)
			continue;
		if (list->bytes.length > object.left || !copy_contents(&object, target))
			return cairn_fail(error, "%s: its debug information is damaged, or larger than %llu MiB", elf->path,
					  (unsigned long long)(most_copied >> 20));
		object.left -= list->bytes.length;
		apply(elf, list, target);
	}
	return true;
}
