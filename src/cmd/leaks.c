/* leaks.c - `cairn leaks`: which call paths keep growing, how fast, how sure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/json.h"
#include "base/note.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/view.h"
#include "dump/end.h"
#include "live/files.h"
#include "live/judged.h"
#include "live/source_series.h"
#include "report/head.h"
#include "series/onset.h"
#include "series/words.h"
#include "symbol/live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { default_rows = 10, shown_callers = 5, least_dumps = 3, taken_dumps = 12 };
/* For how long dumps of a process are taken if they have no ages. */
static const int64_t usual_for_ns = 30 * CAIRN_SECOND_NS;

struct options {
	struct cairn_view_setup setup;
	uint64_t limit;
	const char *span;
};

static const struct cairn_option table[] = {
	{'n', "rows", "N", "show N call paths; 0 shows all (default: 10)", CAIRN_OPTION_COUNT,
	 offsetof(struct options, setup.shape.node_count), 0},
	{0, "nodecount", "N", NULL, CAIRN_OPTION_COUNT, offsetof(struct options, setup.shape.node_count), 0},
	{0, "limit", "SIZE", "forecast when SIZE is reached (default: the limit recorded in the dumps)",
	 CAIRN_OPTION_SIZE, offsetof(struct options, limit), 0},
	{0, "for", "TIME", "of a process: take dumps for TIME, such as 1m (default: one dump if it has ages, else 30s)", CAIRN_OPTION_TEXT,
	 offsetof(struct options, span), 0},
	{0, "json", NULL, "print one JSON object instead of a table; see doc/formats.md", CAIRN_OPTION_FLAG,
	 offsetof(struct options, setup.json), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	CAIRN_VIEW_GROUPS,
	{"output", cairn_output_option_table, 0},
	{0},
};

static const struct cairn_option_refusal refusals[] = {
	CAIRN_SERIES_REFUSALS("'cairn leaks' compares the dumps of a series with each other; "
			      "--base, --normalize, --sum and --tree work with 'cairn top'"),
	{"drop-negative", NULL},
	{"relative-percentages", NULL}, /* since they are always of the filtered total */
	{0},
};

static struct cairn_interval around(double value, double error)
{
	return cairn_spread_change(value, (struct cairn_spread){.variance = error * error});
}

static struct cairn_interval rate_interval(const struct cairn_leak *leak)
{
	return around(leak->trend.per_hour, leak->trend.error);
}

struct report {
	const struct options *options;
	const struct cairn_series *series;
	const struct cairn_leaks *leaks;
	const struct cairn_view *view;
	const struct cairn_series_point *last;
	const struct cairn_judgement *judgement;
	struct cairn_buffer *out;
	struct cairn_series_value *values; /* room for one row's course */
};

static char *number(const struct report *report, double value, char *out)
{
	return cairn_head_number(report->view, &report->options->setup.shape, value, out);
}

/* The 95 % interval as a separate column; nothing unless requested. */
static const char *interval_column(const struct report *report, struct cairn_interval interval, char *out)
{
	char low[32], high[32], text[CAIRN_INTERVAL_TEXT] = "unknown";
	if (!report->view->options.errors)
		return "";
	if (report->series->knows_errors && !isnan(interval.low))
		snprintf(text, sizeof text, "%s to %s", number(report, interval.low, low), number(report, interval.high, high));
	snprintf(out, CAIRN_INTERVAL_TEXT, " %*s", CAIRN_INTERVAL_WIDTH, text);
	return out;
}

static void write_forecast(const struct report *report)
{
	char text[32], own[32];
	size_t start = report->out->length;
	cairn_words_forecast(report->judgement, report->out);
	if (report->out->length == start)
		return;
	cairn_buffer_byte(report->out, '\n');
	double used = report->judgement->limit.kind == CAIRN_LIMIT_GROUP ? report->last->group : 0;
	if (report->last->resident > 0 && used > report->last->resident)
		cairn_buffer_format(report->out, "the processes of its control group use %s of that, this one %s\n",
				    cairn_text_human(used, text), cairn_text_human(report->last->resident, own));
}

/* Dumps that somebody takes by hand follow each other within seconds. */
enum { short_seconds = 2, hours_of_day = 24 };
static const double hours_of_rhythm = 1;

static void write_coverage(const struct report *report)
{
	char text[CAIRN_COVERAGE_TEXT];
	struct cairn_coverage coverage = cairn_onset_coverage(report->last);
	if (cairn_coverage_text(&coverage, text, sizeof text))
		cairn_buffer_format(report->out, "%s\n", text);
}

/* Resident memory may grow where nothing in the profile does. */
static void write_retention(const struct report *report)
{
	size_t start = report->out->length;
	cairn_words_retention(report->series, report->judgement, report->out);
	if (report->out->length > start)
		cairn_buffer_byte(report->out, '\n');
}

static void write_summary(const struct report *report)
{
	char text[32], time[32], ended[200];
	const struct cairn_leaks *leaks = report->leaks;
	const struct cairn_profile *profile = &report->series->profile;
	struct cairn_buffer *out = report->out;
	bool brief = leaks->observed_hours == 0 && leaks->hours * 3600 < short_seconds;
	cairn_words_judgement(report->judgement, &report->options->setup.shape, out);
	if (brief && report->judgement->verdict != CAIRN_GROWING)
		cairn_buffer_text(out, ": the dumps are too close together to show a slow leak; take them further apart");
	cairn_buffer_byte(out, '\n');
	if (report->last->ended[0]) {
		cairn_buffer_text(out, "the last dump shows the last moment of the process: ");
		cairn_utf8_show(out, cairn_bytes_of(cairn_end_brief(report->last->ended, ended, sizeof ended)));
		cairn_buffer_byte(out, '\n');
	}
	cairn_utf8_show(out, profile->facts.process ? cairn_strings_bytes(&profile->strings, profile->facts.process)
						    : cairn_bytes_of("unknown process"));
	if (report->series->point_count > 1)
		cairn_buffer_format(out, ", %zu dumps over %s", report->series->point_count,
				    cairn_words_duration(leaks->hours, time, sizeof time));
	else
		cairn_buffer_format(out, ", 1 dump after %s", cairn_words_duration(leaks->observed_hours, time, sizeof time));
	if (report->last->process > 0)
		cairn_buffer_format(out, ", %u runs", report->last->process + 1);
	cairn_buffer_format(out, ", %s now\n", number(report, leaks->now.value, text));
	write_coverage(report);
	write_retention(report);
	if (leaks->observed_hours > 0 && leaks->longest_hours > 0)
		cairn_buffer_format(out, "judged by the ages of objects%s: ordinary ones live %s %s, leaked ones stay\n",
				    report->series->point_count >= least_dumps ? ", too" : "",
				    leaks->longest_hours * 3600 < 0.1 ? "for" : "up to",
				    cairn_words_duration(leaks->longest_hours, time, sizeof time));
	else if (leaks->observed_hours > 0 && !report->series->lives.endless && !report->judgement->mapped)
		cairn_buffer_text(out, "too few objects were freed to know how long objects live\n");
	if (report->series->point_count > 1 && leaks->hours >= hours_of_rhythm && leaks->hours < hours_of_day)
		cairn_buffer_text(out, "the dumps span less than a day: a daily rhythm may look like growth\n");
	write_forecast(report);
	cairn_buffer_byte(out, '\n');
}

static size_t shown_rows(const struct report *report)
{
	uint64_t rows = cairn_view_shape(&report->options->setup, default_rows, 0, 0).node_count;
	return rows ? (size_t)rows : report->leaks->count;
}

enum { spark_width = 16 };

/* The course of LEAK as a line of blocks, with a bar where the present trend began. */
static void write_spark(const struct report *report, const struct cairn_leak *leak)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	size_t points = report->series->point_count;
	double most = 0, values[spark_width];
	cairn_leaks_values(report->leaks, leak, report->values);
	size_t width = points < spark_width ? points : spark_width, mark = 0;
	for (size_t i = 0; i < width; i++) {
		size_t at = width > 1 ? i * (points - 1) / (width - 1) : 0;
		values[i] = report->values[at].value;
		most = fmax(most, values[i]);
		mark = !mark && i > 0 && leak->trend.since > 0 && cairn_series_hours(report->series, at) >= leak->trend.since ? i : mark;
	}
	bool marked = mark && (leak->trend.verdict == CAIRN_GROWING || leak->trend.verdict == CAIRN_STOPPED);
	for (size_t i = 0; i < width; i++) {
		if (marked && i == mark)
			cairn_buffer_text(report->out, "|");
		size_t block = most > 0 ? (size_t)fmin(7, fmax(0, floor(8 * values[i] / most))) : 0;
		cairn_buffer_text(report->out, blocks[block]);
	}
	cairn_buffer_format(report->out, "%*s  ", (int)(spark_width + 1 - width - marked), "");
}

