/* task_process.c - what a process is asked for, what is done to it, and profiles that are opened on the page.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/condition.h"
#include "base/json.h"
#include "base/time.h"
#include "fleet/serve/task.h"
#include "live/attach/check.h"
#include "live/attach/spawn.h"
#include "live/doctor/doctor.h"
#include "page/series.h"
#include "process/clock.h"
#include "profile/read.h"

#include <stdio.h>
#include <stdlib.h>

enum { cpu_seconds = 10,
       cpu_seconds_most = 60,
       cpu_frequency = 99 };
static const int64_t newest_wait_ns = 10 * CAIRN_SECOND_NS;

/* The current target of a process; the thread that follows it may replace it at any time. */
static bool target_of(struct cairn_serve_job *job, struct cairn_target *target, struct cairn_error *error)
{
	struct cairn_serve_process *process = job->process;
	char number[16];
	const char *name = process->name;
	if (!name)
		return cairn_fail_usage(error, "only dumps of this process are known");
	pthread_mutex_lock(&process->serve->lock);
	int pid = process->pid;
	bool over = process->state == CAIRN_SERVE_ENDED;
	pthread_mutex_unlock(&process->serve->lock);
	if (over)
		return cairn_fail_usage(error, "the process has ended");
	if (process->service) {
		snprintf(number, sizeof number, "%d", pid);
		name = number;
	}
	if (!cairn_target_find_or_start(target, name, NULL, error))
		return false;
	target->patience_ms = 60000;
	return true;
}

static void want_snapshot(struct cairn_serve_process *process)
{
	pthread_mutex_lock(&process->serve->lock);
	process->wanted = true;
	pthread_cond_broadcast(&process->serve->changed);
	pthread_mutex_unlock(&process->serve->lock);
}

bool cairn_task_pass_on(struct cairn_serve_job *job, struct cairn_error *error)
{
	const bool post = cairn_request_is(&job->exchange->request, "POST");
	struct cairn_target target;
	struct cairn_buffer body = {0};
	bool good = target_of(job, &target, error) && cairn_target_ask(&target, post ? "POST" : "GET", job->path, &body, error);
	if (good) {
		cairn_response_start(&job->exchange->response, 200, CAIRN_JSON);
		if (post) {
			cairn_buffer_text(&job->exchange->response.body, "{\"version\":1,\"done\":true}\n");
			want_snapshot(job->process);
		} else {
			cairn_buffer_append(&job->exchange->response.body, body.data, body.length);
		}
	}
	cairn_buffer_free(&body);
	return good;
}

/* Answers with the tree of PROFILE, which is of no dump of the process. */
static bool answer_profile(struct cairn_serve_job *job, struct cairn_profile *profile, const struct cairn_view_options *options,
			   struct cairn_error *error)
{
	struct cairn_view view = {0};
	struct cairn_buffer blocks = cairn_buffer(SIZE_MAX);
	cairn_source_name(profile, &job->serve->options->source);
	bool good = cairn_view_make(&view, profile, options, error);
	if (good) {
		cairn_page_write_blocks(&view, &(struct cairn_page_options){.node_most = CAIRN_TASK_NODES}, &blocks);
		struct cairn_packed *packed = cairn_packed_make(cairn_buffer_bytes(&blocks));
		cairn_packed_answer(&job->exchange->response, packed);
		cairn_packed_release(packed);
	}
	cairn_view_free(&view);
	cairn_buffer_free(&blocks);
	return good;
}

bool cairn_task_open(struct cairn_serve_job *job, struct cairn_error *error)
{
	char name[256] = "";
	struct cairn_profile profile;
	const struct cairn_request *request = &job->exchange->request;
	if (!cairn_query_get(request->query, "name", name, sizeof name) || !name[0])
		snprintf(name, sizeof name, "the file");
	cairn_profile_init(&profile);
	bool good = cairn_profile_read(&profile, request->body, name,
				       &(struct cairn_read_options){.split_threads = true, .split_ages = true, .split_sizes = true}, error);
	if (good && profile.sample_count == 0)
		good = cairn_fail(error, "%s: the profile has no samples", name);
	error->usage |= !good;
	good = good && answer_profile(job, &profile, &(struct cairn_view_options){.fold_wrappers = true}, error);
	cairn_profile_free(&profile);
	return good;
}

