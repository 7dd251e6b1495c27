/* elf.h - one ELF file: its identity, segments, sections and symbols.
 *
 * Files of 32 and 64 bits, little- and big-endian, are read alike (layout.h). The file is mapped and nothing is copied; a compressed
 * section (SHF_COMPRESSED with zlib or zstd, or the older .zdebug_ names) is decompressed at the first request. Opening checks every
 * offset and size in the file against its length, so that returned data can be read without further checks. All returned strings and
 * bytes are borrowed: they live until cairn_elf_close.
 *
 * Addresses are *link-time* addresses: those of the file's own program headers, before it is loaded anywhere.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_ELF_H
#define CAIRN_SYMBOL_ELF_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "symbol/layout.h"

struct cairn_inflate;

/* A name or path of this length is rejected: in a hostile file, every one could be as long as the file. */
enum { CAIRN_LONGEST_NAME = 64 * 1024 };
/* More program headers than that have no sense. */
enum { CAIRN_SEGMENTS_MOST = 1024 };

/* A PT_LOAD program header. */
struct cairn_elf_segment {
	uint64_t offset;      /* in the file */
	uint64_t address;     /* link-time */
	uint64_t file_size;   /* 0 in a separate debug file, which holds no code */
	uint64_t memory_size;
	bool executable;
	uint64_t alignment; /* in the binary, address and offset differ by a multiple of this */
};

struct cairn_elf_section {
	const char *name;
	uint32_t type; /* SHT_RELA, … */
	uint32_t link, info;
	uint64_t flags;
	uint64_t address;
	uint64_t size;              /* in memory; the compressed size if it is compressed */
	struct cairn_bytes bytes;   /* as in the file; empty for NOBITS */
	struct cairn_inflate *inflate; /* how its contents are decompressed; NULL if they are not compressed */
	char *relocated;               /* what BYTES are after cairn_elf_relocate, owned; NULL if that has not changed them */
};

struct cairn_elf {
	char *path; /* as it was opened, for messages */
	struct cairn_file file;
	bool owns_file; /* opened here, not borrowed */
	struct cairn_layout layout;
	uint16_t machine; /* EM_X86_64, EM_AARCH64, … of <elf.h> */
	uint16_t type;    /* ET_EXEC, ET_DYN, ET_REL */
	char build_id[2 * 64 + 1]; /* lower-case hex; empty when there is none */
	struct cairn_elf_segment *segments;
	size_t segment_count;
	struct cairn_elf_section *sections;
	size_t section_count;
};

/* Opens the file at PATH. Free with cairn_elf_close. */
struct cairn_elf *cairn_elf_open(const char *path, struct cairn_error *error);

/* The same over BYTES, which are borrowed and must outlive the result; NAME stands for the path in messages. */
struct cairn_elf *cairn_elf_open_bytes(struct cairn_bytes bytes, const char *name, struct cairn_error *error);

void cairn_elf_close(struct cairn_elf *elf);

/* Lays out an object file (ET_REL), so that it can be read like a linked one: its sections, all at address 0 until then, and its symbols
 * get addresses, and its debug information refers to them. The layout depends only on the headers: a separate debug file gets the same.
 * Call it before anything else is read. Fails with a message if the file is damaged or too large for that. */
bool cairn_elf_relocate(struct cairn_elf *elf, struct cairn_error *error);

/* Whether the file is ELF at all, by its first bytes. */
bool cairn_elf_is(struct cairn_bytes bytes);

/* The link-time address of the byte at file OFFSET, as in a loaded executable; and back. In a separate debug file, the segments' offsets
 * are usually, but not always, those of the binary it was made from: ask the binary. */
bool cairn_elf_address_of(const struct cairn_elf *elf, uint64_t offset, uint64_t *address);
bool cairn_elf_offset_of(const struct cairn_elf *elf, uint64_t address, uint64_t *offset);

/* Whether ADDRESS is in an executable segment (or section, if there are no segments). */
bool cairn_elf_is_code(const struct cairn_elf *elf, uint64_t address);

/* The section called NAME, or NULL. ".debug_info" finds ".zdebug_info" too. */
struct cairn_elf_section *cairn_elf_section(const struct cairn_elf *elf, const char *name);

/* The contents of the section called NAME, decompressed by the first call; other threads wait for it. Empty if there is none, it is empty,
 * or it cannot be decompressed. */
struct cairn_bytes cairn_elf_named(const struct cairn_elf *elf, const char *name);

/* .gnu_debuglink: the file name of the separate debug file and the CRC-32 of its contents. False when there is none. */
bool cairn_elf_debuglink(const struct cairn_elf *elf, const char **name, uint32_t *crc);

/* .gnu_debugaltlink, or .debug_sup of DWARF 5: path (absolute or relative to this file) and hexadecimal build-id of dwz's shared file.
 * BUILD_ID holds at least 129 bytes. */
bool cairn_elf_altlink(const struct cairn_elf *elf, const char **name, char *build_id);

/* Whether this is that file: BUILD_ID is its own, or in its .debug_sup, where dwz -5 writes it. */
bool cairn_elf_is_alt(const struct cairn_elf *elf, const char *build_id);

/* .gnu_debugdata: an xz-compressed ELF file that contains the mini symbol table; empty if there is none. */
struct cairn_bytes cairn_elf_debugdata(const struct cairn_elf *elf);

/* Whether the file has debug information for the line and function reader (.debug_info), or a full symbol table. */
bool cairn_elf_has_dwarf(const struct cairn_elf *elf);
bool cairn_elf_has_symtab(const struct cairn_elf *elf);

/* A defined symbol. */
struct cairn_elf_symbol {
	const char *name; /* empty when it has none */
	uint64_t address;
	uint64_t size;
	uint8_t type;    /* STT_FUNC, … */
	uint8_t binding; /* STB_GLOBAL, … */
	uint16_t section; /* index of its section, or SHN_ABS and the like */
};

/* Linked programs have a few. */
enum { CAIRN_ELF_CODE_SECTIONS = 64 };

/* Iterates over the defined symbols of ".symtab" or ".dynsym" in file order. */
struct cairn_elf_symbols {
	struct cairn_bytes entries;
	struct cairn_bytes names;
	const struct cairn_elf *elf;
	const struct cairn_elf_section *descriptors; /* .opd of 64-bit PowerPC, where functions' symbols point to descriptors; else NULL */
	uint16_t code[CAIRN_ELF_CODE_SECTIONS]; /* if there are descriptors: the sections that have code, */
	size_t code_count;			/* none if they are too many */
};
struct cairn_elf_symbols cairn_elf_symbols(const struct cairn_elf *elf, const char *table);
bool cairn_elf_symbols_next(struct cairn_elf_symbols *symbols, struct cairn_elf_symbol *symbol);

/* Whether NAME is defined among the dynamic symbols. */
bool cairn_elf_exports(const struct cairn_elf *elf, const char *name);

#endif
