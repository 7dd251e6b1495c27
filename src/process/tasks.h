/* tasks.h - the threads of this process, from /proc, without allocating.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_TASKS_H
#define CAIRN_PROCESS_TASKS_H

#include <stdbool.h>
#include <stddef.h>

/* Calls SEE with the number of each thread. False where /proc cannot be read. */
bool cairn_tasks_visit(void (*see)(void *context, int tid), void *context);

/* The name of a thread, as prctl and pthread_setname_np set it; OUT is left alone when it is gone. */
void cairn_task_name(int tid, char *out, size_t size);

/* Whether a thread keeps SIGNAL for itself: it blocks it, or waits for signals at this moment (the kernel unblocks them then). So does a thread that
 * has not begun yet, for libc. False also where /proc does not say. */
bool cairn_task_takes(int tid, int signal);

#endif
