/* timeline.c - `cairn timeline`: memory by call path over time, as a picture or as a page in which a range can be selected.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/timeline/history.h"
#include "cmd/view.h"
#include "live/source_series.h"
#include "page/series.h"
#include "report/head.h"
#include "series/timeline.h"
#include "series/words.h"

#include <assert.h>
#include <math.h>
#include <strings.h>
#include <unistd.h>

struct options {
	struct cairn_view_setup setup;
	const char *format;
	const char *title;
	uint64_t limit;
	uint64_t node_most;
	bool history;
	const char *last;
};

enum { default_layers = 8, least_dumps = 2 };

#define AT(member) offsetof(struct options, member)

static const struct cairn_option table[] = {
	{0, "format", "NAME",
	 "html, svg, json, or text for a history (default: by the output's extension, else html; a terminal gets text)", CAIRN_OPTION_TEXT,
	 AT(format), 0, (const char *const[]){"html", "svg", "json", "text", NULL}},
	{0, "json", NULL, "print one JSON object instead of a picture; see doc/formats.md", CAIRN_OPTION_FLAG, AT(setup.json), 0},
	{0, "title", "TEXT", "the heading (default: the process)", CAIRN_OPTION_TEXT, AT(title), 0},
	{'n', "layers", "N", "show the N largest call paths as layers; 0 shows all (default: 8)", CAIRN_OPTION_COUNT,
	 AT(setup.shape.node_count), 0},
	{0, "rows", "N", NULL, CAIRN_OPTION_COUNT, AT(setup.shape.node_count), 0},
	{0, "nodecount", "N", NULL, CAIRN_OPTION_COUNT, AT(setup.shape.node_count), 0},
	{0, "limit", "SIZE", "the memory limit (default: as recorded in the dumps)", CAIRN_OPTION_SIZE, AT(limit), 0},
	{0, "history", NULL,
	 "show what the ledger of a process that ended recorded each second (default for a dump of a last moment or a ledger)",
	 CAIRN_OPTION_FLAG, AT(history), 0},
	{0, "last", "TIME", "with a history: show this much time before the end (default: 1h)", CAIRN_OPTION_TEXT, AT(last), 0},
	{0, "nodes", "N", "keep the N largest nodes of the call tree in the page", CAIRN_OPTION_COUNT, AT(node_most), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"picture", table, 0},
	CAIRN_VIEW_GROUPS,
	{0},
};

static const struct cairn_option_refusal refusals[] = {
	CAIRN_SERIES_REFUSALS("'cairn timeline' compares the dumps of a series with each other; "
			      "--base, --normalize, --sum and --tree work with 'cairn top'"),
	{"drop-negative", NULL},
	{0},
};

enum format {
	format_html = CAIRN_HISTORY_HTML,
	format_svg = CAIRN_HISTORY_SVG,
	format_json = CAIRN_HISTORY_JSON,
	format_text = CAIRN_HISTORY_TEXT
};

static bool find_format(const struct options *options, enum format *format, struct cairn_error *error)
{
	static const char *const names[] = {[format_html] = "html", [format_svg] = "svg", [format_json] = "json", [format_text] = "text"};
	static_assert(sizeof names / sizeof *names == format_text + 1, "every format has a name");
	const char *name = options->setup.json ? "json" : options->format;
	if (!name && options->setup.output) {
		const char *point = strrchr(options->setup.output, '.');
		name = point && !strchr(point, '/') ? point + 1 : NULL;
		name = name && strcasecmp(name, "txt") == 0 ? "text" : name;
	}
	if (!name && !options->setup.output && isatty(STDOUT_FILENO))
		name = "text";
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcasecmp(name ? name : "html", names[i]) == 0) {
			*format = (enum format)i;
			return true;
		}
	return cairn_fail_usage(error, "unknown picture format '%s'; use --format with html, svg, json or text", name);
}

/* JSON. */

