/* jemalloc.h - the jemalloc inside an ELF file, found by its symbols, or by its strings if it is stripped.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_JEMALLOC_H
#define CAIRN_SYMBOL_JEMALLOC_H

#include "symbol/elf.h"

enum { CAIRN_JEMALLOC_TEXT = 64 };

struct cairn_elf_jemalloc {
	bool has_symbols;                    /* its functions are in a symbol table */
	bool exported;                       /* among the dynamic ones */
	bool profiles;                       /* it was built with profiling */
	char prefix[CAIRN_JEMALLOC_TEXT];    /* of its functions: "", "je_", "_rjem_"; empty without symbols */
	char variable[CAIRN_JEMALLOC_TEXT];  /* the environment variable it reads; empty if unknown */
	char link[CAIRN_JEMALLOC_TEXT];      /* the symbolic link it reads: "/etc/malloc.conf"; empty if unknown */
	char version[CAIRN_JEMALLOC_TEXT];   /* "5.3.0-0-g…"; empty if unknown */
};

/* Searches ELF for it. Returns false if there is none. */
bool cairn_elf_jemalloc(const struct cairn_elf *elf, struct cairn_elf_jemalloc *jemalloc);

/* The link-time address of the data or function whose name ends in NAME and begins with jemalloc's prefix (and je_, which it puts before
 * its own names). Returns false if no symbol table has it. */
bool cairn_elf_jemalloc_symbol(const struct cairn_elf *elf, const struct cairn_elf_jemalloc *jemalloc, const char *name, uint64_t *address);

/* The text to which the pointer at link-time ADDRESS points once the file is loaded: NULL if there is none, or if it is known only at run
 * time. Borrowed from ELF. */
const char *cairn_elf_pointed_text(const struct cairn_elf *elf, uint64_t address);

#endif
