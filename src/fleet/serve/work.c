/* work.c - threads that make trees and pages, and pass requests on to processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/work.h"

#include "base/condition.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/time.h"
#include "fleet/serve/newest.h"
#include "fleet/serve/packed.h"
#include "fleet/serve/pyroscope.h"
#include "live/attach/check.h"
#include "live/attach/spawn.h"
#include "live/doctor/doctor.h"
#include "live/judged.h"
#include "page/series.h"
#include "process/clock.h"
#include "profile/read.h"
#include "report/list.h"
#include "series/timeline.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { threads = 4,
       slow_most = 2,
       jobs_most = 128,
       queries_most = 96, /* so that a dashboard with many panels leaves room for pages */
       node_most = 60000,
       cpu_seconds = 10,
       cpu_seconds_most = 60,
       cpu_frequency = 99 };
static const int64_t newest_wait_ns = 10 * CAIRN_SECOND_NS;
static const char json_type[] = "application/json";

struct job {
	struct cairn_exchange *exchange;
	struct cairn_serve_process *process;
	enum cairn_serve_task task;
	char path[64];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	unsigned slow; /* jobs that wait for a process */
	unsigned queries; /* to the store, including the one that is being answered */
	bool querying; /* a query is being answered */
	struct job jobs[jobs_most];
	size_t first, count;
	struct cairn_serve *serve;
} work = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

void cairn_work_name(struct cairn_response *response, const struct cairn_work_tree *tree)
{
	char dumps[48];
	snprintf(dumps, sizeof dumps, "%lld %lld", (long long)tree->at, (long long)tree->base);
	cairn_response_header(response, "ETag", tree->tag);
	cairn_response_header(response, "X-Cairn-Dumps", dumps);
}

bool cairn_work_answer(struct cairn_response *response, const struct cairn_work_tree *tree)
{
	if (!cairn_packed_find(response, tree->tag))
		return false;
	cairn_work_name(response, tree);
	return true;
}

/* The point nearest to the time in TEXT; the newest if there is none. */
static int64_t nearest(const struct cairn_serve_process *process, const char *text)
{
	char *end;
	const long long most = (long long)1 << 52;
	long long wanted = strtoll(text, &end, 10);
	wanted = wanted < 0 ? 0 : wanted > most ? most : wanted;
	const struct cairn_serve_point *best = &process->points[process->point_count - 1];
	for (size_t i = 0; end != text && i < process->point_count; i++)
		if (llabs(process->points[i].id - wanted) < llabs(best->id - wanted))
			best = &process->points[i];
	return best->id;
}

bool cairn_work_tree(const struct cairn_serve_process *process, struct cairn_bytes query, struct cairn_work_tree *tree)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	char at[32] = "", base[32] = "";
	*tree = (struct cairn_work_tree){0};
	if (process->point_count == 0)
		return false;
	cairn_query_get(query, "at", at, sizeof at);
	cairn_query_get(query, "value", tree->value, sizeof tree->value);
	tree->at = nearest(process, at);
	if (cairn_query_get(query, "base", base, sizeof base) && base[0])
		tree->base = nearest(process, base);
	if (tree->value[strspn(tree->value, "abcdefghijklmnopqrstuvwxyz_")])
		tree->value[0] = 0;
	snprintf(tree->tag, sizeof tree->tag, "\"%s-%llu-%lld-%lld-%s\"", process->key, (unsigned long long)process->epoch,
		 (long long)tree->at, (long long)tree->base, tree->value);
	return true;
}

/* Tasks. Each fills in the response, or an error. */

/* The profile of a request, and a view of it. `show` takes the heavy lock; call `hide` afterwards, even if it failed. */
struct shown {
	struct cairn_work_tree tree;
	struct cairn_profile profile;
	struct cairn_view view;
};

