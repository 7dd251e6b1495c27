/* descriptor.h - the agent's file descriptors, kept apart from the host's.
 *
 * Inside somebody else's process, a descriptor must not leak into programs that the process starts (close-on-exec), nor stay open in
 * forked children (they close what is registered here), nor be confused with the host's own: daemons close every descriptor they can
 * find, and the next file they open gets the lowest free number. So ours have high numbers, where a closed one stays closed and the next
 * call on it fails with EBADF. If the host opens that many files, one of its own may have our number by the time we close it; so each is
 * registered with the file it refers to, and is left alone if it refers to another.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_DESCRIPTOR_H
#define CAIRN_BASE_DESCRIPTOR_H

#include "base/bytes.h"

/* Moves DESCRIPTOR to a high number and registers it. Returns the new number, or -1 with errno (after closing DESCRIPTOR) if the table is
 * full; returns -1 for -1. Any thread. */
int cairn_descriptor_adopt(int descriptor);

/* Whether DESCRIPTOR is registered and still refers to the same file. Any thread. */
bool cairn_descriptor_is_ours(int descriptor);

/* Closes and unregisters it if it is ours; ignores -1. Any thread. */
void cairn_descriptor_close(int descriptor);

/* In a forked child, before any other call here: closes all descriptors of the parent. Async-signal-safe. */
void cairn_descriptors_abandon(void);

/* Opens the file of any descriptor again, for reading only and with a position of its own. Returns -1 where there is no /proc. */
int cairn_descriptor_reopen(int descriptor);

/* Writes REST to any descriptor and moves REST past the bytes written; returns true if that is all. Returns false with errno, also if a
 * non-blocking descriptor takes no more for now: then call it again. */
bool cairn_descriptor_write_all(int descriptor, struct cairn_bytes *rest);

/* How many are open. */
int cairn_descriptors_count(void);

#endif