static void values_json(const struct cairn_timeline *timeline, struct cairn_json *json, const struct cairn_series_value *values)
{
	size_t points = timeline->series->point_count;
	cairn_json_open(json, "values", '[');
	for (size_t i = 0; i < points; i++)
		cairn_json_number(json, NULL, round(values[i].value));
	cairn_json_close(json, ']');
	for (int high = 0; high < 2 && timeline->view->options.errors; high++) {
		cairn_json_open(json, high ? "high" : "low", '[');
		for (size_t i = 0; i < points; i++) {
			struct cairn_interval interval = cairn_series_interval(timeline->series, &values[i]);
			cairn_json_number(json, NULL, round(high ? interval.high : interval.low));
		}
		cairn_json_close(json, ']');
	}
}

static void known_json(struct cairn_json *json, const char *key, double value)
{
	if (value > 0)
		cairn_json_number(json, key, value);
	else
		cairn_json_null(json, key);
}

static void points_json(const struct cairn_timeline *timeline, double limit, struct cairn_json *json)
{
	cairn_json_open(json, "dumps", '[');
	for (size_t i = 0; i < timeline->series->point_count; i++) {
		const struct cairn_series_point *point = &timeline->series->points[i];
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "file", cairn_bytes_of(point->path));
		cairn_json_number(json, "time", (double)point->origin.time_ns / 1e9);
		cairn_json_integer(json, "run", point->process);
		cairn_json_integer(json, "pid", (int64_t)point->origin.process_id);
		known_json(json, "resident", point->resident);
		known_json(json, "free", point->free);
		known_json(json, "returnable", point->returnable);
		known_json(json, "limit", cairn_timeline_limit(timeline, i, limit));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

static void layer_json(const struct cairn_timeline *timeline, const struct cairn_timeline_layer *layer, struct cairn_json *json)
{
	cairn_json_open(json, NULL, '{');
	cairn_json_text(json, "name", layer->name);
	cairn_json_text(json, "verdict", cairn_bytes_of(cairn_verdict_name(layer->trend.verdict)));
	struct cairn_buffer words = cairn_buffer(SIZE_MAX);
	double hours = cairn_series_hours(timeline->series, timeline->series->point_count - 1);
	cairn_words_trend(&layer->trend, hours, timeline->view, &(struct cairn_shape){0}, &words);
	cairn_json_text(json, "words", cairn_buffer_bytes(&words));
	cairn_buffer_free(&words);
	cairn_json_number(json, "confidence", layer->trend.confidence);
	cairn_json_number(json, "bytes_per_hour", layer->trend.per_hour);
	cairn_json_number(json, "since_hours", layer->trend.since);
	cairn_json_open(json, "stack", '[');
	for (size_t d = 0; layer->path != CAIRN_NONE && d < timeline->paths.paths.items[layer->path].depth; d++)
		cairn_json_text(json, NULL, cairn_series_paths_name(&timeline->paths, timeline->view, layer->path, d));
	cairn_json_close(json, ']');
	values_json(timeline, json, layer->values);
	cairn_json_close(json, '}');
}

static void write_json(const struct cairn_timeline *timeline, double limit, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	const struct cairn_profile *profile = timeline->view->profile;
	cairn_json_text(&json, "process", cairn_strings_bytes(&profile->strings, profile->facts.process));
	cairn_json_text(&json, "type", cairn_bytes_of(cairn_head_type(timeline->view)));
	cairn_json_text(&json, "unit", cairn_strings_bytes(&profile->strings, profile->value_types[timeline->view->value].unit));
	points_json(timeline, limit, &json);
	cairn_json_open(&json, "total", '{');
	values_json(timeline, &json, timeline->totals);
	cairn_json_close(&json, '}');
	cairn_json_open(&json, "layers", '[');
	for (size_t layer = timeline->layer_count; layer-- > 0;)
		layer_json(timeline, &timeline->layers[layer], &json);
	cairn_json_close(&json, ']');
	cairn_json_end(&json);
}

/* At most this many layers; JSON has no more than a picture by default, because the rest is in it as a sum. */
static size_t layer_count(const struct options *options)
{
	struct cairn_view_setup setup = options->setup;
	setup.json = false;
	uint64_t count = cairn_view_shape(&setup, default_layers, 0, 0).node_count;
	return count == 0 || count > UINT32_MAX ? UINT32_MAX : (size_t)count;
}

/* Shows the history of one dump. *FOUND is false if several dumps are to be shown. */
static bool show_history(const struct options *options, enum format format, int count, char **names, bool *found, struct cairn_error *error)
{
	struct cairn_history_ask ask = {.required = options->history, .last_ns = CAIRN_HOUR_NS, .title = options->title,
					.format = (enum cairn_history_format)format};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	*found = false;
	if (options->last && (!cairn_text_duration(options->last, &ask.last_ns) || ask.last_ns <= 0))
		return cairn_fail_usage(error, "--last takes a time such as 30s, 10m or 2h, not '%.40s'", options->last);
	bool good = cairn_timeline_history(&ask, &options->setup.source, count, names, found, &out, error);
	if (good && *found)
		good = cairn_say_output(options->setup.output, cairn_buffer_bytes(&out)) == CAIRN_EXIT_DONE;
	cairn_buffer_free(&out);
	return good;
}

static int run(const void *values, int operand_count, char **operands)
{
	struct options own = *(const struct options *)values;
	const struct options *options = &own;
	struct cairn_error error;
	struct cairn_series series = {0};
	struct cairn_view view = {0};
	enum format format = format_html;
	if (!find_format(options, &format, &error) || !cairn_view_check_filters(&options->setup, &error) ||
	    ((format == format_html || format == format_svg) && !options->setup.output && isatty(STDOUT_FILENO) &&
	     !cairn_fail_usage(&error, "'cairn timeline' does not write pictures to a terminal; name a file with -o")))
		return cairn_say_failure(&error);
	own.setup.view.fold_wrappers = true; /* as on every page, and in `cairn leaks` */
	own.setup.source.with_freed = cairn_view_is_whole(&own.setup); /* ages count as in `cairn leaks` */
	cairn_view_split_labels(&own.setup.source, &own.setup.view.filter);
	int code;
	bool found;
	if (!show_history(options, format, operand_count, operands, &found, &error))
		return found ? CAIRN_EXIT_FAILED : cairn_say_failure(&error);
	if (found)
		return CAIRN_EXIT_DONE;
	own.setup.source.listed_before = true;
	if (format == format_text) {
		cairn_fail_usage(&error,
				 "several dumps are drawn: name a file that ends in .html, .svg or .json with -o; as text there is the "
				 "history of one dump (--history), and 'cairn leaks' for several");
		return cairn_say_failure(&error);
	}
	if (!cairn_source_series(&series, &options->setup.source, &options->setup.view, least_dumps, least_dumps, operand_count, operands,
				 &error) ||
	    !cairn_view_make(&view, &series.profile, &options->setup.view, &error)) {
		code = cairn_say_failure(&error);
	} else {
		struct cairn_timeline timeline;
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		cairn_timeline_make(&timeline, &series, &view, NULL, layer_count(options));
		if (format == format_json)
			write_json(&timeline, (double)options->limit, &out);
		else if (format == format_svg)
			cairn_timeline_svg(&timeline,
					   &(struct cairn_timeline_svg_options){.title = options->title, .limit = (double)options->limit},
					   &out);
		else
			cairn_page_write_timeline(
				&view, &timeline,
				&(struct cairn_page_timeline_options){options->title, (size_t)options->node_most, (double)options->limit},
				&out);
		code = cairn_say_output(options->setup.output, cairn_buffer_bytes(&out));
		cairn_buffer_free(&out);
		cairn_timeline_free(&timeline);
	}
	cairn_view_free(&view);
	cairn_series_free(&series);
	return code;
}

const struct cairn_command cairn_command_timeline = {
	.name = "timeline",
	.has_setup = true,
	.summary = "chart memory by call path over time, as a page or a picture",
	.arguments = "SOURCE...",
	.detail = "SOURCE is a folder of dumps of one service, or the dumps themselves. Needs at least two dumps,\n"
		  "or one of the last moment of a process, which has a history of its own. "
		  "On the page (out.html), choose a range with\n"
		  "the mouse or keyboard to see what grew in it; out.svg is the chart alone.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.run = run,
};
