/* tasks.c - comm, status and syscall in /proc/self/task/TID.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/tasks.h"

#include "process/proc.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>

void cairn_task_name(int tid, char *out, size_t size)
{
	char path[CAIRN_PROC_PATH], name[32];
	if (!cairn_proc_line(cairn_proc_task_path(path, 0, tid, "comm"), "", name, sizeof name))
		return;
	for (char *at = name; *at; at++) /* a thread may give itself any name, and this one ends up in lines of text */
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = '?';
	snprintf(out, size, "%.*s", (int)size - 1, name);
}

static bool blocks(int tid, int signal)
{
	char path[CAIRN_PROC_PATH];
	uint64_t mask;
	return cairn_proc_mask(cairn_proc_task_path(path, 0, tid, "status"), "SigBlk:", &mask) && (mask >> (signal - 1) & 1);
}

static bool waits_for_signals(int tid)
{
	char path[CAIRN_PROC_PATH];
	uint64_t number;
	return cairn_proc_number(cairn_proc_task_path(path, 0, tid, "syscall"), "", &number) && number == SYS_rt_sigtimedwait;
}

/* Asked twice, since between two questions it may have begun to wait, or ended. One that has just been woken and not run yet is not known:
 * the kernel shows no call of a thread that runs. */
bool cairn_task_reserves(int tid, int signal)
{
	return blocks(tid, signal) || waits_for_signals(tid) || blocks(tid, signal);
}
