/* function.h - which functions, and which calls inlined into them, cover the addresses of a unit.
 *
 * One walk over the unit's tree answers all its addresses. Most of the tree is types and functions that no address is in:
 * those are stepped over whole where the compiler said where they end (DW_AT_sibling).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FUNCTION_H
#define CAIRN_SYMBOL_FUNCTION_H

#include "symbol/name.h"

/* A function, or a call inlined into one. Entries further in cover fewer addresses. */
struct cairn_inline_call {
	const struct cairn_inline_call *caller; /* what it is inlined into; NULL for a function proper */
	uint64_t start;			 /* its first address */
	struct cairn_name name;
	uint64_t file; /* of the place it is called from; for cairn_lines_path */
	uint32_t line;
	uint32_t column;
};

/* The innermost call at each of ADDRESSES, which are sorted; NULL where none is, and instead of all when nothing was found.
 * In ARENA. */
const struct cairn_inline_call **cairn_functions_match(const struct cairn_unit *unit, struct cairn_names *names, struct cairn_arena *arena,
	const uint64_t *addresses, size_t count);

#endif