static bool show(struct job *job, struct cairn_view_options options, struct shown *shown, struct cairn_error *error)
{
	struct cairn_serve_process *process = job->process;
	*shown = (struct shown){0};
	pthread_mutex_lock(&process->heavy);
	pthread_mutex_lock(&process->serve->lock);
	bool good = cairn_work_tree(process, job->exchange->request.query, &shown->tree);
	pthread_mutex_unlock(&process->serve->lock);
	if (!good || process->archive.count == 0)
		return cairn_fail(error, "no dump yet");
	const struct cairn_archive_point *at = cairn_archive_find(&process->archive, shown->tree.at);
	const struct cairn_archive_point *base = shown->tree.base ? cairn_archive_find(&process->archive, shown->tree.base) : NULL;
	cairn_archive_profile(&process->archive, at, base, &shown->profile);
	if (process->sum)
		shown->profile.facts.process_id = 0; /* the number of a set of instances is not a PID */
	if (shown->tree.value[0])
		options.value = shown->tree.value;
	return cairn_view_make(&shown->view, &shown->profile, &options, error);
}

static void hide(struct job *job, struct shown *shown)
{
	cairn_view_free(&shown->view);
	cairn_archive_profile_free(&shown->profile);
	pthread_mutex_unlock(&job->process->heavy);
}

static bool make_tree(struct job *job, struct cairn_error *error)
{
	struct shown shown;
	struct cairn_buffer blocks = cairn_buffer(SIZE_MAX);
	bool good = show(job, (struct cairn_view_options){.fold_wrappers = true}, &shown, error);
	if (good)
		cairn_page_write_blocks(&shown.view, &(struct cairn_page_options){.node_most = node_most}, &blocks);
	hide(job, &shown);
	if (good) {
		struct cairn_packed *packed = cairn_packed_make(cairn_buffer_bytes(&blocks));
		cairn_packed_answer(&job->exchange->response, packed);
		cairn_work_name(&job->exchange->response, &shown.tree);
		cairn_packed_keep(packed, shown.tree.tag);
	}
	cairn_buffer_free(&blocks);
	return good;
}

/* What a saved page contains about all dumps: growth, and memory over time. */
struct course {
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_judged mapped;
	struct cairn_judgement judgement;
	struct cairn_timeline timeline;
	struct cairn_page_series page;
	struct cairn_page_film film;
	struct cairn_arena arena;
};

static int64_t distance(const struct cairn_series *series, size_t point, int64_t id)
{
	return llabs(series->points[point].origin.time_ns / CAIRN_MILLISECOND_NS - id);
}

static size_t point_at(const struct cairn_series *series, int64_t id)
{
	size_t best = 0;
	for (size_t i = 1; i < series->point_count; i++)
		if (distance(series, i, id) < distance(series, best, id))
			best = i;
	return best;
}

static void describe_course(struct course *course, const struct cairn_serve_process *process, const struct cairn_work_tree *tree,
			    struct cairn_page_options *options)
{
	enum { least_dumps = 3,
	       points_most = 512,
	       layer_most = 6 };
	const struct cairn_archive *archive = &process->archive;
	*course = (struct course){0};
	if (archive->count < 2)
		return;
	cairn_archive_series(archive, points_most, &course->series);
	if (!cairn_view_make(&course->view, &course->series.profile, &(struct cairn_view_options){.fold_wrappers = true}, NULL))
		return;
	cairn_leaks_rank(&course->leaks, &course->series, &course->view);
	cairn_timeline_make(&course->timeline, &course->series, &course->view, &course->leaks, layer_most);
	if (archive->count >= least_dumps && course->series.profile.sample_count > 0) {
		cairn_judged_conclude(&course->judgement, &course->mapped, &course->series, &course->leaks, &course->view,
				      &(struct cairn_judge_context){0}, cairn_serve_process_newest(process));
		cairn_page_describe(&course->page, &course->judgement, &course->arena);
		options->series = &course->page;
	}
	pthread_mutex_lock(&process->serve->lock);
	size_t machines = process->machines;
	pthread_mutex_unlock(&process->serve->lock);
	/* Other instances are no restart. */
	for (size_t i = 0; process->sum && i < course->series.point_count; i++)
		course->series.points[i].process = course->series.points[i].run = 0;
	cairn_page_film_make(&course->film, &course->timeline, 0, &course->arena);
	if (machines > 1)
		course->film.limit_of = "machines";
	course->film.to = point_at(&course->series, tree->at);
	course->film.from = tree->base ? point_at(&course->series, tree->base) : course->film.to;
	options->course = &course->film;
}

static void free_course(struct course *course, const struct cairn_page_options *options)
{
	cairn_judged_free(&course->mapped);
	cairn_leaks_free(&course->leaks);
	if (options->course)
		cairn_timeline_free(&course->timeline);
	cairn_view_free(&course->view);
	cairn_archive_series_free(&course->series);
	cairn_arena_free(&course->arena);
}

