/* task.h - what the threads of work.h do: each task fills in the response to a request, or an error.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_TASK_H
#define CAIRN_FLEET_SERVE_TASK_H

#include "fleet/serve/packed.h"
#include "fleet/serve/serve.h"

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

/* The most boxes of a tree that a page gets. */
enum { CAIRN_TASK_NODES = 60000 };

struct cairn_serve_job {
	struct cairn_serve *serve;
	struct cairn_exchange *exchange;
	struct cairn_serve_process *process; /* NULL where the task needs none */
	enum cairn_serve_task task;
	char path[64]; /* on the agent, for CAIRN_TASK_AGENT */
};

/* From the dumps that are here (task_dump.c). */
bool cairn_task_tree(struct cairn_serve_job *job, struct cairn_error *error);
bool cairn_task_page(struct cairn_serve_job *job, struct cairn_error *error);
bool cairn_task_source(struct cairn_serve_job *job, struct cairn_error *error);
bool cairn_task_churn(struct cairn_serve_job *job, struct cairn_error *error);

/* From the process, or of a file from elsewhere: these may take long (task_process.c). */
bool cairn_task_pass_on(struct cairn_serve_job *job, struct cairn_error *error);
bool cairn_task_open(struct cairn_serve_job *job, struct cairn_error *error);
bool cairn_task_cpu(struct cairn_serve_job *job, struct cairn_error *error);
bool cairn_task_doctor(struct cairn_serve_job *job, struct cairn_error *error);
bool cairn_task_attach(struct cairn_serve_job *job, struct cairn_error *error);
bool cairn_task_newest(struct cairn_serve_job *job, struct cairn_error *error);

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
