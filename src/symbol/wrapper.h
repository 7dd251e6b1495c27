/* wrapper.h - functions that ask for memory on behalf of their callers.
 *
 * strdup, std::vector's growth, Vec::with_capacity or a program's own zmalloc stand between the allocator and the code that wanted memory.
 * Views that fold wrappers count their memory as that of the first caller that is none. Which functions those are is said here and nowhere
 * else: by tables for libc and the standard libraries of C++ and Rust, by patterns for a program's own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_WRAPPER_H
#define CAIRN_SYMBOL_WRAPPER_H

#include <stdbool.h>

/* Patterns of the shell, with commas between them, for the last part of a function's name. */
#define CAIRN_WRAPPER_PATTERNS "*malloc*,*calloc*,*realloc*,*_alloc*"

/* Whether the function with that short name (shorten.h) is a wrapper; PATTERNS may be NULL for those above. */
bool cairn_wrapper_is(const char *name, const char *patterns);

#endif
