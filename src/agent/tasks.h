/* tasks.h - the threads of this process, from /proc, without allocating.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_TASKS_H
#define CAIRN_AGENT_TASKS_H

#include <stdbool.h>
#include <stddef.h>

/* Calls SEE with the number of each thread. False where /proc cannot be read. */
bool cairn_tasks_visit(void (*see)(void *context, int tid), void *context);

/* The name of a thread, as prctl and pthread_setname_np set it; OUT is left alone when it is gone. */
void cairn_task_name(int tid, char *out, size_t size);

#endif
