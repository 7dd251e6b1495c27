/* priority.c - the priority of this thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/priority.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

static _Thread_local struct {
	unsigned depth;
	int policy, nice;
	struct sched_param parameters;
	bool is_first; /* before all ordinary threads, not only one of great weight */
} saved;

void cairn_priority_raise(void)
{
	if (saved.depth++ > 0)
		return;
	saved.policy = sched_getscheduler(0);
	sched_getparam(0, &saved.parameters);
	saved.is_first = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &(struct sched_param){1}) == 0;
	if (saved.is_first)
		return;
	saved.nice = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, -20);
}

void cairn_priority_restore(void)
{
	if (--saved.depth > 0)
		return;
	if (saved.is_first)
		sched_setscheduler(0, saved.policy, &saved.parameters);
	else
		setpriority(PRIO_PROCESS, 0, saved.nice);
}
