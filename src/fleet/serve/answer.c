/* answer.c - processes, series, leaks, bill and health as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/answer.h"

#include "base/json.h"
#include "base/lock.h"
#include "process/clock.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Seconds until the next snapshot; negative for none. */
static double next_in(const struct cairn_serve_process *process)
{
	return process->next_ns ? fmax(0, (double)(process->next_ns - cairn_clock_ns()) / 1e9) : -1;
}

/* The sentence of the verdict, or what the state of the process makes of it. */
static void put_sentence(struct cairn_json *json, const struct cairn_serve_process *process)
{
	char text[sizeof process->verdict.sentence + sizeof process->why + 200];
	switch (process->state) {
	case CAIRN_SERVE_ENDED:
		if (process->verdict.kind == CAIRN_VERDICT_ENDED)
			snprintf(text, sizeof text, "%s", process->verdict.sentence);
		else
			snprintf(text, sizeof text, "%s; until then: %s", process->why, process->verdict.sentence);
		break;
	case CAIRN_SERVE_STOPPED:
		snprintf(text, sizeof text, "stopped by a signal, so nothing changes; until then: %s", process->verdict.sentence);
		break;
	case CAIRN_SERVE_SILENT:
	case CAIRN_SERVE_WAITING:
		snprintf(text, sizeof text, "%s", process->why[0] ? process->why : "waiting for an answer");
		break;
	case CAIRN_SERVE_PAUSED:
		snprintf(text, sizeof text, "sampling is paused%s%s; until then: %s", process->why[0] ? ": " : "", process->why,
			 process->verdict.sentence);
		break;
	default:
		snprintf(text, sizeof text, "%s", process->verdict.sentence);
	}
	cairn_json_text(json, "sentence", cairn_bytes_of(text));
}

double cairn_answer_resident(const struct cairn_serve_process *process)
{
	if (process->row_count > 0 && process->state != CAIRN_SERVE_ENDED)
		return process->rows[process->row_count - 1].resident;
	for (size_t i = process->point_count; i-- > 0;)
		if (process->points[i].resident > 0)
			return process->points[i].resident;
	return process->row_count > 0 ? process->rows[process->row_count - 1].resident : 0;
}