static bool make_page(struct job *job, struct cairn_error *error)
{
	struct shown shown;
	struct course course;
	struct cairn_buffer churn = cairn_buffer(SIZE_MAX), bill = cairn_buffer(SIZE_MAX);
	char state[4096] = "";
	struct cairn_response *response = &job->exchange->response;
	cairn_query_get(job->exchange->request.query, "state", state, sizeof state);
	bool good = show(job, (struct cairn_view_options){.fold_wrappers = true}, &shown, error);
	struct cairn_page_options options = {.state = state[0] ? state : NULL};
	if (good) {
		describe_course(&course, job->process, &shown.tree, &options);
		cairn_newest_describe(job->process, shown.tree.at, shown.tree.base, &churn, &bill);
		options.churn = cairn_buffer_bytes(&churn);
		options.bill = cairn_buffer_bytes(&bill);
		cairn_response_start(response, 200, "text/html; charset=utf-8");
		cairn_page_write(&shown.view, &options, &response->body);
		cairn_response_header(response, "Content-Disposition", "attachment; filename=\"cairn.html\"");
		free_course(&course, &options);
	}
	hide(job, &shown);
	cairn_buffer_free(&churn);
	cairn_buffer_free(&bill);
	return good;
}

static bool list_source(struct job *job, struct cairn_error *error)
{
	struct shown shown;
	struct cairn_list list;
	char name[1024] = "", pattern[2100];
	size_t length = 0;
	if (!cairn_query_get(job->exchange->request.query, "function", name, sizeof name) || !name[0])
		return cairn_fail_usage(error, "missing function=NAME");
	pattern[length++] = '^';
	for (const char *at = name; *at && length + 4 < sizeof pattern; at++) {
		if (strchr(".*+?^${}()|[]\\", *at))
			pattern[length++] = '\\';
		pattern[length++] = *at;
	}
	pattern[length++] = '$';
	pattern[length] = 0;
	struct cairn_serve_process *process = job->process;
	struct cairn_source_search search = {.folders = process->serve->options->source_path};
	pthread_mutex_lock(&process->serve->lock);
	search.confined = process->owner != CAIRN_OWNER_OWN;
	pthread_mutex_unlock(&process->serve->lock);
	struct cairn_pattern *compiled = cairn_pattern_compile(pattern, error);
	bool good = compiled != NULL;
	if (good) {
		good = show(job, (struct cairn_view_options){.granularity = CAIRN_BY_LINE}, &shown, error);
		if (good) {
			struct cairn_response *response = &job->exchange->response;
			search.foreign = cairn_source_search(shown.view.profile, NULL).foreign;
			good = cairn_list_make(&list, &shown.view, compiled) ||
			       cairn_fail(error, "no such function in this dump: %.200s", name);
			cairn_response_start(response, 200, json_type);
			struct cairn_json json = cairn_json_answer(&response->body);
			struct cairn_report report = cairn_report(&shown.view, &(struct cairn_shape){0}, NULL, &json);
			cairn_list_write(&list, &report, &search);
			cairn_json_end(&json);
			cairn_list_free(&list);
		}
		hide(job, &shown);
		cairn_pattern_free(compiled);
	}
	return good;
}

static bool make_churn(struct job *job, struct cairn_error *error)
{
	struct cairn_response *response = &job->exchange->response;
	struct cairn_buffer churn = cairn_buffer(SIZE_MAX);
	bool good = cairn_newest_churn(job->process, &churn, error);
	if (good) {
		cairn_response_start(response, 200, json_type);
		cairn_buffer_append(&response->body, churn.data, churn.length);
	}
	cairn_buffer_free(&churn);
	return good;
}

/* The current target of a process; the thread that follows it may replace it at any time. */
static bool target_of(struct job *job, struct cairn_target *target, struct cairn_error *error)
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

