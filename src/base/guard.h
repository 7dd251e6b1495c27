/* guard.h - mapped files that may be cut short while they are read.
 *
 * A page that its file has lost raises SIGBUS when it is read, and `cp` over a library cuts it short for a moment. A guarded mapping gets
 * zeroes from there to its end instead, and knows that it did. A SIGBUS from anything else still ends the process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_GUARD_H
#define CAIRN_BASE_GUARD_H

#include "base/bytes.h"

struct cairn_guard;

/* Maps SIZE bytes of the file behind DESCRIPTOR for reading. One more byte, a zero, can be read behind them: a text that lost its end
 * ends there. Large holes of the file are no part of the mapping: they take no memory when they are read. Moves the offset of DESCRIPTOR.
 * Returns NULL with errno. Any thread; so may the others, each for a guard of its own. */
struct cairn_guard *cairn_guard_map(int descriptor, size_t size);
void cairn_guard_unmap(struct cairn_guard *guard);

/* Lives until the unmapping. */
struct cairn_bytes cairn_guard_bytes(const struct cairn_guard *guard);

/* Whether a part that was read is gone, so that zeroes were read in its place. */
bool cairn_guard_is_cut(const struct cairn_guard *guard);

#endif
