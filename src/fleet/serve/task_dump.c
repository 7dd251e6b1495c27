/* task_dump.c - trees, pages, sources and churn from the dumps of a process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/lock.h"
#include "fleet/serve/newest.h"
#include "fleet/serve/task.h"
#include "live/judged.h"
#include "page/series.h"
#include "report/list.h"
#include "series/timeline.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

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

/* The profile of a request, and a view of it. `show` takes the heavy lock; call `hide` afterwards, even if it failed. */
struct shown {
	struct cairn_work_tree tree;
	struct cairn_profile profile;
	struct cairn_view view;
};

static bool show(struct cairn_serve_job *job, struct cairn_view_options options, struct shown *shown, struct cairn_error *error)
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

static void hide(struct cairn_serve_job *job, struct shown *shown)
{
	cairn_view_free(&shown->view);
	cairn_archive_profile_free(&shown->profile);
	pthread_mutex_unlock(&job->process->heavy);
}

bool cairn_task_tree(struct cairn_serve_job *job, struct cairn_error *error)
{
	struct shown shown;
	struct cairn_buffer blocks = cairn_buffer(SIZE_MAX);
	bool good = show(job, (struct cairn_view_options){.fold_wrappers = true}, &shown, error);
	if (good)
		cairn_page_write_blocks(&shown.view, &(struct cairn_page_options){.node_most = CAIRN_TASK_NODES}, &blocks);
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

bool cairn_task_page(struct cairn_serve_job *job, struct cairn_error *error)
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

bool cairn_task_source(struct cairn_serve_job *job, struct cairn_error *error)
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
			cairn_response_start(response, 200, CAIRN_JSON);
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

bool cairn_task_churn(struct cairn_serve_job *job, struct cairn_error *error)
{
	struct cairn_response *response = &job->exchange->response;
	struct cairn_buffer churn = cairn_buffer(SIZE_MAX);
	bool good = cairn_newest_churn(job->process, &churn, error);
	if (good) {
		cairn_response_start(response, 200, CAIRN_JSON);
		cairn_buffer_append(&response->body, churn.data, churn.length);
	}
	cairn_buffer_free(&churn);
	return good;
}
