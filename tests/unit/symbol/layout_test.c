/* layout_test.c - headers of all four layouts read as one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/layout.h"

#include "assemble.h"
#include "tap.h"

/* Appends VALUE in SIZE bytes of LAYOUT's order; size 0 is a word. */
static void field(struct cairn_buffer *out, struct cairn_layout layout, uint64_t value, unsigned size)
{
	size = size ? size : layout.narrow ? 4 : 8;
	put(out, layout.big_endian ? __builtin_bswap64(value) >> (64 - 8 * size) : value, size);
}

static void test(struct cairn_layout layout, const char *name)
{
	struct cairn_buffer out = cairn_buffer(1000);
	put_bytes(&out, 0x7f, 'E', 'L', 'F', layout.narrow ? ELFCLASS32 : ELFCLASS64, layout.big_endian ? ELFDATA2MSB : ELFDATA2LSB, 1);
	put(&out, 0, 9);
	field(&out, layout, ET_DYN, 2);
	field(&out, layout, EM_S390, 2);
	field(&out, layout, 1, 4);
	const uint64_t words[] = {0x10203, 0x40506, 0x70809};
	for (int i = 0; i < 3; i++)
		field(&out, layout, words[i], 0);
	field(&out, layout, 0x11223344, 4);
	for (unsigned i = 1; i <= 6; i++)
		field(&out, layout, 0x100 * i + 7, 2);
	struct cairn_layout found;
	Elf64_Ehdr header;
	ok(cairn_layout_of(cairn_buffer_bytes(&out), &found) && found.narrow == layout.narrow && found.big_endian == layout.big_endian,
		"%s: told by its first bytes", name);
	is_int(out.length, cairn_layout_header_size(layout), "%s: the size of the header", name);
	cairn_layout_header(layout, out.data, &header);
	ok(header.e_machine == EM_S390 && header.e_type == ET_DYN && header.e_phoff == 0x40506 && header.e_shoff == 0x70809 &&
		header.e_phnum == 0x307 &&
		   header.e_shstrndx == 0x607, "%s: the header", name);

	out.length = 0;
	field(&out, layout, PT_LOAD, 4);
	if (!layout.narrow)
		field(&out, layout, PF_X, 4);
	for (unsigned i = 1; i <= 5; i++)
		field(&out, layout, 0x1000 * i, 0);
	if (layout.narrow)
		field(&out, layout, PF_X, 4);
	field(&out, layout, 0x6000, 0);
	Elf64_Phdr segment;
	is_int(out.length, cairn_layout_segment_size(layout), "%s: the size of a segment", name);
	cairn_layout_segment(layout, out.data, &segment);
	ok(segment.p_type == PT_LOAD && segment.p_flags == PF_X && segment.p_offset == 0x1000 && segment.p_vaddr == 0x2000 &&
		segment.p_filesz == 0x4000 &&
		   segment.p_memsz == 0x5000 && segment.p_align == 0x6000, "%s: a segment", name);

	out.length = 0;
	field(&out, layout, 0x21, 4);
	field(&out, layout, SHT_SYMTAB, 4);
	for (unsigned i = 1; i <= 4; i++)
		field(&out, layout, 0x1000 * i, 0);
	field(&out, layout, 0x31, 4);
	field(&out, layout, 0x32, 4);
	field(&out, layout, 0x8, 0);
	field(&out, layout, 0x18, 0);
	Elf64_Shdr section;
	is_int(out.length, cairn_layout_section_size(layout), "%s: the size of a section", name);
	cairn_layout_section(layout, out.data, &section);
	ok(section.sh_name == 0x21 && section.sh_type == SHT_SYMTAB && section.sh_flags == 0x1000 && section.sh_addr == 0x2000 &&
		section.sh_offset == 0x3000 &&
		   section.sh_size == 0x4000 && section.sh_link == 0x31 && section.sh_entsize == 0x18, "%s: a section", name);

	out.length = 0;
	field(&out, layout, 0x55, 4);
	if (layout.narrow) {
		field(&out, layout, 0x9000, 4);
		field(&out, layout, 0x66, 4);
	}
	put_bytes(&out, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0);
	field(&out, layout, 0x13, 2);
	if (!layout.narrow) {
		field(&out, layout, 0x9000, 8);
		field(&out, layout, 0x66, 8);
	}
	Elf64_Sym symbol;
	is_int(out.length, cairn_layout_symbol_size(layout), "%s: the size of a symbol", name);
	cairn_layout_symbol(layout, out.data, &symbol);
	ok(symbol.st_name == 0x55 && symbol.st_value == 0x9000 && symbol.st_size == 0x66 && symbol.st_shndx == 0x13 &&
		   ELF64_ST_TYPE(symbol.st_info) == STT_FUNC, "%s: a symbol", name);

	out.length = 0;
	field(&out, layout, ELFCOMPRESS_ZLIB, 4);
	if (!layout.narrow)
		field(&out, layout, 0, 4);
	field(&out, layout, 0x123456, 0);
	field(&out, layout, 8, 0);
	Elf64_Chdr compression;
	is_int(out.length, cairn_layout_compression_size(layout), "%s: the size of what is before compressed data", name);
	cairn_layout_compression(layout, out.data, &compression);
	ok(compression.ch_type == ELFCOMPRESS_ZLIB && compression.ch_size == 0x123456, "%s: and its fields", name);
	cairn_buffer_free(&out);
}

int main(void)
{
	test((struct cairn_layout){false, false}, "64 bits");
	test((struct cairn_layout){true, false}, "32 bits");
	test((struct cairn_layout){false, true}, "64 bits, big-endian");
	test((struct cairn_layout){true, true}, "32 bits, big-endian");
	return tap_done();
}
