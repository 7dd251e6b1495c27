/* demangle.h - turns a linker's name into the one in the source, with libiberty.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_DEMANGLE_H
#define CAIRN_SYMBOL_DEMANGLE_H

#include "base/arena.h"

/* The full name behind NAME: C++ with its parameters, Rust (legacy and v0) without its hash. NULL if NAME is not mangled, or if the
 * result would be too long to read. The result lives in ARENA. Any thread may call it; it takes about a microsecond, so demangle each
 * name once. */
const char *cairn_demangle(struct cairn_arena *arena, const char *name);

#endif
