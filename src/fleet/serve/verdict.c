/* verdict.c - judges an archive as `cairn leaks` does, and puts the result into a sentence.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/verdict.h"

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "dump/end.h"
#include "live/judged.h"
#include "report/top.h"
#include "series/timeline.h"
#include "series/words.h"

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
	struct cairn_judged mapped;
	struct cairn_judgement judgement;
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

enum cairn_verdict_kind cairn_verdict_kind(enum cairn_verdict verdict)
{
	return verdict == CAIRN_GROWING     ? CAIRN_VERDICT_GROWING
	       : verdict == CAIRN_TOO_EARLY ? CAIRN_VERDICT_EARLY
					    : CAIRN_VERDICT_STEADY;
}

static void copy_words(char *out, size_t size, const struct cairn_buffer *words)
{
	snprintf(out, size, "%.*s", (int)words->length, words->length ? words->data : "");
}

/* The sentence of `cairn leaks`, and the forecast. */
static void say_judgement(const struct judging *judging)
{
	const struct cairn_judgement *judgement = &judging->judgement;
	struct cairn_verdict_summary *summary = judging->summary;
	struct cairn_buffer words = cairn_buffer(SIZE_MAX);
	summary->kind = cairn_verdict_kind(judgement->verdict);
	summary->more_dumps = summary->kind == CAIRN_VERDICT_EARLY ? judging->leaks.total.more_dumps : 0;
	summary->per_hour = judgement->process_per_hour;
	if (judgement->hours_left >= 0)
		summary->limit_ns = judging->series.points[judging->series.point_count - 1].origin.time_ns +
				    (int64_t)(judgement->hours_left * CAIRN_HOUR_NS);
	cairn_words_judgement(judgement, &(struct cairn_shape){0}, &words);
	copy_words(summary->sentence, sizeof summary->sentence, &words);
	words.length = 0;
	cairn_words_forecast(judgement, &words);
	copy_words(summary->forecast, sizeof summary->forecast, &words);
	cairn_buffer_free(&words);
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
	char holder[200], clock[40], end[100];
	time_t then = (time_t)(last->origin.time_ns / CAIRN_SECOND_NS);
	struct tm date;
	localtime_r(&then, &date);
	strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S", &date);
	say_holder(judging->archive, holder, sizeof holder);
	summary->kind = CAIRN_VERDICT_ENDED;
	snprintf(summary->sentence, sizeof summary->sentence, "%s at %s%s", cairn_end_brief(last->ended, end, sizeof end), clock, holder);
}

/* The JSON. */

static void write_row(const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_leak *leak,
		      struct cairn_series_value *values, struct cairn_json *json)
{
	size_t points = leaks->paths.series->point_count, width = points < spark_points ? points : spark_points;
	size_t depth = cairn_leak_depth(leaks, leak);
	cairn_json_open(json, NULL, '{');
	cairn_json_text(json, "name", cairn_leak_title(leaks, view, leak));
	cairn_json_number(json, "bytes_per_hour", leak->trend.per_hour);
	cairn_json_number(json, "error", leak->trend.error);
	cairn_json_number(json, "share", leak->share);
	cairn_json_text(json, "verdict", cairn_bytes_of(cairn_verdict_name(leak->trend.verdict)));
	cairn_json_number(json, "confidence", leak->trend.confidence);
	char sure[32];
	if (leak->trend.verdict != CAIRN_TOO_EARLY)
		cairn_json_text(json, "sure", cairn_bytes_of(cairn_words_confidence_column(leak->trend.confidence, sure, sizeof sure)));
	cairn_json_number(json, "since_hours", leak->trend.since);
	if (leak->members > 1)
		cairn_json_integer(json, "paths", (int64_t)leak->members);
	cairn_json_number(json, "now", round(leak->now.value));
	cairn_json_open(json, "stack", '[');
	for (size_t d = 0; d < depth && d < stack_most; d++)
		cairn_json_text(json, NULL, cairn_leak_name(leaks, view, leak, d));
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
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_text(&json, "kind", cairn_bytes_of(cairn_verdict_kind_name(summary->kind)));
	cairn_json_text(&json, "sentence", cairn_bytes_of(summary->sentence));
	if (summary->forecast[0])
		cairn_json_text(&json, "forecast", cairn_bytes_of(summary->forecast));
	return json;
}