static bool pass_on(struct job *job, struct cairn_error *error)
{
	const bool post = cairn_request_is(&job->exchange->request, "POST");
	struct cairn_target target;
	struct cairn_buffer body = {0};
	bool good = target_of(job, &target, error) && cairn_target_ask(&target, post ? "POST" : "GET", job->path, &body, error);
	if (good) {
		cairn_response_start(&job->exchange->response, 200, json_type);
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
static bool answer_profile(struct job *job, struct cairn_profile *profile, const struct cairn_view_options *options,
			   struct cairn_error *error)
{
	struct cairn_view view = {0};
	struct cairn_buffer blocks = cairn_buffer(SIZE_MAX);
	cairn_source_name(profile, &work.serve->options->source);
	bool good = cairn_view_make(&view, profile, options, error);
	if (good) {
		cairn_page_write_blocks(&view, &(struct cairn_page_options){.node_most = node_most}, &blocks);
		struct cairn_packed *packed = cairn_packed_make(cairn_buffer_bytes(&blocks));
		cairn_packed_answer(&job->exchange->response, packed);
		cairn_packed_release(packed);
	}
	cairn_view_free(&view);
	cairn_buffer_free(&blocks);
	return good;
}

static bool open_file(struct job *job, struct cairn_error *error)
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

static bool profile_cpu(struct job *job, struct cairn_error *error)
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

static bool diagnose(struct job *job, struct cairn_error *error)
{
	struct cairn_serve_process *process = job->process;
	char number[16];
	if (!process->name)
		return cairn_fail_usage(error, "only dumps of this process are known");
	pthread_mutex_lock(&process->serve->lock);
	snprintf(number, sizeof number, "%d", process->pid);
	pthread_mutex_unlock(&process->serve->lock);
	struct cairn_response *response = &job->exchange->response;
	cairn_response_start(response, 200, json_type);
	struct cairn_json json = cairn_json_answer(&response->body);
	bool good = cairn_doctor_json(process->service ? number : process->name, NULL, &json, error);
	cairn_json_end(&json);
	return good;
}

/* Starts an agent in a process if this user is allowed to, as `cairn attach PID` does. */
static bool attach(struct job *job, struct cairn_error *error)
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
	cairn_response_text(&job->exchange->response, 200, json_type, "{\"version\":1,\"done\":true}\n");
	want_snapshot(process);
	return true;
}

/* Takes the next dump, which the page shows from then on, and answers with it: who judges it says what the page says. */
static bool take_newest(struct job *job, struct cairn_error *error)
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

static bool answer_query(struct job *job, struct cairn_error *error)
{
	(void)error;
	cairn_pyroscope_answer(work.serve->options->store, work.serve->options->tenant, job->exchange);
	return true;
}

static const struct {
	bool (*perform)(struct job *job, struct cairn_error *error);
	bool asks_process; /* it waits for the process, or is as slow for another reason; the others are about the dumps that are here */
} tasks[] = {
	[CAIRN_TASK_TREE] = {make_tree, false},
	[CAIRN_TASK_PAGE] = {make_page, false},
	[CAIRN_TASK_CHURN] = {make_churn, false},
	[CAIRN_TASK_SOURCE] = {list_source, false},
	[CAIRN_TASK_DOCTOR] = {diagnose, true},
	[CAIRN_TASK_CPU] = {profile_cpu, true},
	[CAIRN_TASK_AGENT] = {pass_on, true},
	[CAIRN_TASK_QUERY] = {answer_query, false},
	[CAIRN_TASK_ATTACH] = {attach, true},
	[CAIRN_TASK_OPEN] = {open_file, true}, /* of a hostile file, it may take seconds */
	[CAIRN_TASK_NEWEST] = {take_newest, true},
};

static void perform(struct job *job)
{
	struct cairn_error error = {0};
	struct cairn_response *response = &job->exchange->response;
	bool good = tasks[job->task].perform(job, &error);
	if (good)
		return;
	cairn_response_start(response, error.usage ? 400 : tasks[job->task].asks_process ? 503 : 404, json_type);
	struct cairn_json json = cairn_json_answer(&response->body);
	cairn_json_text(&json, "error", cairn_bytes_of(error.text));
	cairn_json_end(&json);
}

/* The threads. */

/* Takes the first job that can run off the queue. There is one connection to the store, so a second query at the same time would only block
 * a thread. The caller holds the lock. */
static bool take_job(struct job *job)
{
	assert(cairn_lock_is_held(&work.lock));
	for (size_t i = 0; i < work.count; i++) {
		struct job *found = &work.jobs[(work.first + i) % jobs_most];
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
		struct job job;
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
	struct job job = {.exchange = exchange, .process = process, .task = task};
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
