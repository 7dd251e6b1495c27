/* debuginfod.h - files from a debuginfod server, by the system's own client library.
 *
 * The library brings an HTTP client and thirty others along, so it is loaded only when a person asks for it and
 * DEBUGINFOD_URLS names a server. It keeps what it fetched in its own cache.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_DEBUGINFOD_H
#define CAIRN_SYMBOL_DEBUGINFOD_H

#include "base/arena.h"
#include "base/error.h"

/* The path of the debug file (or, for EXECUTABLE, the binary) of BUILD_ID, fetched if need be, in ARENA. NULL with a
 * sentence when there is no library, no server, or the server does not have it. */
const char *cairn_debuginfod_fetch(struct cairn_arena *arena, const char *build_id, bool executable, struct cairn_error *error);

#endif
