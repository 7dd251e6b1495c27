/* verdict.c - judges an archive as `cairn leaks` does, and puts the result into a sentence.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/verdict.h"

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "dump/end.h"
#include "report/top.h"
#include "series/leaks.h"
#include "series/timeline.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { least_dumps = 3,
       judged_points = CAIRN_COURSE_POINTS,
       layer_most = 6,
       row_most = 40,
       stack_most = 60,
       spark_points = 32 };

/* The state of one judgement. */
struct judging {
	const struct cairn_archive *archive;
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_verdict_summary *summary;
};

const char *cairn_verdict_kind_name(enum cairn_verdict_kind kind)
{
	static const char *const names[] = {
		[CAIRN_VERDICT_EARLY] = "early",
		[CAIRN_VERDICT_GROWING] = "growing",
		[CAIRN_VERDICT_STEADY] = "steady",
		[CAIRN_VERDICT_ENDED] = "ended",
		[CAIRN_VERDICT_NOTHING] = "nothing",
	};
	static_assert(sizeof names / sizeof *names == CAIRN_VERDICT_NOTHING + 1, "every kind has a name");
	return names[kind];
}

/* "10.5 MiB/s", "3.2 MiB/min", "200 KiB/h": in the unit of time that is easiest to read. */
static char *rate_text(double per_hour, char *out, size_t size)
{
	static const double much = 1 << 20;
	char number[24];
	if (per_hour / 3600 >= much / 10)
		snprintf(out, size, "%s/s", cairn_text_human(per_hour / 3600, number));
	else if (per_hour / 60 >= much / 10)
		snprintf(out, size, "%s/min", cairn_text_human(per_hour / 60, number));
	else
		snprintf(out, size, "%s/h", cairn_text_human(per_hour, number));
	return out;
}

static char *sure_text(double confidence, char *out, size_t size)
{
	if (confidence >= 0.999)
		snprintf(out, size, "99.9 %% sure");
	else
		snprintf(out, size, "%.*f %% sure", confidence > 0.99 ? 1 : 0, 100 * confidence);
	return out;
}

/* "18:02", with the date if that is not today. */
static char *clock_text(int64_t ns, char *out, size_t size)
{
	time_t then = (time_t)(ns / CAIRN_SECOND_NS), now = time(NULL);
	struct tm date, today;
	localtime_r(&then, &date);
	localtime_r(&now, &today);
	bool same = date.tm_year == today.tm_year && date.tm_yday == today.tm_yday;
	strftime(out, size, same ? "%H:%M" : "%Y-%m-%d %H:%M", &date);
	return out;
}

static char *span_text(double hours, char *out, size_t size)
{
	double amount = hours >= 48 ? hours / 24 : hours >= 2 ? hours
					   : hours * 60 >= 2  ? hours * 60
							      : hours * 3600;
	const char *unit = hours >= 48 ? "day" : hours >= 2 ? "hour"
					 : hours * 60 >= 2  ? "minute"
							    : "second";
	long count = lround(amount);
	snprintf(out, size, "%ld %s%s", count, unit, count == 1 ? "" : "s");
	return out;
}

static struct cairn_bytes leaf_name(const struct judging *judging, const struct cairn_leak *leak)
{
	return cairn_leak_title(&judging->leaks, &judging->view, leak);
}

/* Hours until the limit is reached at the total rate of growth; negative for never. */
static double hours_left(const struct judging *judging)
{
	const struct cairn_series_point *last = &judging->series.points[judging->series.point_count - 1];
	return cairn_leaks_hours_left(&judging->leaks, last, last->limit, judging->leaks.forecast_per_hour);
}

static void say_limit(const struct judging *judging, char *out, size_t size)
{
	static const double far = 24 * 365;
	char limit[24], clock[40];
	double left = hours_left(judging);
	const struct cairn_series_point *last = &judging->series.points[judging->series.point_count - 1];
	out[0] = 0;
	if (left < 0 || left > far)
		return;
	judging->summary->limit_ns = last->origin.time_ns + (int64_t)(left * CAIRN_HOUR_NS);
	cairn_text_human(last->limit, limit);
	if (left == 0)
		snprintf(out, size, "; the %s limit is reached", limit);
	else
		snprintf(out, size, "; the %s limit is reached at %s", limit, clock_text(judging->summary->limit_ns, clock, sizeof clock));
}

