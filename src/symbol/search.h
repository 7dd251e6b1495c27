/* search.h - the places to search for debug files, in order.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_SEARCH_H
#define CAIRN_SYMBOL_SEARCH_H

#include "symbol/find.h"

/* The NUMBERth path at which the debug file of BUILD_ID may be, in ARENA; NULL after the last. */
const char *cairn_search_build_id(struct cairn_arena *arena, const struct cairn_find_options *options, const char *build_id, size_t number);

/* The same for the debug file that the .gnu_debuglink of the binary at BINARY calls NAME. */
const char *cairn_search_link(struct cairn_arena *arena, const struct cairn_find_options *options, const char *binary, const char *name,
			      size_t number);

/* The same for the file that the .gnu_debugaltlink of the file at OWNER calls NAME. */
const char *cairn_search_alt(struct cairn_arena *arena, const struct cairn_find_options *options, const char *owner, const char *name,
			     size_t number);

#endif
