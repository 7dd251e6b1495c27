/* work.c - the threads, and the queue of what they are to do.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/work.h"

#include "base/json.h"
#include "base/lock.h"
#include "fleet/serve/pyroscope.h"

#include <assert.h>
#include <stdio.h>

enum { threads = 4,
       slow_most = 2,
       jobs_most = 128,
       queries_most = 96 }; /* so that a dashboard with many panels leaves room for pages */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	unsigned slow; /* jobs that wait for a process */
	unsigned queries; /* to the store, including the one that is being answered */
	bool querying; /* a query is being answered */
	struct cairn_serve_job jobs[jobs_most];
	size_t first, count;
	struct cairn_serve *serve;
} work = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static bool answer_query(struct cairn_serve_job *job, struct cairn_error *error)
{
	(void)error;
	cairn_pyroscope_answer(job->serve->options->store, job->serve->options->tenant, job->exchange);
	return true;
}

static const struct {
	bool (*perform)(struct cairn_serve_job *job, struct cairn_error *error);
	bool asks_process; /* it waits for the process, or is as slow for another reason; the others are about the dumps that are here */
} tasks[] = {
	[CAIRN_TASK_TREE] = {cairn_task_tree, false},
	[CAIRN_TASK_PAGE] = {cairn_task_page, false},
	[CAIRN_TASK_CHURN] = {cairn_task_churn, false},
	[CAIRN_TASK_SOURCE] = {cairn_task_source, false},
	[CAIRN_TASK_DOCTOR] = {cairn_task_doctor, true},
	[CAIRN_TASK_CPU] = {cairn_task_cpu, true},
	[CAIRN_TASK_AGENT] = {cairn_task_pass_on, true},
	[CAIRN_TASK_QUERY] = {answer_query, false},
	[CAIRN_TASK_ATTACH] = {cairn_task_attach, true},
	[CAIRN_TASK_OPEN] = {cairn_task_open, true}, /* of a hostile file, it may take seconds */
	[CAIRN_TASK_NEWEST] = {cairn_task_newest, true},
};

static void perform(struct cairn_serve_job *job)
{
	struct cairn_error error = {0};
	struct cairn_response *response = &job->exchange->response;
	bool good = tasks[job->task].perform(job, &error);
	if (good)
		return;
	cairn_response_start(response, error.usage ? 400 : tasks[job->task].asks_process ? 503 : 404, CAIRN_JSON);
	struct cairn_json json = cairn_json_answer(&response->body);
	cairn_json_text(&json, "error", cairn_bytes_of(error.text));
	cairn_json_end(&json);
}

/* The threads. */

/* Takes the first job that can run off the queue. There is one connection to the store, so a second query at the same time would only block
 * a thread. The caller holds the lock. */
static bool take_job(struct cairn_serve_job *job)
{
	assert(cairn_lock_is_held(&work.lock));
	for (size_t i = 0; i < work.count; i++) {
		struct cairn_serve_job *found = &work.jobs[(work.first + i) % jobs_most];
		if (found->task == CAIRN_TASK_QUERY && work.querying)
			continue;
		*job = *found;
		for (; i > 0; i--)
			work.jobs[(work.first + i) % jobs_most] = work.jobs[(work.first + i - 1) % jobs_most];
		work.first = (work.first + 1) % jobs_most;
		work.count--;
		work.querying |= job->task == CAIRN_TASK_QUERY;
		return true;
	}
	return false;
}

static void *run(void *context)
{
	(void)context;
	for (;;) {
		struct cairn_serve_job job;
		pthread_mutex_lock(&work.lock);
		while (!take_job(&job))
			pthread_cond_wait(&work.more, &work.lock);
		pthread_mutex_unlock(&work.lock);
		bool made = false;
		if (job.task == CAIRN_TASK_TREE) { /* another thread may have made it meanwhile */
			struct cairn_work_tree tree;
			pthread_mutex_lock(&work.serve->lock);
			bool good = cairn_work_tree(job.process, job.exchange->request.query, &tree);
			pthread_mutex_unlock(&work.serve->lock);
			made = good && cairn_work_answer(&job.exchange->response, &tree);
		}
		if (!made && atomic_load(&job.exchange->gone))
			cairn_response_busy(&job.exchange->response, "nobody waits");
		else if (!made)
			perform(&job);
		if (job.process) {
			pthread_mutex_lock(&work.serve->lock);
			job.process->users--;
			pthread_mutex_unlock(&work.serve->lock);
		}
		pthread_mutex_lock(&work.lock);
		work.slow -= tasks[job.task].asks_process;
		if (job.task == CAIRN_TASK_QUERY) { /* the next one may run now */
			work.queries--;
			work.querying = false;
		}
		pthread_mutex_unlock(&work.lock);
		cairn_exchange_finish(job.exchange);
	}
	return NULL;
}

bool cairn_serve_work_start(struct cairn_serve *serve, struct cairn_error *error)
{
	work.serve = serve;
	pthread_t thread; /* none is joined: they run until the program ends */
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, run, NULL) != 0)
			return cairn_fail(error, "cannot start a thread");
	return true;
}

bool cairn_serve_work_add(struct cairn_exchange *exchange, struct cairn_serve_process *process, enum cairn_serve_task task,
			  const char *path)
{
	assert(!process || cairn_lock_is_held(&process->serve->lock));
	struct cairn_serve_job job = {.serve = work.serve, .exchange = exchange, .process = process, .task = task};
	snprintf(job.path, sizeof job.path, "%s", path ? path : "");
	pthread_mutex_lock(&work.lock);
	/* Jobs that wait for a process must leave threads to others. */
	bool room = work.count < jobs_most && !(tasks[task].asks_process && work.slow >= slow_most) &&
		    !(task == CAIRN_TASK_QUERY && work.queries >= queries_most);
	if (room) {
		work.slow += tasks[task].asks_process;
		work.queries += task == CAIRN_TASK_QUERY;
		work.jobs[(work.first + work.count++) % jobs_most] = job;
		pthread_cond_signal(&work.more);
	}
	if (room && process)
		process->users++;
	pthread_mutex_unlock(&work.lock);
	if (!room && task == CAIRN_TASK_QUERY)
		cairn_pyroscope_refuse(&exchange->response, "too many queries wait");
	else if (!room)
		cairn_response_busy(&exchange->response, "too many requests wait");
	return room;
}
