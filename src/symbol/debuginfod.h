/* debuginfod.h - files from a debuginfod server, fetched with the system's own client library.
 *
 * The library depends on an HTTP client and thirty other libraries, so it is loaded only if the user asks for it and DEBUGINFOD_URLS
 * names a server. It keeps fetched files in its own cache.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_DEBUGINFOD_H
#define CAIRN_SYMBOL_DEBUGINFOD_H

#include "base/arena.h"
#include "base/error.h"

/* The path of the debug file (or, for EXECUTABLE, the binary) of BUILD_ID, fetched if necessary, in ARENA. NULL with a message if there
 * is no library or no server, or if the server does not have the file. */
const char *cairn_debuginfod_fetch(struct cairn_arena *arena, const char *build_id, bool executable, struct cairn_error *error);

#endif
