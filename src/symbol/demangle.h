/* demangle.h - turns a linker's name into the one in the source, with libiberty.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_DEMANGLE_H
#define CAIRN_SYMBOL_DEMANGLE_H

#include "profile/profile.h"

/* The full name behind NAME: C++ with its parameters, Rust (legacy and v0) without its hash. NULL if NAME is not mangled, or if the
 * result would be too long to read. The result lives in ARENA. Any thread may call it; it takes about a microsecond, so demangle each
 * name once. */
const char *cairn_demangle(struct cairn_arena *arena, const char *name);

/* The same for the names of some languages only. Without Rust, its legacy names are names of C++, and have their hash. */
enum cairn_demangle_language { CAIRN_DEMANGLE_RUST = 1, CAIRN_DEMANGLE_CPLUS = 2, CAIRN_DEMANGLE_ALL = 3 };
const char *cairn_demangle_from(struct cairn_arena *arena, const char *name, unsigned languages);

/* Demangles the names that PROFILE was read with, where the writer has not: its functions have the linker's name as their only one. That
 * name stays as the system name. */
void cairn_demangle_profile(struct cairn_profile *profile);

#endif