static void say_growth(const struct judging *judging)
{
	struct cairn_verdict_summary *summary = judging->summary;
	const struct cairn_leak *leak = &judging->leaks.rows[0];
	struct cairn_bytes name = leaf_name(judging, leak);
	char rate[40], sure[32], limit[120], others[60] = "";
	if (judging->leaks.growing > 1)
		snprintf(others, sizeof others, " and %zu other%s", judging->leaks.growing - 1, judging->leaks.growing == 2 ? "" : "s");
	say_limit(judging, limit, sizeof limit);
	summary->kind = CAIRN_VERDICT_GROWING;
	summary->per_hour = judging->leaks.forecast_per_hour > 0 ? judging->leaks.forecast_per_hour : leak->trend.per_hour;
	snprintf(summary->sentence, sizeof summary->sentence, "%.*s%s grow%s %s (%s)%s", (int)(name.length < 120 ? name.length : 120),
		 name.data, others, others[0] ? "" : "s",
		 rate_text(others[0] ? judging->leaks.per_hour : leak->trend.per_hour, rate, sizeof rate),
		 sure_text(leak->trend.confidence, sure, sizeof sure), limit);
}

/* Describes the largest row that fills up, makes a step or rises and falls, if it is at least 5 % of the total. */
static void say_others(const struct judging *judging, char *out, size_t size)
{
	const struct cairn_leaks *leaks = &judging->leaks;
	char level[24];
	out[0] = 0;
	for (size_t i = 0; i < leaks->count && !out[0]; i++) {
		const struct cairn_leak *leak = &leaks->rows[i];
		struct cairn_bytes name = leaf_name(judging, leak);
		int length = (int)(name.length < 120 ? name.length : 120);
		if (leak->now.value < 0.05 * leaks->now.value)
			continue;
		if (leak->trend.verdict == CAIRN_FILLING)
			snprintf(out, size, "; %.*s fills up towards %s", length, name.data, cairn_text_human(leak->trend.level, level));
		else if (leak->trend.verdict == CAIRN_SAWTOOTH)
			snprintf(out, size, "; %.*s rises and falls", length, name.data);
	}
}

static void say_rest(const struct judging *judging)
{
	struct cairn_verdict_summary *summary = judging->summary;
	const struct cairn_leaks *leaks = &judging->leaks;
	char span[40], others[200];
	if (leaks->total.verdict == CAIRN_TOO_EARLY) {
		summary->kind = CAIRN_VERDICT_EARLY;
		summary->more_dumps = leaks->total.more_dumps;
		snprintf(summary->sentence, sizeof summary->sentence, "Too early to tell after %s",
			 span_text(leaks->hours, span, sizeof span));
		return;
	}
	summary->kind = CAIRN_VERDICT_STEADY;
	say_others(judging, others, sizeof others);
	snprintf(summary->sentence, sizeof summary->sentence,
		 leaks->total.verdict == CAIRN_SHRINKING ? "Shrinking for %s%s" : "Steady for %s%s",
		 span_text(leaks->hours, span, sizeof span), others);
}

/* "remember_session held 81 %", for a dump of the last moment. */
static void say_holder(const struct cairn_archive *archive, char *out, size_t size)
{
	struct cairn_profile profile;
	struct cairn_view view = {0};
	struct cairn_top top = {0};
	out[0] = 0;
	cairn_archive_profile(archive, &archive->points[archive->count - 1], NULL, &profile);
	if (cairn_view_make(&view, &profile, &(struct cairn_view_options){.fold_wrappers = true}, NULL)) {
		cairn_top_make(&top, &view, &(struct cairn_shape){.node_count = 1});
		if (top.count > 0 && view.whole > 0) {
			struct cairn_bytes name = cairn_view_name(&view, top.rows[0].entry);
			snprintf(out, size, ": %.*s held %.0f %%", (int)(name.length < 120 ? name.length : 120), name.data,
				 100 * top.rows[0].flat / view.whole);
		}
		cairn_top_free(&top);
	}
	cairn_view_free(&view);
	cairn_archive_profile_free(&profile);
}