bool cairn_task_cpu(struct cairn_serve_job *job, struct cairn_error *error)
{
	struct cairn_target target;
	struct cairn_profile profile;
	struct cairn_buffer body = {0};
	char text[16] = "";
	cairn_query_get(job->exchange->request.query, "seconds", text, sizeof text);
	int seconds = text[0] ? atoi(text) : cpu_seconds;
	if (seconds < 1 || seconds > cpu_seconds_most)
		return cairn_fail_usage(error, "seconds is a number from 1 to %d", cpu_seconds_most);
	cairn_profile_init(&profile);
	bool good = target_of(job, &target, error);
	target.patience_ms = 0;
	good = good && cairn_target_cpu(&target, (unsigned)seconds, cpu_frequency, &body, error) &&
	       cairn_profile_read(&profile, cairn_buffer_bytes(&body), "the CPU profile", &(struct cairn_read_options){0}, error);
	if (good && profile.sample_count == 0)
		good = cairn_fail(error, "the process used almost no CPU time in %d seconds", seconds);
	if (good) {
		if (cairn_target_process(&target) > 0)
			profile.facts.process_id = (uint64_t)cairn_target_process(&target);
		good = answer_profile(job, &profile, &(struct cairn_view_options){0}, error);
	}
	cairn_profile_free(&profile);
	cairn_buffer_free(&body);
	return good;
}

bool cairn_task_doctor(struct cairn_serve_job *job, struct cairn_error *error)
{
	struct cairn_serve_process *process = job->process;
	char number[16];
	if (!process->name)
		return cairn_fail_usage(error, "only dumps of this process are known");
	pthread_mutex_lock(&process->serve->lock);
	snprintf(number, sizeof number, "%d", process->pid);
	pthread_mutex_unlock(&process->serve->lock);
	struct cairn_response *response = &job->exchange->response;
	cairn_response_start(response, 200, CAIRN_JSON);
	struct cairn_json json = cairn_json_answer(&response->body);
	bool good = cairn_doctor_json(process->service ? number : process->name, NULL, &json, error);
	cairn_json_end(&json);
	return good;
}

/* Starts an agent in a process if this user is allowed to, as `cairn attach PID` does. */
bool cairn_task_attach(struct cairn_serve_job *job, struct cairn_error *error)
{
	struct cairn_serve_process *process = job->process;
	struct cairn_target target;
	char number[32];
	pthread_mutex_lock(&process->serve->lock);
	int pid = process->name && process->state != CAIRN_SERVE_ENDED ? process->pid : 0;
	pthread_mutex_unlock(&process->serve->lock);
	snprintf(number, sizeof number, "%d", pid);
	if (!pid || (!process->service && !cairn_target_pid(process->name)))
		return cairn_fail_usage(error, "only a process that was given by its PID or as a service can be attached to");
	if (cairn_target_find(&target, number, NULL, error))
		return cairn_fail_usage(error, "the process has an agent");
	if (!cairn_attach_is_possible(pid, false, error) || !cairn_attach_spawn(pid, &(struct cairn_attach_settings){0}, error))
		return false;
	cairn_response_text(&job->exchange->response, 200, CAIRN_JSON, "{\"version\":1,\"done\":true}\n");
	want_snapshot(process);
	return true;
}

/* Takes the next dump, which the page shows from then on, and answers with it: who judges it says what the page says. */
bool cairn_task_newest(struct cairn_serve_job *job, struct cairn_error *error)
{
	struct cairn_serve_process *process = job->process;
	struct cairn_serve *serve = process->serve;
	int64_t until = cairn_clock_ns() + newest_wait_ns;
	pthread_mutex_lock(&serve->lock);
	uint64_t snapshots = process->snapshots, looks = snapshots + process->failures;
	if (!process->looks) {
		process->wanted = true;
		pthread_cond_broadcast(&serve->changed);
	}
	while (process->snapshots + process->failures == looks && !atomic_load(&serve->stop) && cairn_clock_ns() < until)
		cairn_condition_wait(&serve->changed, &serve->lock, until);
	bool taken = process->snapshots > snapshots;
	pthread_mutex_unlock(&serve->lock);
	if (!taken)
		return cairn_fail_usage(error, "no snapshot could be taken");
	struct cairn_response *response = &job->exchange->response;
	cairn_response_start(response, 200, CAIRN_OCTETS);
	pthread_mutex_lock(&process->heavy);
	cairn_buffer_append(&response->body, process->newest.data, process->newest.length);
	pthread_mutex_unlock(&process->heavy);
	return true;
}
