/* function.h - which functions, and which calls inlined into them, contain the addresses of a unit.
 *
 * One walk over the unit's tree answers all its addresses. Most of the tree consists of types and functions without any of the addresses:
 * those are skipped as a whole if the compiler recorded where they end (DW_AT_sibling).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FUNCTION_H
#define CAIRN_SYMBOL_FUNCTION_H

#include "symbol/name.h"

/* A function, or a call inlined into one. Entries further in cover fewer addresses. */
struct cairn_inline_call {
	const struct cairn_inline_call *caller; /* the call that it is inlined into; NULL for a function itself */
	uint64_t start;			 /* its first address */
	struct cairn_name name;
	uint64_t file; /* of the call site; for cairn_lines_path */
	uint32_t line;
	uint32_t column;
};

/* The innermost call at each of ADDRESSES, which are sorted; NULL where there is none, and NULL instead of the array if nothing was
 * found. In ARENA. */
const struct cairn_inline_call **cairn_functions_match(const struct cairn_unit *unit, struct cairn_names *names, struct cairn_arena *arena,
	const uint64_t *addresses, size_t count);

#endif
