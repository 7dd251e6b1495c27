/* tasks.h - what /proc says about a thread of this process, without allocating.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_TASKS_H
#define CAIRN_PROCESS_TASKS_H

#include <stdbool.h>
#include <stddef.h>

/* The name of a thread, as prctl and pthread_setname_np set it; OUT is unchanged if the thread has ended. */
void cairn_task_name(int tid, char *out, size_t size);

/* Whether a thread reserves SIGNAL: it blocks it, or is waiting for signals (the kernel unblocks them meanwhile). libc makes a thread
 * that has not started yet block all signals. Also false if /proc does not say. */
bool cairn_task_reserves(int tid, int signal);

#endif