void cairn_verdict_empty(const struct cairn_verdict_summary *summary, struct cairn_buffer *leaks)
{
	struct cairn_json json = open_leaks(summary, leaks);
	cairn_json_open(&json, "rows", '[');
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
}

static void write_leaks(const struct judging *judging, struct cairn_buffer *out)
{
	const struct cairn_leaks *leaks = &judging->leaks;
	const struct cairn_series_point *last = &judging->series.points[judging->series.point_count - 1];
	struct cairn_json json = open_leaks(judging->summary, out);
	struct cairn_series_value *values = cairn_array_zero(judging->series.point_count, sizeof *values);
	const struct cairn_judgement *judgement = &judging->judgement;
	cairn_json_integer(&json, "dumps", (int64_t)judging->archive->count);
	cairn_json_number(&json, "hours", leaks->hours);
	if (leaks->observed_hours > 0)
		cairn_json_number(&json, "observed_hours", leaks->observed_hours);
	cairn_json_number(&json, "total", round(last->total));
	cairn_json_integer(&json, "growing", (int64_t)judgement->growing);
	cairn_json_integer(&json, "paths", (int64_t)judgement->leaks->path_count);
	cairn_json_number(&json, "bytes_per_hour", judgement->per_hour);
	cairn_json_number(&json, "error", judgement->error);
	cairn_json_number(&json, "process_bytes_per_hour", judgement->process_per_hour);
	cairn_json_text(&json, "verdict", cairn_bytes_of(cairn_verdict_name(judgement->verdict)));
	if (judgement->limit.kind != CAIRN_LIMIT_NONE) {
		cairn_json_number(&json, "limit", judgement->limit.bytes);
		cairn_json_text(&json, "limit_kind", cairn_bytes_of(cairn_limit_name(judgement->limit.kind)));
	}
	if (judgement->hours_left >= 0)
		cairn_json_number(&json, "hours_to_limit", judgement->hours_left);
	struct cairn_buffer words = cairn_buffer(1 << 10);
	cairn_words_retention(&judging->series, judgement, &words);
	if (words.length)
		cairn_json_text(&json, "retention", cairn_buffer_bytes(&words));
	cairn_buffer_free(&words);
	cairn_json_open(&json, "rows", '[');
	for (size_t i = 0; judgement->leaks != leaks && i < judgement->leaks->count && i < row_most; i++)
		write_row(judgement->leaks, judgement->view, &judgement->leaks->rows[i], values, &json);
	for (size_t i = 0; i < leaks->count && i < row_most; i++)
		write_row(leaks, &judging->view, &leaks->rows[i], values, &json);
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
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

void cairn_verdict_make(const struct cairn_archive *archive, struct cairn_bytes newest, double others_per_hour,
			struct cairn_verdict_summary *summary, struct cairn_buffer *leaks, struct cairn_buffer *layers)
{
	struct judging judging = {.archive = archive, .summary = summary};
	*summary = (struct cairn_verdict_summary){.kind = CAIRN_VERDICT_NOTHING};
	if (archive->count == 0) {
		snprintf(summary->sentence, sizeof summary->sentence, "no dump yet");
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
	cairn_judged_conclude(&judging.judgement, &judging.mapped, &judging.series, &judging.leaks, &judging.view,
			      &(struct cairn_judge_context){.others_per_hour = others_per_hour}, newest);
	bool sampled = judging.series.profile.sample_count > 0, aged = judging.series.lives.seconds > 0;
	if (last->ended[0]) {
		say_end(&judging, last);
	} else if (!sampled) {
		struct cairn_buffer words = cairn_buffer(SIZE_MAX);
		cairn_words_no_samples(&last->own, last->period, &words);
		copy_words(summary->sentence, sizeof summary->sentence, &words);
		cairn_buffer_free(&words);
	} else {
		say_judgement(&judging);
		if (!aged && archive->count < least_dumps)
			summary->more_dumps = least_dumps - (unsigned)archive->count;
	}
	if (sampled)
		write_leaks(&judging, leaks);
	else
		cairn_verdict_empty(summary, leaks);
	write_layers(&judging, layers);
	cairn_judged_free(&judging.mapped);
	cairn_leaks_free(&judging.leaks);
	cairn_view_free(&judging.view);
	cairn_archive_series_free(&judging.series);
}