/* What the row says besides the verdict's name. */
static void write_detail(const struct report *report, const struct cairn_leak *leak)
{
	struct cairn_buffer detail = cairn_buffer(SIZE_MAX);
	cairn_words_detail(&leak->trend, report->leaks->hours, report->view, &report->options->setup.shape, &detail);
	if (leak->members > 1)
		cairn_buffer_format(report->out, " (%zu call paths together)", leak->members);
	if (detail.length)
		cairn_buffer_format(report->out, " (%.*s)", (int)detail.length, detail.data);
	cairn_buffer_free(&detail);
}

static void write_row(const struct report *report, const struct cairn_leak *leak)
{
	char rate[CAIRN_WORDS_RATE], now[32], rate_errors[CAIRN_INTERVAL_TEXT], now_errors[CAIRN_INTERVAL_TEXT];
	struct cairn_buffer *out = report->out;
	struct cairn_bytes name = cairn_leak_title(report->leaks, report->view, leak);
	char sure[16] = ""; /* what is not decided has no confidence */
	size_t start = out->length, depth = cairn_leak_depth(report->leaks, leak);
	if (leak->trend.verdict != CAIRN_TOO_EARLY)
		cairn_words_confidence_column(leak->trend.confidence, sure, sizeof sure);
	struct cairn_words_unit unit = cairn_words_rate_unit(cairn_view_in_bytes(report->view), leak->trend.per_hour);
	struct cairn_interval interval = rate_interval(leak);
	interval.low *= unit.factor;
	interval.high *= unit.factor;
	cairn_buffer_format(out, "%11s%s%s %6.1f%% %11s%s  %-9s %7s  ", number(report, leak->trend.per_hour * unit.factor, rate), unit.name,
			    interval_column(report, interval, rate_errors), 100 * leak->share,
			    number(report, leak->now.value, now),
			    interval_column(report, cairn_series_interval(report->series, &leak->now), now_errors),
			    cairn_verdict_name(leak->trend.verdict), sure);
	int indent = (int)(out->length - start) + spark_width + 3;
	write_spark(report, leak);
	cairn_buffer_append(out, name.data, name.length);
	write_detail(report, leak);
	cairn_buffer_byte(out, '\n');
	for (size_t d = 1; d < depth && d <= shown_callers; d++) {
		name = cairn_leak_name(report->leaks, report->view, leak, d);
		cairn_buffer_format(out, "%*s", indent, "");
		cairn_buffer_append(out, name.data, name.length);
		cairn_buffer_byte(out, '\n');
	}
	if (depth > shown_callers + 1)
		cairn_buffer_format(out, "%*s… %zu more\n", indent, "", depth - shown_callers - 1);
}

