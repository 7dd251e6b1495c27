/* layout.c - reads headers field by field (System V gABI, chapters 4 and 5). Addresses and offsets are words of 4 or 8 bytes; in two
 * structs, the order of fields differs too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/layout.h"

bool cairn_layout_of(struct cairn_bytes file, struct cairn_layout *layout)
{
	if (file.length < EI_NIDENT || memcmp(file.data, ELFMAG, SELFMAG) != 0)
		return false;
	unsigned char class = (unsigned char)file.data[EI_CLASS], data = (unsigned char)file.data[EI_DATA];
	*layout = (struct cairn_layout){.narrow = class == ELFCLASS32, .big_endian = data == ELFDATA2MSB};
	return (class == ELFCLASS32 || class == ELFCLASS64) && (data == ELFDATA2LSB || data == ELFDATA2MSB);
}

size_t cairn_layout_header_size(struct cairn_layout layout)
{
	return layout.narrow ? sizeof(Elf32_Ehdr) : sizeof(Elf64_Ehdr);
}

size_t cairn_layout_segment_size(struct cairn_layout layout)
{
	return layout.narrow ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr);
}

size_t cairn_layout_section_size(struct cairn_layout layout)
{
	return layout.narrow ? sizeof(Elf32_Shdr) : sizeof(Elf64_Shdr);
}

size_t cairn_layout_symbol_size(struct cairn_layout layout)
{
	return layout.narrow ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
}

size_t cairn_layout_compression_size(struct cairn_layout layout)
{
	return layout.narrow ? sizeof(Elf32_Chdr) : sizeof(Elf64_Chdr);
}

static struct cairn_cursor start(struct cairn_layout layout, const char *data, size_t size)
{
	return cairn_layout_cursor(layout, (struct cairn_bytes){data, size});
}

static uint64_t read_word(struct cairn_layout layout, struct cairn_cursor *in)
{
	return layout.narrow ? cairn_cursor_u32(in) : cairn_cursor_u64(in);
}

void cairn_layout_header(struct cairn_layout layout, const char *data, Elf64_Ehdr *header)
{
	struct cairn_cursor in = start(layout, data, cairn_layout_header_size(layout));
	memcpy(header->e_ident, data, EI_NIDENT);
	cairn_cursor_skip(&in, EI_NIDENT);
	header->e_type = cairn_cursor_u16(&in);
	header->e_machine = cairn_cursor_u16(&in);
	header->e_version = cairn_cursor_u32(&in);
	header->e_entry = read_word(layout, &in);
	header->e_phoff = read_word(layout, &in);
	header->e_shoff = read_word(layout, &in);
	header->e_flags = cairn_cursor_u32(&in);
	header->e_ehsize = cairn_cursor_u16(&in);
	header->e_phentsize = cairn_cursor_u16(&in);
	header->e_phnum = cairn_cursor_u16(&in);
	header->e_shentsize = cairn_cursor_u16(&in);
	header->e_shnum = cairn_cursor_u16(&in);
	header->e_shstrndx = cairn_cursor_u16(&in);
}

void cairn_layout_segment(struct cairn_layout layout, const char *data, Elf64_Phdr *segment)
{
	struct cairn_cursor in = start(layout, data, cairn_layout_segment_size(layout));
	segment->p_type = cairn_cursor_u32(&in);
	if (!layout.narrow)
		segment->p_flags = cairn_cursor_u32(&in);
	segment->p_offset = read_word(layout, &in);
	segment->p_vaddr = read_word(layout, &in);
	segment->p_paddr = read_word(layout, &in);
	segment->p_filesz = read_word(layout, &in);
	segment->p_memsz = read_word(layout, &in);
	if (layout.narrow)
		segment->p_flags = cairn_cursor_u32(&in);
	segment->p_align = read_word(layout, &in);
}

void cairn_layout_section(struct cairn_layout layout, const char *data, Elf64_Shdr *section)
{
	struct cairn_cursor in = start(layout, data, cairn_layout_section_size(layout));
	section->sh_name = cairn_cursor_u32(&in);
	section->sh_type = cairn_cursor_u32(&in);
	section->sh_flags = read_word(layout, &in);
	section->sh_addr = read_word(layout, &in);
	section->sh_offset = read_word(layout, &in);
	section->sh_size = read_word(layout, &in);
	section->sh_link = cairn_cursor_u32(&in);
	section->sh_info = cairn_cursor_u32(&in);
	section->sh_addralign = read_word(layout, &in);
	section->sh_entsize = read_word(layout, &in);
}

void cairn_layout_compression(struct cairn_layout layout, const char *data, Elf64_Chdr *compression)
{
	struct cairn_cursor in = start(layout, data, cairn_layout_compression_size(layout));
	compression->ch_type = cairn_cursor_u32(&in);
	compression->ch_reserved = layout.narrow ? 0 : cairn_cursor_u32(&in);
	compression->ch_size = read_word(layout, &in);
	compression->ch_addralign = read_word(layout, &in);
}

void cairn_layout_foreign_symbol(struct cairn_layout layout, const char *data, Elf64_Sym *symbol)
{
	struct cairn_cursor in = start(layout, data, cairn_layout_symbol_size(layout));
	symbol->st_name = cairn_cursor_u32(&in);
	if (layout.narrow) {
		symbol->st_value = cairn_cursor_u32(&in);
		symbol->st_size = cairn_cursor_u32(&in);
	}
	symbol->st_info = cairn_cursor_u8(&in);
	symbol->st_other = cairn_cursor_u8(&in);
	symbol->st_shndx = cairn_cursor_u16(&in);
	if (!layout.narrow) {
		symbol->st_value = cairn_cursor_u64(&in);
		symbol->st_size = cairn_cursor_u64(&in);
	}
}
