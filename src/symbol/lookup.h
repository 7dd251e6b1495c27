/* lookup.h - names and places for the addresses of one module.
 *
 * A *module* here is one binary with everything that describes it: the binary itself, its separate debug file, the file
 * dwz shared parts into, a package of split DWARF, a mini symbol table. Which files those are is the caller's to find;
 * `struct cairn_symbols` reads them, for many addresses at a time.
 *
 * One call answers a whole batch. Only compilation units that an address falls into are read, each walked once for all of
 * its addresses, on all processors, while sections that are compressed are still being unpacked. What DWARF does not
 * name, .symtab, .dynsym and the mini symbol table may: a symbol names an address only inside its size.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_LOOKUP_H
#define CAIRN_SYMBOL_LOOKUP_H

#include "symbol/elf.h"

/* What a module is made of. All but BINARY may be NULL; BINARY may be the debug file itself. Borrowed: every file outlives
 * the cairn_symbols made of it. */
struct cairn_symbols_files {
	struct cairn_elf *binary;  /* as it was loaded */
	struct cairn_elf *debug;   /* separate debug file: DWARF and .symtab */
	struct cairn_elf *alt;     /* dwz's shared file (.gnu_debugaltlink of the file that has the DWARF) */
	struct cairn_elf *package; /* .dwp: split DWARF of all units */
	struct cairn_elf *mini;    /* unpacked .gnu_debugdata */
	const char *sysroot;	   /* where .dwo files are looked for besides where they were made, and beside the binary; */
	const char *const *folders; /* split.h says how */
	size_t folder_count;
};

enum cairn_symbol_source { CAIRN_SYMBOL_NONE, CAIRN_SYMBOL_DWARF, CAIRN_SYMBOL_SYMTAB, CAIRN_SYMBOL_DYNSYM, CAIRN_SYMBOL_MINI };

struct cairn_symbol_frame {
	const char *function;   /* NULL when not known */
	const char *file;       /* path as the compiler knew it, made absolute by its directory; NULL when not known */
	uint32_t line;          /* 0 when not known */
	uint32_t column;        /* 0 when not known */
	uint32_t function_line; /* where the function is declared; 0 when not known */
	bool mangled;           /* FUNCTION is a linkage name: worth demangling. Otherwise it is as written in the source */
	bool inlined;           /* into the frame that follows */
};

/* The frames at one address, innermost first: functions inlined there, then the function itself. A name that came from a
 * symbol table has one frame. No frame at all: nothing is known. Line information without a function is possible:
 * one frame whose function came from SOURCE. */
struct cairn_symbol {
	const struct cairn_symbol_frame *frames;
	uint32_t count;
	enum cairn_symbol_source source; /* of the function's name in the outermost frame */
};

struct cairn_symbols;

/* Prepares the files; cheap, nothing is read but headers. Never NULL. Free with cairn_symbols_close. */
struct cairn_symbols *cairn_symbols_open(const struct cairn_symbols_files *files);
void cairn_symbols_close(struct cairn_symbols *symbols);

/* Fills RESULTS[i] for the link-time address ADDRESSES[i], in any order, repeated or not. Frames and strings are owned by
 * SYMBOLS; equal strings are often, not always, the same pointer. One call at a time; it uses threads itself. Later
 * calls reuse what was unpacked by earlier ones. */
void cairn_symbols_lookup(struct cairn_symbols *symbols, const uint64_t *addresses, size_t count, struct cairn_symbol *results);

/* Sentences about damage met while reading (a .dwo that is missing, lists that go in circles), each once
 * and no more than a screenful.
 * *COUNT of them; borrowed until the next lookup. */
const char *const *cairn_symbols_warnings(const struct cairn_symbols *symbols, size_t *count);

/* Whether some of that is because there was no room to unpack sections in: another run, with more memory, may find more. */
bool cairn_symbols_lacked_room(const struct cairn_symbols *symbols);

/* Paths at which nothing fit that could have had names (of a .dwo): *COUNT of them, borrowed until the next lookup. */
const char *const *cairn_symbols_sought(const struct cairn_symbols *symbols, size_t *count);

#endif