static void write_rows(const struct report *report)
{
	size_t rows = shown_rows(report);
	const char *errors = cairn_head_interval_title(report->view);
	cairn_buffer_format(report->out, "%13s%s %7s %11s%s  %-9s %7s  %-*s  %s\n", "Rate", errors, "Share", "Live", errors, "Verdict",
			    "Sure", spark_width + 1, "Course", "Call path");
	for (size_t i = 0; i < report->leaks->count && i < rows; i++)
		write_row(report, &report->leaks->rows[i]);
}

/* What the verdicts in the table mean, for people at a terminal. */
static void write_legend(const struct report *report)
{
	bool shown[CAIRN_TOO_EARLY + 1] = {false}, any = false, colour = !getenv("NO_COLOR");
	size_t rows = shown_rows(report);
	if (report->options->setup.output || !isatty(STDOUT_FILENO))
		return;
	for (size_t i = 0; i < report->leaks->count && i < rows; i++)
		shown[report->leaks->rows[i].trend.verdict] = true;
	for (enum cairn_verdict verdict = 0; verdict <= CAIRN_TOO_EARLY; verdict++)
		if (shown[verdict]) {
			cairn_buffer_format(report->out, "%s%s: %s", any ? "; " : colour ? "\n\033[2m" : "\n", cairn_verdict_name(verdict),
					    cairn_words_meaning(verdict));
			any = true;
		}
	if (any)
		cairn_buffer_text(report->out, colour ? "\033[0m\n" : "\n");
}

