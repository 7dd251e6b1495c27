/* work.h - the threads that answer requests which take time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_WORK_H
#define CAIRN_FLEET_SERVE_WORK_H

#include "fleet/serve/task.h"

/* Starts the threads that do the work. */
bool cairn_serve_work_start(struct cairn_serve *serve, struct cairn_error *error);

/* Leaves EXCHANGE to one of these threads. If too many requests wait, answers it and returns false. PATH is the path on the agent, for
 * CAIRN_TASK_AGENT. Under serve->lock if PROCESS is not NULL. */
bool cairn_serve_work_add(struct cairn_exchange *exchange, struct cairn_serve_process *process, enum cairn_serve_task task,
			  const char *path);

#endif
