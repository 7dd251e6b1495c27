/* library_file.h - source files that belong to a language's standard library or to an allocator's package.
 *
 * A compiler that writes line tables only (`debug = "line-tables-only"`, -g1) gives inlined functions bare names: "alloc" for
 * alloc::alloc::alloc. Their source file still tells whose they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_LIBRARY_FILE_H
#define CAIRN_SYMBOL_LIBRARY_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum cairn_library_file {
	CAIRN_FILE_OTHER,
	CAIRN_FILE_LIBRARY,   /* containers, strings, iterators, formats: they allocate for their callers */
	CAIRN_FILE_ALLOCATOR, /* the layers between those and malloc */
	CAIRN_FILE_TASKS,     /* tasks and channels: they allocate for callers, and call others' functions from threads of their own */
	CAIRN_FILE_FOREIGN,   /* another crate that was fetched: not the program's own */
};

/* What the file at PATH, as debug information has it, belongs to. */
enum cairn_library_file cairn_library_file(const char *path);

/* What functions belong to whose names begin with NAME::, of LENGTH characters, if that is one of Rust's crates: CAIRN_FILE_LIBRARY for
 * hashbrown and smallvec, CAIRN_FILE_TASKS for tokio. */
enum cairn_library_file cairn_library_crate(const char *name, size_t length);

/* Whether PATH is a source file in Rust, or in C or C++. */
bool cairn_library_is_rust(const char *path);
bool cairn_library_is_c(const char *path);

#endif
