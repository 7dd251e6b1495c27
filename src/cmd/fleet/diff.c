/* diff.c - `cairn fleet diff`: what an instance of one release holds more of than one of another, with the scatter of instances as error
 * bars.
 *
 * Instances with more to do hold more. So what an instance holds is divided by its load and multiplied by the mean load of all: what it
 * would hold at that. The load is how fast it allocates, or a label with a number.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "cmd/shared_options.h"
#include "http/request.h"
#include "profile/combine.h"
#include "report/top.h"
#include "series/contrast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char by_allocations[] = "allocations", by_nothing[] = "none";
enum { points_most = 12 };

#define AT(member) offsetof(struct cairn_fleet_diff_options, member)

static const struct cairn_option own_table[] = {
	{0, "load", "WHAT", "normalize by load: allocations, none, or a numeric label (default: allocations if all snapshots count them)",
	 CAIRN_OPTION_TEXT, AT(load), 0},
	{0, "cum", NULL, "compare cumulative sizes (Total)", CAIRN_OPTION_FLAG, AT(cum), 0},
	{'n', "rows", "N", "show at most N rows (default: 10, in JSON all; 0: all)", CAIRN_OPTION_TEXT, AT(answer.rows), 0},
	{0, "nodecount", "N", NULL, CAIRN_OPTION_TEXT, AT(answer.rows), 0},
	{0, "json", NULL, "print JSON", CAIRN_OPTION_FLAG, AT(answer.json), 0},
	{0},
};

const struct cairn_option_group cairn_fleet_diff_groups[] = {
	{NULL, own_table, 0},
	{"selection", cairn_fleet_option_table, AT(answer.fleet)},
	{0},
};

/* What one instance holds, averaged over time. */
struct held {
	int group;
	double load; /* 0 where it is not known */
	double total;
	struct held_row {
		uint32_t name;
		double value;
	} *rows;
	size_t count;
};

struct comparison {
	struct cairn_strings names;
	struct held *instances;
	size_t count, room;
	const char *load; /* how it was divided */
	bool cum;
};

/* The average of snapshots, and how much was allocated by the first and the last of them. */
struct average {
	struct cairn_combine combine;
	double factor;
	double first, last; /* bytes allocated so far; negative where that is not known */
	bool any;
};

static bool add_profile(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	struct average *average = context;
	uint32_t value = cairn_profile_find_value(profile, "alloc_space");
	average->last = value == CAIRN_NONE ? -1 : cairn_profile_total(profile, value);
	if (!average->any)
		average->first = average->last;
	average->any = true;
	return cairn_combine_add(&average->combine, profile, average->factor, error);
}

static void take_rows(struct comparison *comparison, struct held *held, struct cairn_view *view)
{
	struct cairn_top top;
	cairn_top_make(&top, view, &(struct cairn_shape){.by_cum = comparison->cum});
	held->rows = cairn_array_new(top.count, sizeof *held->rows);
	for (size_t i = 0; i < top.count; i++) {
		double value = comparison->cum ? top.rows[i].cum : top.rows[i].flat;
		held->total += top.rows[i].flat;
		if (value != 0)
			held->rows[held->count++] = (struct held_row){
				cairn_strings_add(&comparison->names, cairn_view_name(view, top.rows[i].entry)), value};
	}
	cairn_top_free(&top);
}

/* How fast PROCESS allocates, or what its label says; 0 where neither is known. */
static double load_of(const struct cairn_store_process *process, const struct average *average, double seconds, const char *load)
{
	char text[64], *end;
	if (strcmp(load, by_allocations) == 0)
		return average->first >= 0 && average->last > average->first && seconds > 0 ? (average->last - average->first) / seconds
											    : 0;
	if (!cairn_query_get(process->labels, load, text, sizeof text))
		return 0;
	double value = strtod(text, &end);
	return end != text && !*end && isfinite(value) && value > 0 ? value : 0;
}

static bool read_instance(struct cairn_store *store, const struct cairn_store_process *process, const char *load,
			  struct comparison *comparison, struct held *held, struct cairn_error *error)
{
	struct cairn_profile profile;
	struct cairn_view view = {0};
	struct cairn_view_options options = {.fold_wrappers = true};
	size_t wanted[points_most], count = cairn_store_choose_points(process, points_most, wanted);
	struct average average = {.factor = 1 / (double)count};
	cairn_profile_init(&profile);
	cairn_combine_start(&average.combine, &profile);
	bool good = cairn_store_profiles(store, process, wanted, count, add_profile, &average, error);
	cairn_combine_finish(&average.combine);
	uint32_t value = cairn_profile_find_value(&profile, "inuse_space");
	if (good && profile.sample_count > 0 && value != CAIRN_NONE) {
		profile.default_value = value;
		good = cairn_view_make(&view, &profile, &options, error);
		if (good)
			take_rows(comparison, held, &view);
	}
	double seconds = (double)(process->points[wanted[count - 1]].time_ns - process->points[wanted[0]].time_ns) / 1e9;
	held->load = load_of(process, &average, seconds, load);
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	return good;
}

