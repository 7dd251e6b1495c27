/* leaks.c - `cairn leaks`: which call paths keep growing, how fast, how sure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/series.h"
#include "cmd/view.h"
#include "report/head.h"
#include "series/onset.h"
#include "series/words.h"
#include "symbol/live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { default_rows = 10, shown_callers = 5, least_dumps = 3 };

struct options {
	struct cairn_view_setup setup;
	uint64_t limit;
};

static const struct cairn_option table[] = {
	{'n', "rows", "N", "show N call paths; 0 shows all (default: 10)", CAIRN_OPTION_COUNT,
	 offsetof(struct options, setup.shape.node_count), 0},
	{0, "nodecount", "N", NULL, CAIRN_OPTION_COUNT, offsetof(struct options, setup.shape.node_count), 0},
	{0, "limit", "SIZE", "forecast when SIZE is reached (default: the limit recorded in the dumps)",
	 CAIRN_OPTION_SIZE, offsetof(struct options, limit), 0},
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

/* A memory limit and its origin: TITLE for a sentence that continues with "of 4.0 GiB", KIND for scripts. */
struct limit {
	double bytes; /* 0 when none is known */
	const char *kind, *title;
};

static struct limit limit_of(const struct options *options, const struct cairn_series_point *last)
{
	if (options->limit)
		return (struct limit){(double)options->limit, "option", "the --limit"};
	if (last->limit_of_group)
		return (struct limit){last->limit, "cgroup", "the control group's limit"};
	return (struct limit){last->limit, "machine", "the machine's memory"};
}