static void put_process(struct cairn_json *json, const char *name, const struct cairn_serve_process *process)
{
	const struct cairn_serve_point *last = process->point_count > 0 ? &process->points[process->point_count - 1] : NULL;
	cairn_json_open(json, name, '{');
	cairn_json_text(json, "process", cairn_bytes_of(process->key));
	cairn_json_text(json, "program", cairn_bytes_of(process->program));
	cairn_json_text(json, "command", cairn_bytes_of(process->command));
	cairn_json_integer(json, "pid", process->pid);
	cairn_json_text(json, "host", cairn_bytes_of(process->host));
	cairn_json_bool(json, "live", process->name != NULL && process->state != CAIRN_SERVE_ENDED);
	cairn_json_text(json, "state", cairn_bytes_of(cairn_serve_state_name(process->state)));
	cairn_json_text(json, "why", cairn_bytes_of(process->why));
	cairn_json_integer(json, "since", process->since_ms);
	cairn_json_integer(json, "sampling_since", process->started_ms);
	cairn_json_text(json, "engine", cairn_bytes_of(process->engine));
	cairn_json_number(json, "period", process->period);
	cairn_json_text(json, "kind", cairn_bytes_of(cairn_verdict_kind_name(process->verdict.kind)));
	put_sentence(json, process);
	bool over = process->state == CAIRN_SERVE_ENDED;
	cairn_json_text(json, "forecast", cairn_bytes_of(over ? "" : process->verdict.forecast));
	cairn_json_number(json, "bytes_per_hour", process->verdict.per_hour);
	cairn_json_integer(json, "limit_at", process->verdict.limit_ns / CAIRN_MILLISECOND_NS);
	cairn_json_number(json, "resident", cairn_answer_resident(process));
	cairn_json_number(json, "limit", process->limit);
	cairn_json_text(json, "limit_of", cairn_bytes_of(process->limit <= 0 ? "" : process->limit_of_group ? "cgroup"
								    : process->machines > 1  ? "machines"
											     : "machine"));
	cairn_json_number(json, "total", last ? round(last->total) : 0);
	cairn_json_integer(json, "dumps", (int64_t)process->point_count);
	cairn_json_integer(json, "last", last ? last->id : 0);
	cairn_json_number(json, "next_in", next_in(process));
	cairn_json_number(json, "cost", (double)process->cost_ns / 1e9);
	cairn_json_bool(json, "churn", process->has_freed);
	cairn_json_integer(json, "runs", last && !process->sum ? last->run + 1 : 0);
	cairn_json_open(json, "keys", '[');
	for (size_t i = 0; i < process->run_count; i++)
		cairn_json_text(json, NULL, cairn_bytes_of(process->runs[i].key));
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

/* Sums of a store come before everything else, and processes that have ended come last. The soonest to reach its limit comes first, then
 * the one with the most resident memory. */
static int by_urgency(const void *a, const void *b)
{
	const struct cairn_serve_process *left = *(struct cairn_serve_process *const *)a, *right = *(struct cairn_serve_process *const *)b;
	if (left->sum != right->sum)
		return left->sum ? -1 : 1;
	bool left_over = left->state == CAIRN_SERVE_ENDED, right_over = right->state == CAIRN_SERVE_ENDED;
	if (left_over != right_over)
		return left_over ? 1 : -1;
	int64_t left_limit = left->verdict.limit_ns ? left->verdict.limit_ns : INT64_MAX;
	int64_t right_limit = right->verdict.limit_ns ? right->verdict.limit_ns : INT64_MAX;
	if (left_limit != right_limit)
		return left_limit < right_limit ? -1 : 1;
	double left_size = cairn_answer_resident(left), right_size = cairn_answer_resident(right);
	if (left_size != right_size)
		return left_size > right_size ? -1 : 1;
	return strcmp(left->key, right->key);
}

void cairn_answer_processes(struct cairn_serve *serve, struct cairn_buffer *out)
{
	assert(cairn_lock_is_held(&serve->lock));
	struct cairn_serve_process *sorted[CAIRN_SERVE_PROCESSES];
	struct cairn_json json = cairn_json(out);
	memcpy(sorted, serve->processes, serve->process_count * sizeof *sorted);
	qsort(sorted, serve->process_count, sizeof *sorted, by_urgency);
	cairn_json_open(&json, NULL, '{');
	cairn_json_integer(&json, "version", 1);
	cairn_json_text(&json, "cairn", cairn_bytes_of(CAIRN_VERSION));
	cairn_json_integer(&json, "now", cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS);
	cairn_json_integer(&json, "started", serve->started_ms);
	cairn_json_number(&json, "every", (double)serve->every_ns / 1e9);
	cairn_json_integer(&json, "pages", serve->streams);
	cairn_json_bool(&json, "loading", atomic_load(&serve->loading) > 0);
	cairn_json_open(&json, "processes", '[');
	for (size_t i = 0; i < serve->process_count; i++)
		put_process(&json, NULL, sorted[i]);
	cairn_json_close(&json, ']');
	cairn_json_integer(&json, "unlisted_instances", (int64_t)serve->unlisted_instances);
	cairn_json_integer(&json, "unlisted_services", (int64_t)serve->unlisted_services);
	cairn_json_integer(&json, "unlisted_processes", (int64_t)serve->unlisted_processes);
	cairn_json_end(&json);
}

static void put_mark(struct cairn_json *json, int64_t time, const char *kind, const char *text)
{
	cairn_json_open(json, NULL, '{');
	cairn_json_integer(json, "time", time);
	cairn_json_text(json, "kind", cairn_bytes_of(kind));
	cairn_json_text(json, "text", cairn_bytes_of(text));
	cairn_json_close(json, '}');
}

/* Marks for dumps with a reason, restarts, changes of the build, and exits; of a sum, for changes of who counts. */
static void put_marks(struct cairn_json *json, const struct cairn_serve_process *process, int64_t since)
{
	cairn_json_open(json, "marks", '[');
	for (size_t i = 0; i < process->point_count; i++) {
		const struct cairn_serve_point *point = &process->points[i], *before = i > 0 ? &process->points[i - 1] : NULL;
		char text[64];
		if (point->id <= since)
			continue;
		if (process->sum) {
			if (before && before->run != point->run)
				put_mark(json, point->id, "instances", "other instances than before");
			continue;
		}
		if (before && before->build && point->build && before->build != point->build)
			put_mark(json, point->id, "deployment", "another build of the program");
		else if (before && before->run != point->run) {
			snprintf(text, sizeof text, "restarted as process %llu", (unsigned long long)point->process_id);
			put_mark(json, point->id, "restart", text);
		}
		if (point->ended[0])
			put_mark(json, point->id, "end", point->ended);
		else if (point->reason[0])
			put_mark(json, point->id, "dump", point->reason);
	}
	if (process->state == CAIRN_SERVE_ENDED && process->name && process->since_ms > since &&
	    (process->point_count == 0 || !process->points[process->point_count - 1].ended[0]))
		put_mark(json, process->since_ms, "end", process->why);
	cairn_json_close(json, ']');
}

/* The runs of the program, the newest first: its first and last dump, and how it ended. A sum has none. */
static void put_runs(struct cairn_json *json, const struct cairn_serve_process *process)
{
	enum { most = 200 };
	size_t count = 0;
	cairn_json_open(json, "runs", '[');
	for (size_t end = process->sum ? 0 : process->point_count, first; end > 0 && count < most; end = first, count++) {
		const struct cairn_serve_point *last = &process->points[end - 1];
		for (first = end - 1; first > 0 && process->points[first - 1].run == last->run;)
			first--;
		bool over = end == process->point_count && process->state == CAIRN_SERVE_ENDED;
		cairn_json_open(json, NULL, '{');
		cairn_json_integer(json, "pid", (int64_t)last->process_id);
		cairn_json_integer(json, "first", process->points[first].id);
		cairn_json_integer(json, "last", last->id);
		cairn_json_integer(json, "dumps", (int64_t)(end - first));
		cairn_json_number(json, "total", round(last->total));
		cairn_json_text(json, "ended", cairn_bytes_of(last->ended[0] ? last->ended : over ? process->why : ""));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

static void put_series(struct cairn_json *json, const struct cairn_serve_process *process, int64_t since)
{
	cairn_json_text(json, "process", cairn_bytes_of(process->key));
	cairn_json_integer(json, "now", cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS);
	cairn_json_integer(json, "epoch", (int64_t)process->epoch);
	cairn_json_number(json, "limit", process->limit);
	cairn_json_number(json, "bytes_per_hour", process->verdict.per_hour);
	cairn_json_integer(json, "first", process->point_count > 0 ? process->points[0].id : 0);
	cairn_json_open(json, "points", '[');
	for (size_t i = 0; i < process->point_count; i++) {
		const struct cairn_serve_point *point = &process->points[i];
		if (point->id <= since)
			continue;
		cairn_json_open(json, NULL, '{');
		cairn_json_integer(json, "id", point->id);
		cairn_json_number(json, "total", round(point->total));
		cairn_json_number(json, "objects", round(point->objects));
		cairn_json_number(json, "resident", point->resident);
		cairn_json_number(json, "limit", point->limit);
		cairn_json_integer(json, "run", point->run);
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
	cairn_json_open(json, "resident", '[');
	for (size_t i = 0; i < process->row_count; i++)
		if (process->rows[i].time_ms > since) {
			cairn_json_open(json, NULL, '[');
			cairn_json_integer(json, NULL, process->rows[i].time_ms);
			cairn_json_number(json, NULL, process->rows[i].resident);
			cairn_json_close(json, ']');
		}
	cairn_json_close(json, ']');
	put_marks(json, process, since);
	put_runs(json, process);
	cairn_json_raw(json, "layers", cairn_buffer_bytes(&process->layers));
}

void cairn_answer_series(const struct cairn_serve_process *process, int64_t since, struct cairn_buffer *out)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	struct cairn_json json = cairn_json_answer(out);
	put_series(&json, process, since);
	cairn_json_end(&json);
}

void cairn_answer_news(const struct cairn_serve_process *process, const struct cairn_serve_point *point, struct cairn_buffer *out)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	enum { most = 16 << 10 };
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "process", cairn_bytes_of(process->key));
	cairn_json_integer(&json, "now", cairn_clock_wall_ns() / CAIRN_MILLISECOND_NS);
	put_process(&json, "entry", process);
	if (point) {
		bool newest = point == &process->points[process->point_count - 1];
		cairn_json_integer(&json, "id", point->id);
		cairn_json_text(&json, "reason", cairn_bytes_of(point->reason));
		if (newest && process->layers.length + process->bill.length <= most) {
			int64_t since = process->point_count > 1 ? point[-1].id : 0;
			cairn_json_integer(&json, "since", since);
			cairn_json_open(&json, "series", '{');
			put_series(&json, process, since);
			cairn_json_close(&json, '}');
			cairn_json_raw(&json, "bill", cairn_buffer_bytes(&process->bill));
		}
	}
	cairn_json_close(&json, '}');
}

void cairn_answer_leaks(const struct cairn_serve_process *process, struct cairn_buffer *out)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	if (process->leaks.length > 0)
		cairn_buffer_append(out, process->leaks.data, process->leaks.length);
	else
		cairn_verdict_empty(&process->verdict, out);
}

void cairn_answer_bill(const struct cairn_serve_process *process, struct cairn_buffer *out)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_raw(&json, "bill", cairn_buffer_bytes(&process->bill));
	cairn_json_end(&json);
}

void cairn_answer_health(const struct cairn_serve_process *process, struct cairn_buffer *out)
{
	assert(cairn_lock_is_held(&process->serve->lock));
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_number(&json, "period", process->period);
	cairn_json_integer(&json, "snapshots", (int64_t)process->snapshots);
	cairn_json_integer(&json, "failures", (int64_t)process->failures);
	cairn_json_number(&json, "cost", (double)process->cost_ns / 1e9);
	cairn_json_number(&json, "snapshot", (double)process->snapshot_ns / 1e9);
	cairn_json_raw(&json, "status", cairn_buffer_bytes(&process->status));
	cairn_json_end(&json);
}
