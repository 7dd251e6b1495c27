/* wrapper.h - functions that allocate memory on behalf of their callers.
 *
 * strdup, the growth of std::vector, Vec::with_capacity or a program's own zmalloc stand between the allocator and the code that wanted
 * memory. Views that fold wrappers charge their memory to the first caller that is not a wrapper. This file alone decides which functions
 * are wrappers: by tables for libc and the standard libraries of C++ and Rust, by patterns for a program's own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_WRAPPER_H
#define CAIRN_SYMBOL_WRAPPER_H

#include <stdbool.h>

/* Shell patterns, separated by commas, for the last part of a function's name. */
#define CAIRN_WRAPPER_PATTERNS "*malloc*,*calloc*,*realloc*,*_alloc*"

/* Whether the function with that short name (shorten.h) is a wrapper; PATTERNS may be NULL for those above. */
bool cairn_wrapper_is(const char *name, const char *patterns);

#endif
