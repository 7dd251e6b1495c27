/* tree.h - which processes descend from which.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_TREE_H
#define CAIRN_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>

/* The parent of process PID; 0 where there is none, or it cannot be read. */
int cairn_tree_parent(int pid);

/* Whether PID is ROOT or descends from it. */
bool cairn_tree_has(int root, int pid);

/* Puts ROOT and all that descends from it into PIDS, parents before their children and no more than MOST, and returns how many those are;
 * 0 where there is no process ROOT. One look at each process of the machine, without allocating from the heap. */
size_t cairn_tree_list(int root, int *pids, size_t most);

#endif
