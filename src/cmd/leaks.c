/* leaks.c - `cairn leaks`: which call paths keep growing, how fast, how sure.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/series.h"
#include "cmd/view.h"
#include "series/leaks.h"

#include <math.h>
#include <stdio.h>

enum { default_rows = 10, shown_callers = 5, least_dumps = 3 };

struct options {
	struct cairn_source_options source;
	struct cairn_view_options view;
	uint64_t rows;
	uint64_t limit;
	bool json;
};

static const struct cairn_option table[] = {
	{'n', "rows", "N", "show N call paths (10 unless told)", CAIRN_OPTION_COUNT, offsetof(struct options, rows), 0},
	{0, "limit", "SIZE", "the memory limit, to tell when it will be reached", CAIRN_OPTION_SIZE, offsetof(struct options, limit), 0},
	{0, "json", NULL, "one JSON object instead of a table", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"what is shown", cairn_view_option_table, offsetof(struct options, view)},
	{"sources", cairn_source_option_table, offsetof(struct options, source)},
	{0},
};

static struct cairn_bytes entry_name(const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_leak *leak, size_t depth)
{
	const struct cairn_path *path = &leaks->paths.items[leak->path];
	return depth < path->depth ? cairn_view_name(view, leaks->paths.entries[path->first + depth]) : cairn_bytes_of("[no stack]");
}

/* "3.5 hours", "40 minutes", "6.2 seconds". */
static const char *duration(double hours, char *out, size_t size)
{
	double minutes = hours * 60, seconds = minutes * 60;
	if (hours >= 48)
		snprintf(out, size, "%.1f days", hours / 24);
	else if (hours >= 1)
		snprintf(out, size, "%.1f hours", hours);
	else if (minutes >= 1)
		snprintf(out, size, "%.1f minutes", minutes);
	else
		snprintf(out, size, "%.1f seconds", seconds);
	return out;
}

/* Hours until the limit at the present rate; negative when never. */
static double hours_left(const struct cairn_leaks *leaks, const struct cairn_series *series, uint64_t limit)
{
	double now = series->points[series->point_count - 1].total;
	return limit && leaks->per_hour > 0 ? fmax(0, ((double)limit - now) / leaks->per_hour) : -1;
}

static void write_summary(const struct cairn_leaks *leaks, const struct cairn_series *series, uint64_t limit, struct cairn_buffer *out)
{
	char text[24], time[32];
	const struct cairn_profile *profile = &series->profile;
	uint32_t runs = series->points[series->point_count - 1].run + 1;
	cairn_buffer_format(out, "%s, %zu dumps over %s", profile->process ? cairn_profile_string(profile, profile->process) : "unknown process",
			    series->point_count, duration(leaks->hours, time, sizeof time));
	if (runs > 1)
		cairn_buffer_format(out, ", %u runs", runs);
	cairn_buffer_format(out, ", %s now\n", cairn_text_human(series->points[series->point_count - 1].total, text));
	if (leaks->growing == 0)
		cairn_buffer_format(out, "nothing keeps growing among %zu call paths\n", leaks->count);
	else
		cairn_buffer_format(out, "%zu of %zu call paths %s growing, by %s an hour together\n", leaks->growing, leaks->count,
				    leaks->growing == 1 ? "keeps" : "keep", cairn_text_human(leaks->per_hour, text));
	double left = hours_left(leaks, series, limit);
	if (left >= 0)
		cairn_buffer_format(out, "at this rate the limit of %s is reached in %s\n", cairn_text_human((double)limit, text), duration(left, time, sizeof time));
	cairn_buffer_byte(out, '\n');
}

