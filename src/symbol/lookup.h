/* lookup.h - names and source positions for the addresses of one module.
 *
 * A *module* here is one binary with everything that describes it: the binary itself, its separate debug file, dwz's shared file, a
 * package of split DWARF, a mini symbol table. The caller finds these files; `struct cairn_symbols` reads them, for many addresses at a
 * time.
 *
 * One call answers a whole batch. It reads only compilation units that contain an address, walks each once for all its addresses, and
 * uses several processors while compressed sections are still being decompressed; of the largest ones, only a part is in memory at a time.
 * Addresses that DWARF does not name may be named by .symtab, .dynsym and the mini symbol table: a symbol names an address only within its
 * size.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_LOOKUP_H
#define CAIRN_SYMBOL_LOOKUP_H

#include "symbol/elf.h"

/* The files of a module. All but BINARY may be NULL; BINARY may be the debug file itself. Borrowed: every file outlives the cairn_symbols
 * made from it. */
struct cairn_symbols_files {
	struct cairn_elf *binary;  /* as it was loaded */
	struct cairn_elf *debug;   /* separate debug file: DWARF and .symtab */
	struct cairn_elf *alt;     /* dwz's shared file (.gnu_debugaltlink of the file that has the DWARF) */
	struct cairn_elf *package; /* .dwp: split DWARF of all units */
	struct cairn_elf *mini;    /* unpacked .gnu_debugdata */
	const char *sysroot;	   /* more folders to search for .dwo files, */
	const char *const *folders; /* as split.h describes */
	size_t folder_count;
};

enum cairn_symbol_source { CAIRN_SYMBOL_NONE, CAIRN_SYMBOL_DWARF, CAIRN_SYMBOL_SYMTAB, CAIRN_SYMBOL_DYNSYM, CAIRN_SYMBOL_MINI };

struct cairn_symbol_frame {
	const char *function;   /* NULL when not known */
	const char *file;       /* path as the compiler knew it, made absolute by its directory; NULL when not known */
	uint32_t line;          /* 0 when not known */
	uint32_t column;        /* 0 when not known */
	uint32_t function_line; /* where the function is declared; 0 when not known */
	bool mangled;           /* FUNCTION is a linkage name that can be demangled; otherwise it is the name in the source */
	bool inlined;           /* into the frame that follows */
};

/* The frames at one address, innermost first: inlined functions, then the function itself. A name from a symbol table has one frame. No
 * frames means that nothing is known. There may be line information without a function: one frame whose function came from SOURCE. */
struct cairn_symbol {
	const struct cairn_symbol_frame *frames;
	uint32_t count;
	enum cairn_symbol_source source; /* of the function's name in the outermost frame */
};

struct cairn_symbols;

/* Prepares the files; cheap, because it reads only headers. Never NULL. Free with cairn_symbols_close. */
struct cairn_symbols *cairn_symbols_open(const struct cairn_symbols_files *files);
void cairn_symbols_close(struct cairn_symbols *symbols);

/* Fills RESULTS[i] for the link-time address ADDRESSES[i], in any order, with or without duplicates. SYMBOLS owns frames and strings;
 * equal strings are often, but not always, the same pointer. Only one call at a time; it uses threads itself. Later calls reuse what
 * earlier calls decompressed, as far as it is still in memory. */
void cairn_symbols_lookup(struct cairn_symbols *symbols, const uint64_t *addresses, size_t count, struct cairn_symbol *results);

/* Messages about damage found while reading (a missing .dwo, circular lists), each once and at most a screenful. *COUNT of them; borrowed
 * until the next lookup. */
const char *const *cairn_symbols_warnings(const struct cairn_symbols *symbols, size_t *count);

/* Whether some of that is due to a lack of memory for decompression: another run with more memory may find more. */
bool cairn_symbols_lacked_room(const struct cairn_symbols *symbols);

/* Paths without a matching file that could have had names (of a .dwo): *COUNT of them, borrowed until the next lookup. */
const char *const *cairn_symbols_sought(const struct cairn_symbols *symbols, size_t *count);

/* The path of a file that was written to after it was opened, so that what was read may be of two builds; NULL if there is none. */
const char *cairn_symbols_changed(const struct cairn_symbols *symbols);

#endif
