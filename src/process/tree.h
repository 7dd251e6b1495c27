/* tree.h - parents and descendants of processes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_TREE_H
#define CAIRN_PROCESS_TREE_H

#include "base/buffer.h"

/* The parent of process PID; 0 where there is none, or it cannot be read. */
int cairn_tree_parent(int pid);

/* Whether PID is ROOT or descends from it. */
bool cairn_tree_has(int root, int pid);

/* Puts ROOT and all its descendants into PIDS, parents before children and at most MOST, and returns their number; 0 if there is no
 * process ROOT. Looks at each process of the machine once, without allocating from the heap. A caller that asks again and again keeps
 * KNOWN, empty at first, from one call to the next: then only processes that are new, and those that have lost their parents, are looked
 * at. A number that was given to another process between two calls is not noticed. KNOWN may be NULL. */
size_t cairn_tree_list(int root, struct cairn_buffer *known, int *pids, size_t most);

#endif
