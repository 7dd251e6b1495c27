/* shorten.h - the short form of a function's name: what a person calls it.
 *
 * Parameters, return types, qualifiers and clone suffixes are dropped. Template and generic arguments become <...>, so the name still shows
 * that it is generic. The type or trait that Rust puts before a method stays, because the name means nothing without it:
 *
 *   std::vector<int, std::allocator<int> >::push_back(int const&)   std::vector<...>::push_back
 *   <alloc::vec::Vec<T> as core::clone::Clone>::clone               <alloc::vec::Vec<...> as core::clone::Clone>::clone
 *   void (anonymous namespace)::f<int>(int) [clone .cold]           (anonymous namespace)::f<...>
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_SHORTEN_H
#define CAIRN_SYMBOL_SHORTEN_H

#include "base/arena.h"

/* The short form of NAME, which is already demangled: NAME itself if there is nothing to leave out, else in ARENA. Names that make no
 * sense as C++ or Rust (Go, Python, anything else) are returned unchanged. Takes time linear in its length. */
const char *cairn_name_shorten(struct cairn_arena *arena, const char *name);

#endif
