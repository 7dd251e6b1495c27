/* family.h - the allocators in one ELF file, found by the names of their functions.
 *
 * A *family* is a set of functions that allocate from one allocator and give back to it: jemalloc's under any prefix (_rjem_malloc, _rjem_mallocx,
 * _rjem_sdallocx), mimalloc's, tcmalloc's, operator new and delete, Rust's __rust_alloc. A file may have several. What a function does with its
 * arguments is its *signature*, all that is needed to count what it allocates.
 *
 * Names decide, and only together: my_malloc and my_free are a program's own wrappers unless what belongs to jemalloc alone has the same prefix. A
 * stripped file in which an allocator's messages are found has a family without functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FAMILY_H
#define CAIRN_SYMBOL_FAMILY_H

#include "base/arena.h"
#include "protocol/inside.h"
#include "symbol/elf.h"

enum cairn_family_kind {
	CAIRN_FAMILY_MALLOC, /* malloc and free as every program knows them, of an allocator that is none of the following */
	CAIRN_FAMILY_JEMALLOC,
	CAIRN_FAMILY_TCMALLOC,
	CAIRN_FAMILY_MIMALLOC,
	CAIRN_FAMILY_RPMALLOC,
	CAIRN_FAMILY_SNMALLOC,
	CAIRN_FAMILY_TBB,       /* scalable_malloc of Intel's TBB */
	CAIRN_FAMILY_DLMALLOC,  /* dlmalloc and dlfree */
	CAIRN_FAMILY_OPERATORS, /* operator new and delete, in a file without a malloc of its own */
	CAIRN_FAMILY_RUST,      /* __rust_alloc and its relatives, which call another family in most programs */
};
enum { CAIRN_FAMILY_KINDS = CAIRN_FAMILY_RUST + 1 };

struct cairn_family_function {
	const char *name; /* as in the symbol table; borrowed from the file */
	struct cairn_signature signature;
	uint64_t address, size; /* link-time; a size of 0 is unknown */
	bool exported; /* among the dynamic symbols */
};

struct cairn_family {
	enum cairn_family_kind kind;
	const char *prefix; /* of all names: "_rjem_", "arrow_" before mi_; "" for none */
	struct cairn_family_function *functions; /* by address, each once */
	size_t count; /* 0 if only its messages were found: the file is stripped */
};

struct cairn_families {
	struct cairn_family *items;
	size_t count;
};

/* Finds the families in ELF. SYMBOLS is its separate debug file, or NULL. The result lives in ARENA, names as long as the files. */
struct cairn_families cairn_families_find(struct cairn_arena *arena, const struct cairn_elf *elf, const struct cairn_elf *symbols);

/* "jemalloc", "malloc", "operator new". */
const char *cairn_family_name(enum cairn_family_kind kind);

/* Whether FUNCTION, an operator new by any of its names, throws where there is no memory. */
bool cairn_family_throws(const struct cairn_family_function *function);

/* Whether TWIN takes the same arguments and returns NULL then. */
bool cairn_family_is_twin(const struct cairn_family_function *twin, const struct cairn_family_function *function);

/* Whether NAME, a function's, is of the allocator KIND with PREFIX, one of its own or one that others call: mi_heap_area, _mi_page_free. */
bool cairn_family_has_name(enum cairn_family_kind kind, const char *prefix, const char *name);

#endif