struct report {
	const struct options *options;
	const struct cairn_series *series;
	const struct cairn_leaks *leaks;
	const struct cairn_view *view;
	const struct cairn_series_point *last;
	struct limit limit;
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

/* Hours until the limit at RATE; negative for never, and for a process that has ended unless --limit is given. */
static double hours_at(const struct report *report, double rate)
{
	if (!cairn_view_in_bytes(report->view) || (!report->options->limit && cairn_live_is_over(&report->series->profile)))
		return -1;
	return cairn_leaks_hours_left(report->leaks, report->last, report->limit.bytes, rate);
}

static double hours_left(const struct report *report)
{
	return hours_at(report, report->leaks->forecast_per_hour);
}

/* The earliest and the latest time that the rate's error allows; the latter is negative if it may be never. */
static struct cairn_interval hours_between(const struct report *report)
{
	struct cairn_interval rate = around(report->leaks->forecast_per_hour, report->leaks->forecast_error);
	return (struct cairn_interval){hours_at(report, rate.high), hours_at(report, rate.low)};
}

static void write_limit(const struct report *report)
{
	char text[32], time[32], soonest[32], latest[32];
	double left = hours_left(report);
	if (left < 0)
		return;
	struct cairn_interval between = hours_between(report);
	cairn_text_human(report->limit.bytes, text);
	if (left == 0)
		cairn_buffer_format(report->out, "%s of %s is already reached\n", report->limit.title, text);
	else
		cairn_buffer_format(report->out, "at this rate %s of %s is reached in %s (95 %%: %s to %s)\n", report->limit.title, text,
				    cairn_words_duration(left, time, sizeof time),
				    cairn_words_duration(between.low, soonest, sizeof soonest),
				    between.high < 0 ? "never" : cairn_words_duration(between.high, latest, sizeof latest));
	double used = cairn_leaks_used(report->last, report->limit.bytes);
	if (report->last->resident > 0 && used > report->last->resident)
		cairn_buffer_format(report->out, "the processes of its control group use %s of that, this one %s\n",
				    cairn_text_human(used, text), cairn_text_human(report->last->resident, time));
}

/* Dumps that somebody takes by hand follow each other within seconds. */
enum { short_seconds = 2, hours_of_day = 24 };

static void write_coverage(const struct report *report)
{
	char text[160];
	struct cairn_coverage coverage = cairn_onset_coverage(report->last);
	if (cairn_coverage_text(&coverage, text, sizeof text))
		cairn_buffer_format(report->out, "%s\n", text);
}

static void write_summary(const struct report *report)
{
	char text[32], time[32];
	const struct cairn_leaks *leaks = report->leaks;
	const struct cairn_profile *profile = &report->series->profile;
	struct cairn_buffer *out = report->out;
	bool brief = leaks->observed_hours == 0 && leaks->hours * 3600 < short_seconds;
	cairn_words_leaks(leaks, report->view, &report->options->setup.shape, out);
	if (brief && leaks->growing == 0)
		cairn_buffer_text(out, ", but the dumps are too close together to show a slow leak: take them further apart");
	cairn_buffer_byte(out, '\n');
	if (report->last->ended[0]) {
		cairn_buffer_text(out, "the last dump shows the last moment of the process: ");
		cairn_utf8_show(out, cairn_bytes_of(report->last->ended));
		cairn_buffer_byte(out, '\n');
	}
	cairn_utf8_show(out,
			profile->process ? cairn_strings_bytes(&profile->strings, profile->process) : cairn_bytes_of("unknown process"));
	if (report->series->point_count > 1)
		cairn_buffer_format(out, ", %zu dumps over %s", report->series->point_count,
				    cairn_words_duration(leaks->hours, time, sizeof time));
	else
		cairn_buffer_format(out, ", 1 dump after %s", cairn_words_duration(leaks->observed_hours, time, sizeof time));
	if (report->last->process > 0)
		cairn_buffer_format(out, ", %u runs", report->last->process + 1);
	cairn_buffer_format(out, ", %s now\n", number(report, leaks->now.value, text));
	write_coverage(report);
	if (leaks->observed_hours > 0 && !(leaks->longest_hours > 0)) {
		cairn_buffer_text(out, "too few objects were freed to know how long objects live\n");
	} else if (leaks->observed_hours > 0) {
		bool short_lived = leaks->longest_hours * 3600 < 0.1;
		cairn_buffer_format(out, "ages of live objects count%s; ordinary objects live %s %s\n",
				    report->series->point_count >= least_dumps ? " too" : "",
				    short_lived ? "for" : "up to about",
				    cairn_words_duration(leaks->longest_hours, time, sizeof time));
	}
	if (report->series->point_count > 1 && leaks->hours < hours_of_day && !brief)
		cairn_buffer_text(out, "the dumps span less than a day: a daily rhythm may look like growth\n");
	write_limit(report);
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
	char rate[32], now[32], rate_errors[CAIRN_INTERVAL_TEXT], now_errors[CAIRN_INTERVAL_TEXT];
	struct cairn_buffer *out = report->out;
	struct cairn_bytes name = cairn_leak_title(report->leaks, report->view, leak);
	char sure[16] = ""; /* what is not decided has no confidence */
	size_t start = out->length, depth = cairn_leak_depth(report->leaks, leak);
	if (leak->trend.verdict != CAIRN_TOO_EARLY)
		snprintf(sure, sizeof sure, "%.2f%%", 100 * leak->trend.confidence);
	cairn_buffer_format(out, "%11s/h%s %6.1f%% %11s%s  %-9s %7s  ", number(report, leak->trend.per_hour, rate),
			    interval_column(report, rate_interval(leak), rate_errors), 100 * leak->share,
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

static void write_text(const struct report *report)
{
	size_t rows = shown_rows(report);
	const char *errors = cairn_head_interval_title(report->view);
	write_summary(report);
	cairn_buffer_format(report->out, "%13s%s %7s %11s%s  %-9s %7s  %-*s  %s\n", "Rate", errors, "Share", "Live", errors, "Verdict",
			    "Sure", spark_width + 1, "Course", "Call path");
	for (size_t i = 0; i < report->leaks->count && i < rows; i++)
		write_row(report, &report->leaks->rows[i]);
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
	struct cairn_json json = cairn_json(report->out);
	const struct cairn_leaks *leaks = report->leaks;
	const struct cairn_profile *profile = &report->series->profile;
	size_t rows = shown_rows(report);
	struct cairn_buffer sentence = cairn_buffer(SIZE_MAX);
	cairn_words_leaks(leaks, report->view, &report->options->setup.shape, &sentence);
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "summary", cairn_buffer_bytes(&sentence));
	cairn_buffer_free(&sentence);
	cairn_json_text(&json, "process", cairn_strings_bytes(&profile->strings, profile->process));
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
	cairn_json_number(&json, "bytes_per_hour", leaks->forecast_per_hour);
	cairn_json_number(&json, "error", leaks->forecast_error);
	cairn_json_text(&json, "verdict", cairn_bytes_of(cairn_verdict_name(leaks->total.verdict)));
	if (report->limit.bytes > 0) {
		cairn_json_number(&json, "limit", report->limit.bytes);
		cairn_json_text(&json, "limit_kind", cairn_bytes_of(report->limit.kind));
	}
	double left = hours_left(report);
	if (left >= 0) {
		struct cairn_interval between = hours_between(report);
		cairn_json_number(&json, "hours_to_limit", left);
		cairn_json_number(&json, "hours_to_limit_low", between.low);
		cairn_json_number(&json, "hours_to_limit_high", between.high < 0 ? NAN : between.high);
	}
	cairn_json_open(&json, "rows", '[');
	for (size_t i = 0; i < leaks->count && i < rows; i++)
		row_json(report, &json, &leaks->rows[i]);
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(report->out, '\n');
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

static int run(const void *values, int operand_count, char **operands)
{
	struct options own = *(const struct options *)values;
	const struct options *options = &own;
	struct cairn_error error;
	struct cairn_series series = {0};
	struct cairn_view view = {0};
	struct cairn_symbolize_report unnamed = {0};
	int code;
	/* Ages are of what a dump holds as a whole: not of one thread, nor of a part by age or label, nor of slack and the like. */
	struct cairn_source_options *source = &own.setup.source;
	bool part = cairn_view_split_labels(source, &own.setup.view.filter);
	source->with_freed = !part && cairn_source_is_plain(source);
	source->unnamed = &unnamed;
	own.setup.view.fold_wrappers = true; /* what grows is called by the function that wanted the memory, as on every page */
	if (!find_format(&own.setup, &error) || !cairn_view_check_filters(&own.setup, &error) ||
	    !cairn_source_series(&series, source, &options->setup.view, least_dumps, 1, operand_count, operands, &error) ||
	    (series.profile.sample_count == 0 &&
	     !cairn_source_fail_empty(&series.profile, operand_count == 1 ? operands[0] : NULL, &error)) ||
	    !cairn_view_make(&view, &series.profile, &options->setup.view, &error)) {
		code = cairn_say_failure(&error);
	} else {
		struct cairn_leaks leaks;
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		cairn_leaks_rank(&leaks, &series, &view);
		const struct cairn_series_point *last = &series.points[series.point_count - 1];
		struct report report = {options, &series, &leaks, &view, last, limit_of(options, last), &out,
					cairn_array_zero(series.point_count, sizeof *report.values)};
		(options->setup.json ? write_json : write_text)(&report);
		free(report.values);
		struct cairn_symbolize_scope scope = {view.samples, view.sample_count, view.value};
		struct cairn_bytes text = cairn_buffer_bytes(&out);
		cairn_source_note_unnamed(&series.profile, &unnamed, &scope, &text);
		code = cairn_say_output(options->setup.output, text);
		cairn_buffer_free(&out);
		cairn_leaks_free(&leaks);
	}
	cairn_symbolize_report_free(&unnamed);
	cairn_view_free(&view);
	cairn_series_free(&series);
	return code;
}

const struct cairn_command cairn_command_leaks = {
	.name = "leaks",
	.has_setup = true,
	.summary = "find call paths that keep growing, with rate and confidence",
	.arguments = "SOURCE...",
	.detail = "SOURCE is a folder of dumps of one service, or the dumps themselves. Needs at least three dumps, or one\n"
		  "of Cairn's own engine, which knows the ages of objects.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.run = run,
};
