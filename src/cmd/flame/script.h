/* script.h - flamegraph.pl's input lines and how it interprets them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FLAME_SCRIPT_H
#define CAIRN_CMD_FLAME_SCRIPT_H

#include "base/buffer.h"

/* Appends the lines of TEXT that end in one or two numbers to OUT as folded text: if one line has two numbers, all have. With CHAIN,
 * frames after a "--" are marked as those of a waker, and a stack without one ends in "--". Returns the number of lines left out; *KEPT
 * is the number of the others. */
size_t cairn_script_lines(struct cairn_bytes text, bool chain, struct cairn_buffer *out, size_t *kept);

#endif
