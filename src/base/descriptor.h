/* descriptor.h - file descriptors of a guest: kept out of the host's way, and known one by one.
 *
 * Inside somebody else's process a descriptor must not leak into programs it starts (close-on-exec), nor stay open in
 * children it forks (they close what is registered here), nor be mistaken for one of its own: daemons close every
 * descriptor they can find, and the next file they open gets the lowest free number. So ours live at high numbers, where
 * a closed one stays closed and the next call on it says EBADF. Where the host comes to have that many open, a number may be its own by
 * the time we close ours: so each is remembered with the file it stands for, and another is left alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_DESCRIPTOR_H
#define CAIRN_BASE_DESCRIPTOR_H

#include "base/bytes.h"

/* Moves DESCRIPTOR to a high number and registers it. Returns the new number, or -1 with errno (and DESCRIPTOR closed)
 * where the table is full; -1 in, -1 out. Any thread. */
int cairn_descriptor_adopt(int descriptor);

/* Whether DESCRIPTOR is registered and still stands for the file it was adopted with. Any thread. */
bool cairn_descriptor_is_ours(int descriptor);

/* Closes it if it is ours, and forgets it; -1 is nothing. Any thread. */
void cairn_descriptor_close(int descriptor);

/* In a forked child, before any other call here: closes all that the parent had. Async-signal-safe. */
void cairn_descriptors_abandon(void);

/* Writes REST to any descriptor, and moves REST past what was written; true when that is all. False with errno, also where a descriptor
 * that does not wait can take no more for now: then call it again. */
bool cairn_descriptor_write_all(int descriptor, struct cairn_bytes *rest);

/* How many are open. */
int cairn_descriptors_count(void);

#endif