/* The same report of what the verdict is about, which may be mappings. */
static struct report report_of_verdict(const struct report *report)
{
	struct report shown = *report;
	shown.leaks = report->judgement->leaks;
	shown.view = report->judgement->view;
	shown.series = shown.leaks->paths.series;
	return shown;
}

static void write_text(const struct report *report)
{
	struct report shown = report_of_verdict(report);
	write_summary(report);
	write_rows(&shown);
	write_legend(&shown);
}

static void interval_json(const struct report *report, struct cairn_json *json, const char *low, const char *high,
			  struct cairn_interval interval)
{
	if (!report->view->options.errors)
		return;
	cairn_json_number(json, low, report->series->knows_errors ? interval.low : NAN);
	cairn_json_number(json, high, report->series->knows_errors ? interval.high : NAN);
}

/* What only some verdicts have. */
static void trend_json(struct cairn_json *json, const struct cairn_trend *trend)
{
	cairn_json_number(json, "since_hours", trend->since);
	if (trend->verdict == CAIRN_FILLING) {
		cairn_json_number(json, "level", round(trend->level));
		cairn_json_number(json, "level_low", round(trend->level_low));
		cairn_json_number(json, "level_high", round(trend->level_high));
		cairn_json_bool(json, "refilling", trend->refilling);
	}
	if ((trend->verdict == CAIRN_SAWTOOTH || trend->verdict == CAIRN_GROWING) && trend->period_hours > 0)
		cairn_json_number(json, "period_hours", trend->period_hours);
	if (trend->verdict == CAIRN_TOO_EARLY && trend->more_dumps > 0)
		cairn_json_integer(json, "more_dumps", trend->more_dumps);
	if (trend->may_replace)
		cairn_json_bool(json, "may_replace", true);
	if (trend->verdict == CAIRN_TOO_EARLY && trend->more_hours > 0)
		cairn_json_number(json, "more_hours", trend->more_hours);
}

/* The verdict as a person reads it. */
static void words_json(const struct report *report, struct cairn_json *json, const struct cairn_trend *trend)
{
	struct cairn_buffer words = cairn_buffer(SIZE_MAX);
	cairn_words_trend(trend, report->leaks->hours, report->view, &report->options->setup.shape, &words);
	cairn_json_text(json, "words", cairn_buffer_bytes(&words));
	cairn_buffer_free(&words);
}

