/* closure.h - names for closures and lambdas that debug information does not tell apart.
 *
 * Line tables call every closure of Rust {closure#0}, an async function {async_fn#0}, and a lambda of C++ operator(). Where the source
 * file is on this machine and older than the program, the function around the line says whose it is: open_session::{async_fn#0}. Elsewhere
 * the file does: {async_fn#0} in src/main.rs, {lambda} in server.cc:40.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_CLOSURE_H
#define CAIRN_REPORT_CLOSURE_H

#include "base/arena.h"
#include "profile/profile.h"

/* Renames such functions in PROFILE, which must be symbolized. Source files are read only as cairn_source_search allows. */
void cairn_closures_name(struct cairn_profile *profile);

/* The function around line NUMBER of SOURCE, a file in Rust: Session::open. In ARENA; NULL if there is none. */
const char *cairn_closure_scope(struct cairn_arena *arena, struct cairn_bytes source, uint32_t number);

#endif
