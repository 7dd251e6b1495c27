/* priority.h - wait for no processor while somebody waits for us.
 *
 * A thread that is stopped waits until we let it go. And whoever reads or writes the memory of another process holds a lock of that
 * process's address space: if we are put aside meanwhile, as on a busy machine for tens of milliseconds, every thread there that maps or
 * unmaps memory waits as long. So we ask for a priority above all ordinary threads for these short times, where the system lets us.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_PRIORITY_H
#define CAIRN_LIVE_ATTACH_PRIORITY_H

/* In pairs, one inside another or not; only the outermost does anything. From one thread. */
void cairn_priority_raise(void);
void cairn_priority_restore(void);

#endif
