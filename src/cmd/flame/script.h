/* script.h - the lines that flamegraph.pl takes, and what it makes of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FLAME_SCRIPT_H
#define CAIRN_CMD_FLAME_SCRIPT_H

#include "base/buffer.h"

/* Appends to OUT the lines of TEXT that end in a blank and a number, or in two of each, as folded text: where one line has two numbers, all
 * have. With CHAIN, frames after a "--" are marked as those of a waker and a stack without one ends in "--". Returns how many lines are
 * left out; *KEPT says how many are not. */
size_t cairn_script_lines(struct cairn_bytes text, bool chain, struct cairn_buffer *out, size_t *kept);

#endif
