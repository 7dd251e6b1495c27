/* wrapper.h - functions that allocate memory on behalf of their callers.
 *
 * strdup, the growth of std::vector, Vec::with_capacity or a program's own zmalloc stand between the allocator and the code that wanted
 * memory. Views that fold wrappers charge their memory to the first caller that is not a wrapper. This file alone decides which functions
 * are wrappers: by tables for libc, the standard libraries of C++ and Rust and other libraries of containers and texts, by patterns for a
 * program's own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_WRAPPER_H
#define CAIRN_SYMBOL_WRAPPER_H

#include "symbol/library_file.h"

#include <stdbool.h>

/* Shell patterns, separated by commas, for the last part of a function's name. */
#define CAIRN_WRAPPER_PATTERNS \
	"*malloc*,*calloc*,*realloc*,*_alloc*,*alloc,*palloc*,*talloc_*,*Malloc*,*Calloc*,*Realloc*,*Alloc,allocate,Allocate," \
	"AllocateHeap," \
	"AllocateAligned,MemoryContextAlloc*,operator new*,*strdup*,*strndup*,*memdup*,*asprintf*"

/* Whether the function with that short name (shorten.h) is a wrapper; PATTERNS may be NULL for those above. */
bool cairn_wrapper_is(const char *name, const char *patterns);

/* Whether NAME has no scope (alloc, not alloc::alloc::alloc), so that it does not tell whose function it is. */
bool cairn_wrapper_is_bare(const char *name);

/* Whether NAME is a closure's or lambda's: {closure#0}, open::{closure#0}, open::{lambda(int)#1}::operator()(int) const. */
bool cairn_wrapper_is_closure(const char *name);

/* Whether NAME is a closure's, or bare and in Rust what every type has: new. */
bool cairn_wrapper_is_anonymous(const char *name, bool is_rust);

/* Whether serde makes Rust's methods called NAME, which is bare, for types of the program: visit_map. */
bool cairn_wrapper_is_derived(const char *name);

/* Whether a closure called NAME may be part of the function AROUND it: if it is bare, or their names say so. */
bool cairn_wrapper_is_part(const char *name, const char *around);

/* What a function called NAME belongs to if it is of one of Rust's crates: hashbrown::map::make, <smallvec::SmallVec<A>>::grow. */
enum cairn_library_file cairn_wrapper_crate(const char *name);

/* Whether the file at PATH is a library whose functions allocate for their callers: libc, libstdc++, GLib. */
bool cairn_wrapper_is_module(const char *path);

/* Whether every stack of a thread or process begins with the function called NAME, which is nobody's caller. */
bool cairn_wrapper_is_root(const char *name);

#endif
