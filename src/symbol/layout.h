/* layout.h - the headers of ELF files of 32 and 64 bits, little- and big-endian, all read into the 64-bit structs.
 *
 * Dumps may come from another machine. Only this file knows that headers differ; everything else in a file is read through a cursor with
 * the file's byte order.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_LAYOUT_H
#define CAIRN_SYMBOL_LAYOUT_H

#include "base/bytes.h"
#include "base/cursor.h"

#include <elf.h>

struct cairn_layout {
	bool narrow; /* ELFCLASS32 */
	bool big_endian;
};

/* The layout that the first bytes of FILE announce; false when they are not those of an ELF file. */
bool cairn_layout_of(struct cairn_bytes file, struct cairn_layout *layout);

/* How many bytes each header takes in a file of LAYOUT. */
size_t cairn_layout_header_size(struct cairn_layout layout);
size_t cairn_layout_segment_size(struct cairn_layout layout);
size_t cairn_layout_section_size(struct cairn_layout layout);
size_t cairn_layout_symbol_size(struct cairn_layout layout);
size_t cairn_layout_compression_size(struct cairn_layout layout);

/* Read one from DATA, which has that many bytes. */
void cairn_layout_header(struct cairn_layout layout, const char *data, Elf64_Ehdr *header);
void cairn_layout_segment(struct cairn_layout layout, const char *data, Elf64_Phdr *segment);
void cairn_layout_section(struct cairn_layout layout, const char *data, Elf64_Shdr *section);
void cairn_layout_compression(struct cairn_layout layout, const char *data, Elf64_Chdr *compression);
void cairn_layout_foreign_symbol(struct cairn_layout layout, const char *data, Elf64_Sym *symbol);

/* A fast path: there are millions of symbols, and nearly all files have this machine's layout. */
static inline void cairn_layout_symbol(struct cairn_layout layout, const char *data, Elf64_Sym *symbol)
{
	if (layout.narrow || layout.big_endian)
		cairn_layout_foreign_symbol(layout, data, symbol);
	else
		memcpy(symbol, data, sizeof *symbol);
}

/* A cursor over BYTES in the byte order of LAYOUT. */
static inline struct cairn_cursor cairn_layout_cursor(struct cairn_layout layout, struct cairn_bytes bytes)
{
	struct cairn_cursor in = cairn_cursor(bytes);
	in.big_endian = layout.big_endian;
	return in;
}

#endif
