/* proc_list.h - the processes of this machine, or the threads of one of them, from /proc and without allocating.
 *
 * Threads that end while they are listed can hide others: the kernel lists them in pieces and may lose its place.
 *
 *	struct cairn_proc_list list;
 *	cairn_proc_list_threads(&list, pid);
 *	for (int tid; (tid = cairn_proc_list_next(&list));)
 *		...
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_PROC_LIST_H
#define CAIRN_PROCESS_PROC_LIST_H

#include "base/entries.h"

#include <stdbool.h>

struct cairn_proc_list {
	struct cairn_entries entries;
};

/* Begin a list: of all processes that can be seen, or of the threads of process PID; 0 stands for the calling process. Return false, with
 * an empty list, if /proc cannot be read or there is no such process. */
bool cairn_proc_list_processes(struct cairn_proc_list *list);
bool cairn_proc_list_threads(struct cairn_proc_list *list, int pid);

/* The next ID. Returns 0 at the end, and closes the list. */
int cairn_proc_list_next(struct cairn_proc_list *list);

/* Closes a list, which must be done if it is left before its end. Does nothing if the list is already closed. */
void cairn_proc_list_close(struct cairn_proc_list *list);

#endif
