/* leaks.c - `cairn fleet leaks`: the verdict over all instances of a service.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet/leaks.h"

#include "base/array.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "cmd/fleet/survey.h"
#include "report/view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { least_dumps = 3, shown_callers = 4 };

static bool add_point(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	return cairn_series_add(context, profile, "a snapshot of the store", error);
}

/* The points of PROCESS to look at, at most CAIRN_COURSE_POINTS, into WANTED. Where there are enough whole snapshots, only these: what is
 * between them is known within its error bar only, and would look steadier than it is. Returns how many. */
static size_t choose_points(const struct cairn_store_process *process, size_t *wanted)
{
	enum { enough = 12 };
	size_t *whole = cairn_array_new(process->point_count, sizeof *whole), whole_count = 0;
	for (size_t i = 0; i < process->point_count; i++)
		if (process->points[i].base_ns == 0)
			whole[whole_count++] = i;
	bool only_whole = whole_count >= enough;
	size_t all = only_whole ? whole_count : process->point_count, count = all < CAIRN_COURSE_POINTS ? all : CAIRN_COURSE_POINTS;
	for (size_t i = 0; i < count; i++) {
		size_t at = count > 1 ? i * (all - 1) / (count - 1) : 0;
		wanted[i] = only_whole ? whole[at] : at;
	}
	free(whole);
	return count;
}

/* Judges one process by itself and adds what it shows to FLEET; one with too few snapshots is left out. */
static bool judge_process(struct cairn_store *store, const struct cairn_store_process *process, struct cairn_fleet *fleet,
			  struct cairn_error *error)
{
	struct cairn_series series;
	struct cairn_view view = {0};
	struct cairn_view_options options = {.fold_wrappers = true};
	size_t wanted[CAIRN_COURSE_POINTS], duplicates, count = choose_points(process, wanted);
	if (count < least_dumps)
		return true;
	cairn_series_start(&series);
	bool good = cairn_store_profiles(store, process, wanted, count, add_point, &series, error);
	cairn_series_finish(&series, &duplicates);
	good = good && cairn_view_make(&view, &series.profile, &options, error);
	if (good && series.point_count >= least_dumps) {
		struct cairn_leaks leaks;
		cairn_leaks_rank(&leaks, &series, &view);
		int64_t start = process->start_ns < process->points[0].time_ns ? process->start_ns : 0;
		cairn_fleet_add(fleet, process->version, start, &leaks, &series, &view);
		cairn_leaks_free(&leaks);
	}
	cairn_view_free(&view);
	cairn_series_free(&series);
	return good;
}

static struct cairn_bytes leaf_of(struct cairn_bytes stack)
{
	struct cairn_bytes line = {"", 0};
	cairn_text_line(&stack, &line, NULL);
	return line;
}

static void leak_text(const struct cairn_fleet *fleet, const struct cairn_fleet_row *row, struct cairn_buffer *out)
{
	char rate[24], now[24];
	struct cairn_bytes stack = cairn_strings_bytes(&fleet->stacks, row->path), line;
	bool grows = row->verdict == CAIRN_GROWING;
	cairn_buffer_format(out, "%12s/h %11s  %-9s ", grows ? cairn_text_human(row->per_hour, rate) : "", cairn_text_human(row->now, now),
			    cairn_verdict_name(row->verdict));
	if (grows)
		cairn_buffer_format(out, "%6.2f%%  %4zu of %-4zu ", 100 * row->confidence, row->growing, row->of);
	else
		cairn_buffer_format(out, "%6s   %12s ", "", "");
	size_t indent = out->length;
	cairn_fleet_answer_padded(out, grows ? fleet->releases[row->release].version : "", 12);
	indent = 12 + 2 + 12 + 2 + 10 + 9 + 13 + (out->length - indent);
	for (size_t i = 0; cairn_text_line(&stack, &line, NULL) && i <= shown_callers; i++) {
		cairn_buffer_format(out, "%*s", i ? (int)indent + 1 : 0, "");
		cairn_buffer_append(out, line.data, line.length);
		cairn_buffer_byte(out, '\n');
	}
}

void cairn_fleet_leaks_sentence(const struct cairn_fleet *fleet, struct cairn_buffer *out)
{
	const struct cairn_fleet_row *first = &fleet->rows[0];
	char rate[24];
	if (first->verdict != CAIRN_GROWING) {
		cairn_buffer_format(out, "nothing keeps growing among %zu call paths of %zu instances",
				    fleet->path_count ? fleet->path_count : fleet->count, fleet->instance_count);
		return;
	}
	cairn_utf8_show(out, leaf_of(cairn_strings_bytes(&fleet->stacks, first->path)));
	cairn_buffer_format(out, " grows by %s an hour on each of %zu of %zu instances, %s release ",
			    cairn_text_human(first->per_hour, rate), first->growing, first->of, first->new_in_release ? "new in" : "since");
	cairn_utf8_show(out, cairn_bytes_of(fleet->releases[first->release].version));
	cairn_buffer_format(out, " (%.2f %% sure)", 100 * first->confidence);
}