static void row_json(const struct report *report, struct cairn_json *json, const struct cairn_leak *leak)
{
	cairn_json_open(json, NULL, '{');
	cairn_json_text(json, "name", cairn_leak_title(report->leaks, report->view, leak));
	cairn_json_number(json, "bytes_per_hour", leak->trend.per_hour);
	cairn_json_number(json, "error", leak->trend.error);
	interval_json(report, json, "bytes_per_hour_low", "bytes_per_hour_high", rate_interval(leak));
	cairn_json_number(json, "share", leak->share);
	cairn_json_text(json, "verdict", cairn_bytes_of(cairn_verdict_name(leak->trend.verdict)));
	cairn_json_number(json, "confidence", leak->trend.confidence);
	words_json(report, json, &leak->trend);
	static const char *const evidence[] = {"dumps", "ages", "both"};
	cairn_json_text(json, "evidence", cairn_bytes_of(evidence[leak->evidence]));
	cairn_json_bool(json, "warmed_up", leak->trend.warmed_up);
	trend_json(json, &leak->trend);
	if (leak->members > 1)
		cairn_json_integer(json, "paths", (int64_t)leak->members);
	cairn_json_number(json, "now", round(leak->now.value));
	interval_json(report, json, "now_low", "now_high", cairn_series_interval(report->series, &leak->now));
	cairn_json_open(json, "stack", '[');
	for (size_t d = 0; d < cairn_leak_depth(report->leaks, leak); d++)
		cairn_json_text(json, NULL, cairn_leak_name(report->leaks, report->view, leak, d));
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

/* As `cairn top --json` has it. */
static void coverage_json(const struct report *report, struct cairn_json *json)
{
	struct cairn_coverage coverage = cairn_onset_coverage(report->last);
	if (coverage.since_ns <= 0)
		return;
	if (coverage.before > 0)
		cairn_json_number(json, "allocated_before", coverage.before);
	cairn_json_number(json, "sampled_since", (double)(coverage.since_ns / CAIRN_MILLISECOND_NS) / 1000);
	cairn_json_bool(json, "partial", cairn_coverage_is_partial(&coverage));
}

static void write_json(const struct report *report)
{
	struct cairn_json json = cairn_json_answer(report->out);
	const struct cairn_leaks *leaks = report->leaks;
	const struct cairn_profile *profile = &report->series->profile;
	size_t rows = shown_rows(report);
	struct cairn_buffer sentence = cairn_buffer(SIZE_MAX);
	const struct cairn_judgement *judgement = report->judgement;
	cairn_words_judgement(judgement, &report->options->setup.shape, &sentence);
	cairn_json_text(&json, "summary", cairn_buffer_bytes(&sentence));
	sentence.length = 0;
	cairn_words_forecast(judgement, &sentence);
	if (sentence.length)
		cairn_json_text(&json, "forecast", cairn_buffer_bytes(&sentence));
	sentence.length = 0;
	cairn_words_retention(report->series, report->judgement, &sentence);
	if (sentence.length)
		cairn_json_text(&json, "retention", cairn_buffer_bytes(&sentence));
	cairn_buffer_free(&sentence);
	cairn_json_text(&json, "process", cairn_strings_bytes(&profile->strings, profile->facts.process));
	cairn_json_text(&json, "unit", cairn_strings_bytes(&profile->strings, profile->value_types[report->view->value].unit));
	cairn_json_text(&json, "type", cairn_bytes_of(cairn_head_type(report->view)));
	if (report->last->ended[0])
		cairn_json_text(&json, "ended", cairn_bytes_of(report->last->ended));
	cairn_json_integer(&json, "dumps", (int64_t)report->series->point_count);
	cairn_json_integer(&json, "runs", report->last->process + 1);
	cairn_json_number(&json, "hours", leaks->hours);
	if (leaks->observed_hours > 0) {
		cairn_json_number(&json, "observed_hours", leaks->observed_hours);
		if (leaks->longest_hours > 0)
			cairn_json_number(&json, "longest_lifetime_hours", leaks->longest_hours);
	}
	coverage_json(report, &json);
	cairn_json_bool(&json, "less_than_a_day", leaks->hours < hours_of_day);
	cairn_json_number(&json, "total", round(leaks->now.value));
	interval_json(report, &json, "total_low", "total_high", cairn_series_interval(report->series, &leaks->now));
	cairn_json_number(&json, "bytes_per_hour", judgement->per_hour);
	cairn_json_number(&json, "error", judgement->error);
	cairn_json_number(&json, "process_bytes_per_hour", judgement->process_per_hour);
	cairn_json_text(&json, "verdict", cairn_bytes_of(cairn_verdict_name(judgement->verdict)));
	cairn_json_bool(&json, "mapped", judgement->mapped && judgement->verdict == CAIRN_GROWING);
	if (judgement->limit.kind != CAIRN_LIMIT_NONE) {
		cairn_json_number(&json, "limit", judgement->limit.bytes);
		cairn_json_text(&json, "limit_kind", cairn_bytes_of(cairn_limit_name(judgement->limit.kind)));
	}
	if (judgement->hours_left >= 0) {
		cairn_json_number(&json, "hours_to_limit", judgement->hours_left);
		cairn_json_number(&json, "hours_to_limit_low", judgement->soonest);
		cairn_json_number(&json, "hours_to_limit_high", judgement->latest);
	}
	struct report shown = report_of_verdict(report);
	cairn_json_open(&json, "rows", '[');
	for (size_t i = 0; i < shown.leaks->count && i < rows; i++)
		row_json(&shown, &json, &shown.leaks->rows[i]);
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
}

/* By the ending of the output's name: .json is JSON, pictures belong to other commands. */
static bool find_format(struct cairn_view_setup *setup, struct cairn_error *error)
{
	static const char *const pictures[] = {".html", ".svg", ".png", ".pdf"};
	struct cairn_bytes output = cairn_bytes_of(setup->output ? setup->output : "");
	for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
		if (cairn_bytes_end_with(output, pictures[i]))
			return cairn_fail_usage(error, "'cairn leaks' does not write %s files; 'cairn timeline' writes .html and .svg",
						pictures[i]);
	setup->json |= cairn_bytes_end_with(output, ".json");
	return true;
}

/* All that a verdict takes. */
struct work {
	const struct options *options;
	struct cairn_judged_series judged;
};

/* Judges the series, whose newest dump is DUMP. SOURCE is where it is from; NULL for several. */
static bool judge(struct work *work, struct cairn_bytes dump, const char *source, struct cairn_error *error)
{
	const struct options *options = work->options;
	const struct cairn_profile *profile = &work->judged.series.profile;
	struct cairn_judge_context context = {
		.limit = (double)options->limit,
		.no_forecast = !options->limit && cairn_live_is_over(profile),
	};
	return (profile->sample_count > 0 || cairn_source_fail_empty(profile, source, error)) &&
	       cairn_judged_series(&work->judged, &options->setup.view, &context, dump, error);
}

static bool judge_files(struct work *work, int operand_count, char **operands, struct cairn_error *error)
{
	struct cairn_buffer dump = cairn_buffer(SIZE_MAX);
	const struct options *options = work->options;
	struct cairn_series *series = &work->judged.series;
	if (!cairn_source_series(series, &options->setup.source, &options->setup.view, least_dumps, 1, operand_count, operands, error))
		return false;
	const char *newest = series->points[series->point_count - 1].path;
	if (newest[0] && !cairn_files_text(newest, &dump, error))
		dump.length = 0;
	bool good = judge(work, cairn_buffer_bytes(&dump), operand_count == 1 ? operands[0] : NULL, error);
	cairn_buffer_free(&dump);
	return good;
}

/* Judges all dumps that were TAKEN, if the last was: GOOD. */
static bool judge_taken(struct work *work, const struct cairn_taken *taken, bool good, struct cairn_error *error)
{
	cairn_judged_series_free(&work->judged);
	return good && cairn_taken_series(taken, &work->judged.series, error) &&
	       judge(work, cairn_buffer_bytes(&taken->newest), taken->name, error);
}

/* Takes COUNT more dumps over SPAN_NS, and judges all of them. */
static bool take(struct work *work, struct cairn_taken *taken, size_t count, int64_t span_ns, struct cairn_error *error)
{
	return judge_taken(work, taken, cairn_taken_over(taken, count, span_ns, error), error);
}

/* Takes the dumps of a process that a verdict needs: for as long as the user says, or else until another would not help. */
static bool judge_process(struct work *work, const char *name, int64_t span_ns, struct cairn_error *error)
{
	struct cairn_taken taken;
	const struct options *options = work->options;
	char span[24];
	bool good = cairn_taken_open(&taken, name, &options->setup.source, &options->setup.view, error) && take(work, &taken, 1, 0, error);
	if (good && span_ns > 0)
		good = take(work, &taken, taken_dumps - 1, span_ns, error);
	for (int rounds = 0; good && span_ns < 0 && rounds < least_dumps; rounds++) {
		double seconds = work->judged.series.lives.seconds;
		switch (cairn_taken_need(&taken, &work->judged.judgement)) {
		case CAIRN_TAKEN_SERIES:
			if (taken.count > 1)
				break;
			cairn_note("%s does not say how old its objects are: taking dumps for %s (--for TIME)", name,
				       cairn_text_span(usual_for_ns, span));
			good = take(work, &taken, taken_dumps - 1, usual_for_ns, error);
			break;
		case CAIRN_TAKEN_SETTLED:
			cairn_note("sampling began %.0f seconds ago: waiting until it is %d (--for 0s answers at once)", seconds,
				       CAIRN_SETTLED_SECONDS);
			good = take(work, &taken, 1, (int64_t)((CAIRN_SETTLED_SECONDS + 0.5 - seconds) * CAIRN_SECOND_NS), error);
			break;
		case CAIRN_TAKEN_COURSE:
			good = judge_taken(work, &taken, cairn_taken_course(&taken, error), error);
			break;
		case CAIRN_TAKEN_ENOUGH:
			rounds = least_dumps;
			break;
		}
	}
	cairn_taken_free(&taken);
	return good;
}

/* How long --for is; negative if it was not given. */
static bool read_span(const struct options *options, int64_t *span_ns, struct cairn_error *error)
{
	*span_ns = -1;
	return !options->span || cairn_text_duration(options->span, span_ns) ||
	       cairn_fail_usage(error, "--for takes a time such as 30s or 2m, not '%.40s'", options->span);
}

static int run(const void *values, int operand_count, char **operands)
{
	struct options own = *(const struct options *)values;
	struct work work = {.options = &own};
	struct cairn_error error;
	struct cairn_symbolize_report unnamed = {0};
	int64_t span_ns;
	int code;
	/* Ages are of what a dump holds as a whole: not of one thread, nor of a part by age or label, nor of slack and the like. */
	struct cairn_source_options *source = &own.setup.source;
	bool part = cairn_view_split_labels(source, &own.setup.view.filter);
	source->with_freed = !part && cairn_source_knows_ages(source);
	source->unnamed = &unnamed;
	own.setup.view.fold_wrappers = true; /* what grows is called by the function that wanted the memory, as on every page */
	bool live = operand_count == 1 && cairn_target_is(operands[0]);
	if (!find_format(&own.setup, &error) || !cairn_view_check_filters(&own.setup, &error) || !read_span(&own, &span_ns, &error) ||
	    !cairn_source_check(source, &error) ||
	    !(live ? judge_process(&work, operands[0], span_ns, &error) : judge_files(&work, operand_count, operands, &error))) {
		code = cairn_say_failure(&error);
	} else {
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		const struct cairn_series *series = &work.judged.series;
		const struct cairn_view *view = &work.judged.view;
		struct report report = {.options = &own, .series = series, .leaks = &work.judged.leaks, .view = view,
					.last = &series->points[series->point_count - 1], .judgement = &work.judged.judgement, .out = &out,
					.values = cairn_array_zero(series->point_count, sizeof *report.values)};
		(own.setup.json ? write_json : write_text)(&report);
		free(report.values);
		struct cairn_symbolize_scope scope = {view->samples, view->sample_count, view->value};
		struct cairn_bytes text = cairn_buffer_bytes(&out);
		cairn_source_note_unnamed(&series->profile, &unnamed, &scope, &text);
		code = cairn_say_text(own.setup.output, text, own.setup.json);
		cairn_buffer_free(&out);
	}
	cairn_symbolize_report_free(&unnamed);
	cairn_judged_series_free(&work.judged);
	return code;
}

const struct cairn_command cairn_command_leaks = {
	.name = "leaks",
	.has_setup = true,
	.summary = "find call paths that keep growing, with rate and confidence",
	.arguments = "SOURCE...",
	.detail = "SOURCE is a process, a folder of dumps of one service, or the dumps themselves. Needs at least three dumps, or\n"
		  "one of Cairn's own engine, which knows the ages of objects. Of a process it takes the dumps that it needs.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.run = run,
};
