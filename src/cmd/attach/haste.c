/* haste.c - the priority of this thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/attach/haste.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

static struct {
	unsigned depth;
	int policy, nice;
	struct sched_param parameters;
	bool is_first; /* before all ordinary threads, not only one of great weight */
} haste;

void cairn_haste_begin(void)
{
	if (haste.depth++ > 0)
		return;
	haste.policy = sched_getscheduler(0);
	sched_getparam(0, &haste.parameters);
	haste.is_first = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &(struct sched_param){1}) == 0;
	if (haste.is_first)
		return;
	haste.nice = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, -20);
}

void cairn_haste_end(void)
{
	if (--haste.depth > 0)
		return;
	if (haste.is_first)
		sched_setscheduler(0, haste.policy, &haste.parameters);
	else
		setpriority(PRIO_PROCESS, 0, haste.nice);
}