static void write_row(const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_leak *leak, struct cairn_buffer *out)
{
	char rate[24], now[24];
	struct cairn_bytes name = entry_name(leaks, view, leak, 0);
	cairn_buffer_format(out, "%11s/h %6.1f%% %11s  %-9s %6.2f%%  ", cairn_text_human(leak->trend.per_hour, rate), 100 * leak->share,
			    cairn_text_human(leak->now, now), cairn_verdict_name(leak->trend.verdict), 100 * leak->trend.confidence);
	cairn_buffer_append(out, name.data, name.length);
	cairn_buffer_byte(out, '\n');
	size_t depth = leaks->paths.items[leak->path].depth;
	for (size_t d = 1; d < depth && d <= shown_callers; d++) {
		name = entry_name(leaks, view, leak, d);
		cairn_buffer_format(out, "%54s", "");
		cairn_buffer_append(out, name.data, name.length);
		cairn_buffer_byte(out, '\n');
	}
	if (depth > shown_callers + 1)
		cairn_buffer_format(out, "%54s… %zu more\n", "", depth - shown_callers - 1);
}

static void write_text(const struct cairn_leaks *leaks, const struct cairn_series *series, const struct cairn_view *view, const struct options *options,
		       struct cairn_buffer *out)
{
	size_t rows = options->rows ? (size_t)options->rows : default_rows;
	write_summary(leaks, series, options->limit, out);
	cairn_buffer_format(out, "%13s %7s %11s  %-9s %7s  %s\n", "rate", "share", "now", "verdict", "sure", "call path");
	for (size_t i = 0; i < leaks->count && i < rows; i++)
		write_row(leaks, view, &leaks->rows[i], out);
}

static void write_json(const struct cairn_leaks *leaks, const struct cairn_series *series, const struct cairn_view *view, const struct options *options,
		       struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	const struct cairn_profile *profile = &series->profile;
	size_t rows = options->rows ? (size_t)options->rows : leaks->count;
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "process", cairn_strings_bytes(&profile->strings, profile->process));
	cairn_json_integer(&json, "dumps", (int64_t)series->point_count);
	cairn_json_integer(&json, "runs", series->points[series->point_count - 1].run + 1);
	cairn_json_number(&json, "hours", leaks->hours);
	cairn_json_number(&json, "total", trunc(series->points[series->point_count - 1].total));
	cairn_json_number(&json, "bytes_per_hour", leaks->per_hour);
	cairn_json_text(&json, "verdict", cairn_bytes_of(cairn_verdict_name(leaks->total.verdict)));
	double left = hours_left(leaks, series, options->limit);
	if (left >= 0)
		cairn_json_number(&json, "hours_to_limit", left);
	cairn_json_open(&json, "rows", '[');
	for (size_t i = 0; i < leaks->count && i < rows; i++) {
		const struct cairn_leak *leak = &leaks->rows[i];
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "name", entry_name(leaks, view, leak, 0));
		cairn_json_number(&json, "bytes_per_hour", leak->trend.per_hour);
		cairn_json_number(&json, "error", leak->trend.error);
		cairn_json_number(&json, "share", leak->share);
		cairn_json_text(&json, "verdict", cairn_bytes_of(cairn_verdict_name(leak->trend.verdict)));
		cairn_json_number(&json, "confidence", leak->trend.confidence);
		cairn_json_bool(&json, "warmed_up", leak->trend.warmed_up);
		cairn_json_number(&json, "now", trunc(leak->now));
		cairn_json_open(&json, "stack", '[');
		for (size_t d = 0; d < leaks->paths.items[leak->path].depth; d++)
			cairn_json_text(&json, NULL, entry_name(leaks, view, leak, d));
		cairn_json_close(&json, ']');
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
}

static int run(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_series series;
	struct cairn_view view = {0};
	int code;
	if (!cairn_source_series(&series, &options->source, least_dumps, operand_count, operands, &error) ||
	    !cairn_view_make(&view, &series.profile, &options->view, &error)) {
		code = cairn_say_error(error.text);
	} else {
		struct cairn_leaks leaks;
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		cairn_leaks_rank(&leaks, &series, &view);
		(options->json ? write_json : write_text)(&leaks, &series, &view, options, &out);
		code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
		cairn_buffer_free(&out);
		cairn_leaks_free(&leaks);
	}
	cairn_view_free(&view);
	cairn_series_free(&series);
	return code;
}

const struct cairn_command cairn_command_leaks = {
	.name = "leaks",
	.summary = "which call paths keep growing, how fast, how sure",
	.arguments = "SOURCE...",
	.detail = "SOURCE is a folder of dumps of one service, or the dumps themselves; three at least.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
