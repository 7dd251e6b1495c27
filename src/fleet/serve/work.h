/* work.h - the threads that answer requests which take time, and the trees that they make.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_WORK_H
#define CAIRN_FLEET_SERVE_WORK_H

#include "fleet/serve/packed.h"
#include "fleet/serve/serve.h"

/* Starts the threads that do the work. */
bool cairn_serve_work_start(struct cairn_serve *serve, struct cairn_error *error);

enum cairn_serve_task {
	CAIRN_TASK_TREE,
	CAIRN_TASK_PAGE,
	CAIRN_TASK_CHURN,
	CAIRN_TASK_SOURCE,
	CAIRN_TASK_DOCTOR,
	CAIRN_TASK_CPU,
	CAIRN_TASK_AGENT, /* the same request to the agent, at another path */
	CAIRN_TASK_QUERY, /* a query of Grafana to the store */
	CAIRN_TASK_ATTACH,
	CAIRN_TASK_OPEN, /* a profile in the body of the request */
	CAIRN_TASK_NEWEST, /* takes a snapshot and answers with it */
};

/* Leaves EXCHANGE to one of these threads. If too many requests wait, answers it and returns false. PATH is the path on the agent, for
 * CAIRN_TASK_AGENT. Under serve->lock if PROCESS is not NULL. */
bool cairn_serve_work_add(struct cairn_exchange *exchange, struct cairn_serve_process *process, enum cairn_serve_task task,
			  const char *path);

/* One tree of a process: the points that it is made of, and its tag, in quotes as HTTP wants it, which no other tree has. */
struct cairn_work_tree {
	int64_t at, base; /* base is 0 for none */
	char value[40];
	char tag[CAIRN_PACKED_TAG];
};

/* Finds the TREE that a request with QUERY is for. Returns false if there is no dump. Under serve->lock. */
bool cairn_work_tree(const struct cairn_serve_process *process, struct cairn_bytes query, struct cairn_work_tree *tree);

/* Answers with TREE if it is among those made recently. */
bool cairn_work_answer(struct cairn_response *response, const struct cairn_work_tree *tree);

/* Adds headers to RESPONSE that name the tree and its points: those of the request may no longer exist. */
void cairn_work_name(struct cairn_response *response, const struct cairn_work_tree *tree);

#endif
