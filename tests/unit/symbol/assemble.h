/* assemble.h - DWARF sections and ELF files put together by hand, byte by byte.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_ASSEMBLE_H
#define CAIRN_TESTS_ASSEMBLE_H

#include "base/buffer.h"
#include "symbol/dwarf.h"

#include <elf.h>

__attribute__((unused)) static void put(struct cairn_buffer *out, uint64_t value, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		cairn_buffer_byte(out, i < 8 ? (char)(value >> (8 * i)) : 0);
}

__attribute__((unused)) static void put_uleb(struct cairn_buffer *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		cairn_buffer_byte(out, (char)(value | 0x80));
	cairn_buffer_byte(out, (char)value);
}

__attribute__((unused)) static void put_sleb(struct cairn_buffer *out, int64_t value)
{
	for (; value < -64 || value > 63; value >>= 7)
		cairn_buffer_byte(out, (char)(value | 0x80));
	cairn_buffer_byte(out, (char)(value & 0x7f));
}

__attribute__((unused)) static void put_text(struct cairn_buffer *out, const char *text)
{
	cairn_buffer_append(out, text, strlen(text) + 1);
}

/* Several one-byte values, for opcodes and small numbers. */
#define put_bytes(out, ...) cairn_buffer_append(out, (const char[]){__VA_ARGS__}, sizeof(const char[]){__VA_ARGS__})

__attribute__((unused)) static void patch(struct cairn_buffer *out, size_t at, uint64_t value, unsigned size)
{
	memcpy(out->data + at, &value, size);
}

/* One abbreviation: code, tag, children, then attribute and form in pairs up to a zero. */
__attribute__((unused)) static void put_abbrev(struct cairn_buffer *out, uint64_t code, uint64_t tag, bool children, const uint64_t *pairs)
{
	put_uleb(out, code);
	put_uleb(out, tag);
	put(out, children, 1);
	for (; *pairs; pairs += 2) {
		put_uleb(out, pairs[0]);
		put_uleb(out, pairs[1]);
	}
	put(out, 0, 2);
}
#define pairs(...) ((const uint64_t[]){__VA_ARGS__, 0})

/* The header of a unit whose abbreviations are at offset 0; end_unit fills its length in. Returns where it starts. */
__attribute__((unused)) static size_t begin_unit(struct cairn_buffer *out, unsigned version)
{
	size_t start = out->length;
	put(out, 0, 4);
	put(out, version, 2);
	if (version >= 5)
		put_bytes(out, DW_UT_compile, 8);
	put(out, 0, 4);
	if (version < 5)
		put(out, 8, 1);
	return start;
}

__attribute__((unused)) static void end_unit(struct cairn_buffer *out, size_t start)
{
	patch(out, start, out->length - start - 4, 4);
}

/* A file of DWARF with no ELF file around it. */
__attribute__((unused)) static void make_dwarf(struct cairn_dwarf *dwarf)
{
	static char name[] = "assembled";
	static struct cairn_elf elf = {.path = name};
	*dwarf = (struct cairn_dwarf){.elf = &elf};
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++)
		dwarf->sections[i] = (struct cairn_bytes){"", 0};
}

struct elf_part {
	const char *name;
	struct cairn_bytes bytes;
	uint32_t type;
	uint64_t flags;
	uint32_t link; /* number of a section; the first part is section 1 */
};

/* An ELF file with these sections and one executable segment at 0x1000; free OUT. */
__attribute__((unused)) static void make_elf(struct cairn_buffer *out, const struct elf_part *parts, size_t count)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_version = 1,
			     .e_ehsize = sizeof header,
			     .e_phoff = sizeof header,
			     .e_phentsize = sizeof(Elf64_Phdr),
			     .e_phnum = 1,
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = (uint16_t)(count + 2),
			     .e_shstrndx = (uint16_t)(count + 1)};
	Elf64_Phdr segment = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0, .p_vaddr = 0x1000, .p_filesz = 0x100, .p_memsz = 0x10000};
	struct cairn_buffer names = cairn_buffer(1 << 16);
	Elf64_Shdr sections[34] = {{0}};
	*out = cairn_buffer((size_t)1 << 30);
	cairn_buffer_append(out, &header, sizeof header);
	cairn_buffer_append(out, &segment, sizeof segment);
	cairn_buffer_byte(&names, 0);
	for (size_t i = 0; i < count; i++) {
		sections[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names.length, .sh_type = parts[i].type ? parts[i].type : SHT_PROGBITS,
			.sh_flags = parts[i].flags, .sh_offset = out->length, .sh_size = parts[i].bytes.length, .sh_link = parts[i].link,
			.sh_addralign = 4};
		put_text(&names, parts[i].name);
		cairn_buffer_append(out, parts[i].bytes.data, parts[i].bytes.length);
	}
	sections[count + 1] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = out->length, .sh_size = names.length};
	cairn_buffer_append(out, names.data, names.length);
	header.e_shoff = out->length;
	memcpy(out->data, &header, sizeof header);
	cairn_buffer_append(out, sections, (count + 2) * sizeof *sections);
	cairn_buffer_free(&names);
}

#endif