static void say_end(const struct judging *judging, const struct cairn_archive_point *last)
{
	struct cairn_verdict_summary *summary = judging->summary;
	char holder[200], clock[40];
	time_t then = (time_t)(last->origin.time_ns / CAIRN_SECOND_NS);
	struct tm date;
	localtime_r(&then, &date);
	strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &date);
	say_holder(judging->archive, holder, sizeof holder);
	summary->kind = CAIRN_VERDICT_ENDED;
	bool oom = cairn_end_parse(cairn_bytes_of(last->ended)).out_of_memory;
	snprintf(summary->sentence, sizeof summary->sentence, "%s at %s%s", oom ? "Killed by the OOM killer" : last->ended, clock, holder);
	if (!oom && summary->sentence[0] >= 'a' && summary->sentence[0] <= 'z')
		summary->sentence[0] = (char)(summary->sentence[0] - 'a' + 'A');
}

/* The JSON. */

static void write_row(const struct judging *judging, const struct cairn_leak *leak, struct cairn_series_value *values,
		      struct cairn_json *json)
{
	const struct cairn_leaks *leaks = &judging->leaks;
	size_t points = judging->series.point_count, width = points < spark_points ? points : spark_points;
	size_t depth = cairn_leak_depth(leaks, leak);
	cairn_json_open(json, NULL, '{');
	cairn_json_text(json, "name", leaf_name(judging, leak));
	cairn_json_number(json, "bytes_per_hour", leak->trend.per_hour);
	cairn_json_number(json, "error", leak->trend.error);
	cairn_json_number(json, "share", leak->share);
	cairn_json_text(json, "verdict", cairn_bytes_of(cairn_verdict_name(leak->trend.verdict)));
	cairn_json_number(json, "confidence", leak->trend.confidence);
	cairn_json_number(json, "since_hours", leak->trend.since);
	if (leak->members > 1)
		cairn_json_integer(json, "paths", (int64_t)leak->members);
	cairn_json_number(json, "now", round(leak->now.value));
	cairn_json_open(json, "stack", '[');
	for (size_t d = 0; d < depth && d < stack_most; d++)
		cairn_json_text(json, NULL, cairn_leak_name(leaks, &judging->view, leak, d));
	cairn_json_close(json, ']');
	cairn_leaks_values(leaks, leak, values);
	cairn_json_open(json, "course", '[');
	for (size_t i = 0; i < width; i++)
		cairn_json_number(json, NULL, round(values[width > 1 ? i * (points - 1) / (width - 1) : 0].value));
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

static struct cairn_json open_leaks(const struct cairn_verdict_summary *summary, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_integer(&json, "version", 1);
	cairn_json_text(&json, "kind", cairn_bytes_of(cairn_verdict_kind_name(summary->kind)));
	cairn_json_text(&json, "sentence", cairn_bytes_of(summary->sentence));
	return json;
}

void cairn_verdict_empty(const struct cairn_verdict_summary *summary, struct cairn_buffer *leaks)
{
	struct cairn_json json = open_leaks(summary, leaks);
	cairn_json_open(&json, "rows", '[');
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(leaks, '\n');
}

static void write_leaks(const struct judging *judging, struct cairn_buffer *out)
{
	const struct cairn_leaks *leaks = &judging->leaks;
	const struct cairn_series_point *last = &judging->series.points[judging->series.point_count - 1];
	struct cairn_json json = open_leaks(judging->summary, out);
	struct cairn_series_value *values = cairn_array_zero(judging->series.point_count, sizeof *values);
	double left = hours_left(judging);
	cairn_json_integer(&json, "dumps", (int64_t)judging->archive->count);
	cairn_json_number(&json, "hours", leaks->hours);
	cairn_json_number(&json, "total", round(last->total));
	cairn_json_integer(&json, "growing", (int64_t)leaks->growing);
	cairn_json_integer(&json, "paths", (int64_t)leaks->path_count);
	cairn_json_number(&json, "bytes_per_hour", leaks->forecast_per_hour);
	cairn_json_number(&json, "error", leaks->forecast_error);
	cairn_json_text(&json, "verdict", cairn_bytes_of(cairn_verdict_name(leaks->total.verdict)));
	if (last->limit > 0)
		cairn_json_number(&json, "limit", last->limit);
	if (left >= 0)
		cairn_json_number(&json, "hours_to_limit", left);
	cairn_json_open(&json, "rows", '[');
	for (size_t i = 0; i < leaks->count && i < row_most; i++)
		write_row(judging, &leaks->rows[i], values, &json);
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
	free(values);
}

/* Writes the layers of the timeline, from the bottom: their names, and their values at the points that were judged. */
static void write_layers(struct judging *judging, struct cairn_buffer *out)
{
	struct cairn_timeline timeline;
	struct cairn_json json = cairn_json(out);
	cairn_timeline_make(&timeline, &judging->series, &judging->view, &judging->leaks, layer_most);
	cairn_json_open(&json, NULL, '{');
	cairn_json_open(&json, "ids", '[');
	for (size_t i = 0; i < judging->series.point_count; i++)
		cairn_json_integer(&json, NULL, judging->series.points[i].origin.time_ns / CAIRN_MILLISECOND_NS);
	cairn_json_close(&json, ']');
	cairn_json_open(&json, "items", '[');
	for (size_t l = 0; l < timeline.layer_count; l++) {
		const struct cairn_timeline_layer *layer = &timeline.layers[l];
		bool others = layer->path == CAIRN_NONE;
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "name", layer->name);
		cairn_json_text(&json, "leaf",
				others ? cairn_bytes_of("") : cairn_series_paths_name(&timeline.paths, &judging->view, layer->path, 0));
		cairn_json_text(&json, "verdict", cairn_bytes_of(cairn_verdict_name(layer->trend.verdict)));
		cairn_json_open(&json, "values", '[');
		for (size_t i = 0; i < judging->series.point_count; i++)
			cairn_json_number(&json, NULL, round(layer->values[i].value));
		cairn_json_close(&json, ']');
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_timeline_free(&timeline);
}

void cairn_verdict_make(const struct cairn_archive *archive, struct cairn_verdict_summary *summary, struct cairn_buffer *leaks,
			struct cairn_buffer *layers)
{
	struct judging judging = {.archive = archive, .summary = summary};
	*summary = (struct cairn_verdict_summary){.kind = CAIRN_VERDICT_NOTHING};
	if (archive->count == 0) {
		snprintf(summary->sentence, sizeof summary->sentence, "No dump yet");
		cairn_verdict_empty(summary, leaks);
		return;
	}
	const struct cairn_archive_point *last = &archive->points[archive->count - 1];
	cairn_archive_series(archive, judged_points, &judging.series);
	if (!cairn_view_make(&judging.view, &judging.series.profile, &(struct cairn_view_options){.fold_wrappers = true}, NULL)) {
		cairn_archive_series_free(&judging.series);
		cairn_verdict_empty(summary, leaks);
		return;
	}
	cairn_leaks_rank(&judging.leaks, &judging.series, &judging.view);
	bool sampled = judging.series.profile.sample_count > 0;
	if (last->ended[0]) {
		say_end(&judging, last);
	} else if (archive->count < least_dumps) {
		summary->kind = CAIRN_VERDICT_EARLY;
		summary->more_dumps = least_dumps - (unsigned)archive->count;
		snprintf(summary->sentence, sizeof summary->sentence, "Needs %u more dump%s", summary->more_dumps,
			 summary->more_dumps == 1 ? "" : "s");
	} else if (!sampled) {
		snprintf(summary->sentence, sizeof summary->sentence,
			 "No samples, so no verdict: sampling was off, or less was allocated than the sampling period");
	} else if (judging.leaks.growing > 0) {
		say_growth(&judging);
	} else {
		say_rest(&judging);
	}
	if (sampled)
		write_leaks(&judging, leaks);
	else
		cairn_verdict_empty(summary, leaks);
	write_layers(&judging, layers);
	cairn_leaks_free(&judging.leaks);
	cairn_view_free(&judging.view);
	cairn_archive_series_free(&judging.series);
}