/* Chooses the load to divide by: ASKED, which every instance must have, or by default the allocations if all instances count them. Stores
 * the mean load in *MEAN, 1 for none. */
static bool settle_load(struct comparison *comparison, const struct cairn_store_processes *processes, const char *asked, double *mean,
			struct cairn_error *error)
{
	double sum = 0;
	*mean = 1;
	comparison->load = by_nothing;
	if (asked && strcmp(asked, by_nothing) == 0)
		return true;
	for (size_t i = 0; i < comparison->count; i++) {
		if (comparison->instances[i].load <= 0 && asked)
			return cairn_fail(error,
					  strcmp(asked, by_allocations) == 0 ? "%s:%llu has fewer than two snapshots in that time that "
									       "count allocations (jemalloc: prof_accum:true)"
									     : "%s:%llu has no number in the label '%.60s'",
					  processes->items[i].host, (unsigned long long)processes->items[i].pid, asked);
		if (comparison->instances[i].load <= 0)
			return true;
		sum += comparison->instances[i].load;
	}
	*mean = sum / (double)comparison->count;
	comparison->load = asked ? asked : by_allocations;
	return true;
}

static bool compare(struct cairn_store *store, struct cairn_store_processes *processes, const char *after,
		    const struct cairn_fleet_diff_options *options, struct comparison *comparison, struct cairn_contrast *contrast,
		    struct cairn_error *error)
{
	const char *load = options->load ? options->load : by_allocations;
	double mean;
	comparison->cum = options->cum;
	comparison->instances = cairn_array_zero(processes->count, sizeof *comparison->instances);
	comparison->room = processes->count;
	for (; comparison->count < processes->count; comparison->count++) {
		struct held *held = &comparison->instances[comparison->count];
		held->group = strcmp(processes->items[comparison->count].version, after) == 0;
		if (!read_instance(store, &processes->items[comparison->count], load, comparison, held, error))
			return false;
	}
	if (!settle_load(comparison, processes, options->load, &mean, error))
		return false;
	for (size_t i = 0; i < comparison->count; i++) {
		const struct held *held = &comparison->instances[i];
		double factor = comparison->load == by_nothing ? 1 : mean / held->load;
		cairn_contrast_instance(contrast, held->group, held->total * factor);
		for (size_t k = 0; k < held->count; k++)
			cairn_contrast_add(contrast, held->group, cairn_strings_bytes(&comparison->names, held->rows[k].name),
					   held->rows[k].value * factor);
	}
	cairn_contrast_finish(contrast);
	return true;
}

struct writing {
	const struct cairn_contrast *contrast;
	bool cumulative;
};

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct cairn_contrast_row *row = item;
	const struct writing *writing = context;
	char low[24], high[24], interval[64] = "";
	if (!isnan(row->low))
		snprintf(interval, sizeof interval, "%11s to %-11s", cairn_text_human(row->low, low), cairn_text_human(row->high, high));
	cairn_table_bytes(table, "before", "Before", 11, row->before);
	cairn_table_bytes(table, "after", "After", 11, row->after);
	cairn_table_bytes(table, "change", "Change", 11, row->change);
	cairn_table_bytes(table, "low", NULL, 0, row->low);
	cairn_table_bytes(table, "high", NULL, 0, row->high);
	cairn_table_string(table, NULL, "95 % interval", 27, interval);
	cairn_table_flag(table, "noise", !cairn_contrast_differs(row));
	cairn_table_string(table, NULL, "", 1, table->head || cairn_contrast_differs(row) ? "" : "~");
	if (row == &writing->contrast->total)
		cairn_table_string(table, NULL, "", 0, "everything");
	else
		cairn_table_text(table, "name", writing->cumulative ? "Function (cumulative)" : "Function", 0,
				 table->head ? (struct cairn_bytes){"", 0} : cairn_strings_bytes(&writing->contrast->names, row->name));
}

static void write_head(const struct comparison *comparison, const struct cairn_contrast *contrast, const char *before, const char *after,
		       struct cairn_buffer *out)
{
	cairn_buffer_text(out, "what an instance holds on average over the time asked for: release ");
	cairn_utf8_show(out, cairn_bytes_of(after));
	cairn_buffer_format(out, " (%zu instance%s) against ", contrast->instances[1], contrast->instances[1] == 1 ? "" : "s");
	cairn_utf8_show(out, cairn_bytes_of(before));
	cairn_buffer_format(out, " (%zu)", contrast->instances[0]);
	if (comparison->load == by_nothing)
		cairn_buffer_text(out, ", not scaled to their load");
	else if (strcmp(comparison->load, by_allocations) == 0)
		cairn_buffer_text(out, ", scaled to the same rate of allocation");
	else {
		cairn_buffer_text(out, ", scaled to the same value of the label ");
		cairn_utf8_show(out, cairn_bytes_of(comparison->load));
	}
	cairn_buffer_text(out, "\n\n");
}

