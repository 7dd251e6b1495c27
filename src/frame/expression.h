/* expression.h - DWARF expressions (DWARF 5, 2.5), as far as call frame information uses them.
 *
 * A small stack machine over the registers of one frame. PLT stubs, signal frames and functions that realign their stack use such
 * expressions. The caller's function reads memory and decides what is safe.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FRAME_EXPRESSION_H
#define CAIRN_FRAME_EXPRESSION_H

#include "base/bytes.h"

struct cairn_expression_world {
	const uint64_t *registers; /* by DWARF number */
	unsigned registers_count;
	bool (*read)(void *context, uint64_t address, unsigned size, uint64_t *value);
	void *context;
};

/* The value of EXPRESSION. The stack starts with *FIRST (the CFA, for register rules), or empty if FIRST is NULL. Returns false for an
 * unknown operation, a stack overflow or underflow, an unreadable address, or an endless loop. */
bool cairn_expression_value(struct cairn_bytes expression, const struct cairn_expression_world *world, const uint64_t *first,
			    uint64_t *value);

#endif