static void leaks_text(const struct cairn_fleet *fleet, size_t rows, size_t all, struct cairn_buffer *out)
{
	size_t judged = fleet->instance_count;
	cairn_fleet_leaks_sentence(fleet, out);
	cairn_buffer_byte(out, '\n');
	if (judged < all)
		cairn_buffer_format(out, "%zu instances have fewer than %d snapshots in that time and are left out\n", all - judged,
				    least_dumps);
	if (fleet->path_count > fleet->count)
		cairn_buffer_format(out, "%zu of %zu call paths rose most or hold most and are looked at hour by hour\n", fleet->count,
				    fleet->path_count);
	cairn_buffer_format(out, "\n%14s %11s  %-9s %7s  %12s %-12s  %s\n", "Rate of one", "Live of all", "Verdict", "Sure",
			    "Instances", "Since", "Call path");
	for (size_t i = 0; i < fleet->count && (rows == 0 || i < rows); i++)
		leak_text(fleet, &fleet->rows[i], out);
}

static void leak_json(const struct cairn_fleet *fleet, const struct cairn_fleet_row *row, struct cairn_json *json)
{
	struct cairn_bytes stack = cairn_strings_bytes(&fleet->stacks, row->path), line;
	cairn_json_open(json, NULL, '{');
	cairn_json_text(json, "name", leaf_of(stack));
	cairn_json_text(json, "verdict", cairn_bytes_of(cairn_verdict_name(row->verdict)));
	cairn_json_number(json, "now", round(row->now));
	if (row->verdict == CAIRN_GROWING) {
		cairn_json_number(json, "confidence", row->confidence);
		cairn_json_number(json, "bytes_per_hour", row->per_hour);
		cairn_json_number(json, "error", row->error);
		cairn_json_integer(json, "instances", (int64_t)row->growing);
		cairn_json_integer(json, "of", (int64_t)row->of);
		cairn_json_text(json, "version", cairn_bytes_of(fleet->releases[row->release].version));
		cairn_json_bool(json, "new_in_version", row->new_in_release);
		cairn_json_number(json, "since", cairn_fleet_answer_seconds(row->since_ns));
	}
	cairn_json_open(json, "stack", '[');
	while (cairn_text_line(&stack, &line, NULL))
		cairn_json_text(json, NULL, line);
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

/* Appends one JSON object, with at most ROWS rows (0 for all). ALL is how many instances there are, judged or not. */
static void leaks_json(const struct cairn_fleet *fleet, size_t rows, size_t all, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_integer(&json, "instances", (int64_t)fleet->instance_count);
	cairn_json_integer(&json, "left_out", (int64_t)(all - fleet->instance_count));
	cairn_json_integer(&json, "paths", (int64_t)(fleet->path_count ? fleet->path_count : fleet->count));
	cairn_json_open(&json, "versions", '[');
	for (size_t i = 0; i < fleet->release_count; i++) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "version", cairn_bytes_of(fleet->releases[i].version));
		cairn_json_integer(&json, "instances", (int64_t)fleet->releases[i].instances);
		cairn_json_number(&json, "first_seen", cairn_fleet_answer_seconds(fleet->releases[i].first_ns));
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_open(&json, "rows", '[');
	for (size_t i = 0; i < fleet->count && (rows == 0 || i < rows); i++)
		leak_json(fleet, &fleet->rows[i], &json);
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
}

/* The instants at which the instances are compared: about as many as most of them have snapshots. */
static struct cairn_cohort_grid make_grid(const struct cairn_store_processes *processes)
{
	int64_t from = INT64_MAX, to = 0, youngest = INT64_MAX, oldest = 0;
	size_t points = 0, judged = 0;
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		int64_t first = process->points[0].time_ns, last = cairn_store_last(process)->time_ns;
		int64_t start = process->start_ns && process->start_ns < first ? process->start_ns : first;
		if (process->point_count < least_dumps)
			continue;
		from = first < from ? first : from;
		to = last > to ? last : to;
		youngest = first - start < youngest ? first - start : youngest;
		oldest = last - start > oldest ? last - start : oldest;
		points += process->point_count;
		judged++;
	}
	return cairn_cohort_grid_make(from, to, youngest, oldest, judged ? points / judged : 0);
}

bool cairn_fleet_judge_processes(struct cairn_store *store, const struct cairn_store_processes *processes, struct cairn_fleet *fleet,
				 struct cairn_error *error)
{
	bool done;
	fleet->grid = make_grid(processes);
	if (!cairn_fleet_survey(store, processes, fleet, &done, error))
		return false;
	for (size_t i = 0; !done && i < processes->count; i++)
		if (!judge_process(store, &processes->items[i], fleet, error))
			return false;
	cairn_fleet_judge(fleet);
	return true;
}

int cairn_fleet_answer_leaks(const void *values, int operand_count, char **operands)
{
	const struct cairn_fleet_answer_options *options = values;
	struct cairn_fleet_answer_options sparse = *options;
	struct cairn_error error;
	struct cairn_store_processes processes;
	struct cairn_fleet fleet = {0};
	size_t rows;
	sparse.fleet.sparse = true;
	struct cairn_store *store = cairn_fleet_answer_begin(&sparse, CAIRN_DAY_NS, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	bool good = cairn_fleet_answer_service(&processes, &error) && cairn_fleet_judge_processes(store, &processes, &fleet, &error);
	if (good && fleet.instance_count == 0)
		good = cairn_fail(&error, "no instance has %d snapshots in that time yet, and a verdict takes at least that many",
				  least_dumps);
	else if (good && fleet.count == 0)
		good = cairn_fail(&error, "no instance has samples in that time: sampling was off, or less was allocated than the sampling "
					  "period");
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (good)
		(options->json ? leaks_json : leaks_text)(&fleet, rows, processes.count, &out);
	cairn_fleet_free(&fleet);
	int code = cairn_fleet_answer_end(store, &processes, &out);
	return good ? code : cairn_say_failure(&error);
}
