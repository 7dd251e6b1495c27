/* page_child.h - the `cairn serve` process that makes the live page of this process while somebody looks at it.
 *
 * The agent draws nothing for the page and keeps nothing of it. The first request starts the command, with a socket beside the agent's
 * own; requests are passed on to it, and it asks the agent for snapshots as it would from a shell. It ends when nobody has asked for
 * anything for two minutes, and with the agent or the process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_WORK_PAGE_CHILD_H
#define CAIRN_AGENT_WORK_PAGE_CHILD_H

#include "base/error.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct cairn_agent;

struct cairn_page_child {
	pthread_mutex_t mutex;
	bool started;        /* `thread` is to be joined */
	bool failed;         /* the last one ended without having answered once; it is not started again for a while */
	int64_t failed_ns;
	atomic_bool running; /* the thread waits for the command to end */
	atomic_uint passing; /* requests that are being passed on */
	pthread_t thread;
	char path[108]; /* of its socket */
	struct cairn_error problem; /* of the last one; written by the thread before `running` becomes false */
};

void cairn_page_child_clear(struct cairn_page_child *child);

/* A connection to the command, which is started if it does not run: a descriptor, or -1 with ERROR. Waits for its start, unless *GONE or
 * the agent's `stop` becomes true; GONE may be NULL. */
int cairn_page_child_reach(struct cairn_agent *agent, const atomic_bool *gone, struct cairn_error *error);

/* Waits for the thread, once the agent's `stop` is set. */
void cairn_page_child_join(struct cairn_page_child *child);

#endif