static void write_json_head(const struct comparison *comparison, const struct cairn_contrast *contrast, const char *before,
			    const char *after, struct cairn_json *json)
{
	for (int group = 0; group < 2; group++) {
		cairn_json_open(json, group ? "after" : "before", '{');
		cairn_json_text(json, "version", cairn_bytes_of(group ? after : before));
		cairn_json_integer(json, "instances", (int64_t)contrast->instances[group]);
		cairn_json_close(json, '}');
	}
	cairn_json_text(json, "load", cairn_bytes_of(comparison->load));
}

static void write_answer(const struct comparison *comparison, const struct cairn_contrast *contrast, size_t rows, const char *before,
			 const char *after, bool as_json, struct cairn_buffer *out)
{
	struct cairn_fleet_answer_table answer;
	cairn_fleet_answer_table(&answer, as_json, out);
	struct writing writing = {contrast, comparison->cum};
	if (as_json)
		write_json_head(comparison, contrast, before, after, &answer.json);
	else
		write_head(comparison, contrast, before, after, out);
	cairn_table_head(&answer.table, columns, &writing, sizeof contrast->total);
	if (as_json)
		cairn_json_open(&answer.json, "total", '{');
	else
		answer.table.start = out->length;
	columns(&answer.table, &writing, &contrast->total);
	cairn_table_close(&answer.table, '}');
	if (!as_json)
		cairn_buffer_byte(out, '\n');
	cairn_table_open(&answer.table, "rows", '[');
	for (size_t i = 0; i < contrast->count && (rows == 0 || i < rows); i++)
		cairn_table_row(&answer.table, columns, &writing, &contrast->rows[i]);
	cairn_table_close(&answer.table, ']');
	if (!as_json)
		cairn_buffer_format(out, "\n~ may be chance: %s\n", isnan(contrast->total.low)
				    ? "with one instance of a release nothing is known of their scatter"
				    : "instances of one release differ as much");
	cairn_fleet_answer_table_end(&answer);
}

/* Keeps the processes of the two releases; both must be there. */
static bool keep_releases(struct cairn_store_processes *processes, const char *before, const char *after, struct cairn_error *error)
{
	size_t kept = 0, found[2] = {0};
	for (size_t i = 0; i < processes->count; i++) {
		const char *version = processes->items[i].version;
		bool newer = strcmp(version, after) == 0, older = strcmp(version, before) == 0;
		found[newer] += newer || older;
		if (newer || older)
			processes->items[kept++] = processes->items[i];
		else
			free(processes->items[i].points);
	}
	processes->count = kept;
	for (int i = 0; i < 2; i++)
		if (!found[i])
			return cairn_fail(
				error,
				"no instance of release %.100s in that time; 'cairn fleet services --store STORE' lists what there is",
				i ? after : before);
	return true;
}

int cairn_fleet_answer_diff(const void *values, int operand_count, char **operands)
{
	struct cairn_fleet_diff_options options = *(const struct cairn_fleet_diff_options *)values;
	struct cairn_error error;
	struct cairn_store_processes processes;
	struct comparison comparison = {0};
	struct cairn_contrast contrast = {0};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	size_t rows;
	const char *versions = options.answer.fleet.version, *dots = versions ? strstr(versions, "..") : NULL;
	if (!dots || dots == versions || !dots[2]) {
		cairn_fail_usage(&error, "diff compares two releases: --version A..B");
		return cairn_say_failure(&error);
	}
	char *before = strndup(versions, (size_t)(dots - versions));
	if (!before)
		cairn_out_of_memory(strlen(versions));
	options.answer.fleet.version = NULL;
	struct cairn_store *store =
		cairn_fleet_answer_begin(&options.answer, CAIRN_HOUR_NS, operand_count, operands, &processes, &rows, &error);
	bool good = store && keep_releases(&processes, before, dots + 2, &error) && cairn_fleet_answer_service(&processes, &error) &&
		    compare(store, &processes, dots + 2, &options, &comparison, &contrast, &error);
	if (good)
		write_answer(&comparison, &contrast, rows, before, dots + 2, options.answer.json, &out);
	int code = store ? cairn_fleet_answer_end(store, &processes, options.answer.json, &out) : CAIRN_EXIT_FAILED;
	for (size_t i = 0; i < comparison.room; i++)
		free(comparison.instances[i].rows);
	free(comparison.instances);
	cairn_strings_free(&comparison.names);
	cairn_contrast_free(&contrast);
	free(before);
	return good ? code : cairn_say_failure(&error);
}
