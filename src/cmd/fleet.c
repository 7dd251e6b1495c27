/* fleet.c - `cairn fleet`: questions to a store that many machines write to.
 *
 * A question is a word: `services`, `leaks` and `kills` are answered here; a report or picture is that command's, with the store as its source.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/fleet/question.h"
#include "process/clock.h"
#include "report/view.h"
#include "series/fleet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t hour = 3600 * (int64_t)CAIRN_SECOND_NS;
enum { least_dumps = 3, shown_rows = 10, shown_callers = 4 };

struct options {
	struct cairn_fleet_options fleet;
	const char *rows;
	bool json;
};

static const struct cairn_option own_table[] = {
	{'n', "nodecount", "N", "show at most N rows (default: 10, in JSON all; 0: all)", CAIRN_OPTION_TEXT, offsetof(struct options, rows), 0},
	{0, "json", NULL, "print JSON", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, own_table, 0},
	{"what is asked about", cairn_fleet_option_table, offsetof(struct options, fleet)},
	{0},
};

/* How many rows are wanted; 0 for all of them. */
static bool rows_of(const struct options *options, size_t *rows, struct cairn_error *error)
{
	uint64_t number = options->json ? 0 : shown_rows;
	struct cairn_bytes rest = cairn_bytes_of(options->rows ? options->rows : "");
	if (options->rows && (!cairn_text_decimal(&rest, &number) || rest.length > 0))
		return cairn_fail_usage(error, "-n takes a number, not '%.40s'", options->rows);
	*rows = (size_t)number;
	return true;
}

static void show_padded(struct cairn_buffer *out, const char *text, int width)
{
	size_t start = out->length;
	cairn_utf8_show(out, cairn_bytes_of(text));
	for (int shown = (int)(out->length - start); shown < width; shown++)
		cairn_buffer_byte(out, ' ');
	cairn_buffer_text(out, "  ");
}

static void show_time(struct cairn_buffer *out, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / CAIRN_SECOND_NS);
	struct tm date;
	char text[32] = "";
	if (localtime_r(&seconds, &date))
		strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &date);
	cairn_buffer_text(out, text);
}

static const struct cairn_store_point *last_of(const struct cairn_store_process *process)
{
	return &process->points[process->point_count - 1];
}

static int write_out(struct cairn_buffer *out)
{
	int code = cairn_say_output(NULL, cairn_buffer_bytes(out));
	cairn_buffer_free(out);
	return code;
}

/* One line for each service and version. */
struct service_row {
	const char *service, *version;
	size_t instances, snapshots;
	double live, resident;
	int64_t first_ns, last_ns;
};

static struct service_row *list_services(const struct cairn_store_processes *processes, size_t *count)
{
	struct service_row *rows = cairn_array_zero(processes->count, sizeof *rows);
	*count = 0;
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		size_t at = 0;
		while (at < *count && (strcmp(rows[at].service, process->service) != 0 || strcmp(rows[at].version, process->version) != 0))
			at++;
		struct service_row *row = &rows[at];
		if (at == *count)
			*row = (struct service_row){.service = process->service, .version = process->version, .first_ns = process->points[0].time_ns};
		*count += at == *count;
		row->instances++;
		row->snapshots += process->point_count;
		row->live += last_of(process)->bytes;
		row->resident += last_of(process)->resident;
		row->first_ns = process->points[0].time_ns < row->first_ns ? process->points[0].time_ns : row->first_ns;
		row->last_ns = last_of(process)->time_ns > row->last_ns ? last_of(process)->time_ns : row->last_ns;
	}
	return rows;
}

static void services_text(const struct service_row *rows, size_t count, struct cairn_buffer *out)
{
	char live[24], resident[24], span[24];
	cairn_buffer_format(out, "%-24s  %-20s %9s %9s %11s %11s  %s\n", "Service", "Version", "Instances", "Snapshots", "Live", "Resident", "Last seen");
	for (size_t i = 0; i < count; i++) {
		show_padded(out, rows[i].service, 24);
		show_padded(out, rows[i].version, 20);
		cairn_buffer_format(out, "%8zu %9zu %11s %11s  %s ago\n", rows[i].instances, rows[i].snapshots, cairn_text_human(rows[i].live, live),
				    cairn_text_human(rows[i].resident, resident), cairn_text_span(cairn_clock_wall_ns() - rows[i].last_ns, span));
	}
}

static void services_json(const struct service_row *rows, size_t count, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_open(&json, "services", '[');
	for (size_t i = 0; i < count; i++) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "service", cairn_bytes_of(rows[i].service));
		cairn_json_text(&json, "version", cairn_bytes_of(rows[i].version));
		cairn_json_integer(&json, "instances", (int64_t)rows[i].instances);
		cairn_json_integer(&json, "snapshots", (int64_t)rows[i].snapshots);
		cairn_json_number(&json, "live", round(rows[i].live));
		cairn_json_number(&json, "resident", round(rows[i].resident));
		cairn_json_number(&json, "first_seen", (double)(rows[i].first_ns / 1000000) / 1000);
		cairn_json_number(&json, "last_seen", (double)(rows[i].last_ns / 1000000) / 1000);
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
}

/* What a question begins with: its options are checked, and the store is asked. */
static struct cairn_store *begin(const struct options *options, int64_t back_ns, int operand_count, char **operands,
				 struct cairn_store_processes *processes, size_t *rows, struct cairn_error *error)
{
	if (operand_count > 0)
		cairn_fail_usage(error, "a question takes options only, not '%.100s'", operands[0]);
	else if (rows_of(options, rows, error))
		return cairn_fleet_ask(&options->fleet, back_ns, processes, error);
	return NULL;
}

static int run_services(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_store_processes processes;
	size_t rows;
	struct cairn_store *store = begin(options, 0, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	size_t count;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct service_row *services = list_services(&processes, &count);
	(options->json ? services_json : services_text)(services, rows && rows < count ? rows : count, &out);
	free(services);
	cairn_store_processes_free(&processes);
	cairn_store_close(store);
	return write_out(&out);
}

static int compare_ends(const void *a, const void *b)
{
	const struct cairn_store_process *const *one = a, *const *other = b;
	int64_t x = last_of(*one)->time_ns, y = last_of(*other)->time_ns;
	return (x < y) - (x > y);
}

/* Processes that have ended, the last one first. */
static int run_kills(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_store_processes processes;
	size_t rows;
	struct cairn_store *store = begin(options, 0, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	const struct cairn_store_process **ended = cairn_array_new(processes.count, sizeof *ended);
	size_t count = 0;
	for (size_t i = 0; i < processes.count; i++)
		if (last_of(&processes.items[i])->ended[0])
			ended[count++] = &processes.items[i];
	if (count > 0)
		qsort(ended, count, sizeof *ended, compare_ends);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_json json = cairn_json(&out);
	if (options->json) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_open(&json, "kills", '[');
	} else {
		cairn_buffer_format(&out, "%zu of %zu processes have ended\n", count, processes.count);
	}
	for (size_t i = 0; i < count && (rows == 0 || i < rows); i++) {
		const struct cairn_store_point *last = last_of(ended[i]);
		char live[24];
		if (options->json) {
			cairn_json_open(&json, NULL, '{');
			cairn_json_number(&json, "time", (double)(last->time_ns / 1000000) / 1000);
			cairn_json_text(&json, "service", cairn_bytes_of(ended[i]->service));
			cairn_json_text(&json, "version", cairn_bytes_of(ended[i]->version));
			cairn_json_text(&json, "host", cairn_bytes_of(ended[i]->host));
			cairn_json_integer(&json, "pid", (int64_t)ended[i]->pid);
			cairn_json_text(&json, "ended", cairn_bytes_of(last->ended));
			cairn_json_number(&json, "live", round(last->bytes));
			cairn_json_close(&json, '}');
			continue;
		}
		show_time(&out, last->time_ns);
		cairn_buffer_text(&out, "  ");
		show_padded(&out, ended[i]->service, 16);
		show_padded(&out, ended[i]->version, 12);
		show_padded(&out, ended[i]->host, 16);
		cairn_buffer_format(&out, "%7llu  %10s live  ", (unsigned long long)ended[i]->pid, cairn_text_human(last->bytes, live));
		cairn_utf8_show(&out, cairn_bytes_of(last->ended));
		cairn_buffer_byte(&out, '\n');
	}
	if (options->json) {
		cairn_json_close(&json, ']');
		cairn_json_close(&json, '}');
		cairn_buffer_byte(&out, '\n');
	}
	free(ended);
	cairn_store_processes_free(&processes);
	cairn_store_close(store);
	return write_out(&out);
}

static bool add_point(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	return cairn_series_add(context, profile, "a snapshot of the store", error);
}

/* Judges one process by itself and adds what it shows to FLEET; one with too few snapshots is left out. */
static bool judge_process(struct cairn_store *store, const struct cairn_store_process *process, struct cairn_fleet *fleet,
			  struct cairn_error *error)
{
	struct cairn_series series;
	struct cairn_view view = {0};
	struct cairn_view_options options = {.fold_wrappers = true};
	size_t wanted[CAIRN_COURSE_POINTS], duplicates;
	size_t count = process->point_count < CAIRN_COURSE_POINTS ? process->point_count : CAIRN_COURSE_POINTS;
	if (count < least_dumps)
		return true;
	for (size_t i = 0; i < count; i++)
		wanted[i] = i * (process->point_count - 1) / (count - 1);
	cairn_series_start(&series);
	bool good = cairn_store_profiles(store, process, wanted, count, add_point, &series, error);
	cairn_series_finish(&series, &duplicates);
	good = good && cairn_view_make(&view, &series.profile, &options, error);
	if (good && series.point_count >= least_dumps) {
		struct cairn_leaks leaks;
		cairn_leaks_rank(&leaks, &series, &view);
		cairn_fleet_add(fleet, process->version, process->points[0].time_ns, &leaks, &series, &view);
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
	show_padded(out, grows ? fleet->releases[row->release].version : "", 12);
	indent = 12 + 2 + 12 + 2 + 10 + 9 + 13 + (out->length - indent);
	for (size_t i = 0; cairn_text_line(&stack, &line, NULL) && i <= shown_callers; i++) {
		cairn_buffer_format(out, "%*s", i ? (int)indent + 1 : 0, "");
		cairn_buffer_append(out, line.data, line.length);
		cairn_buffer_byte(out, '\n');
	}
}

static void leaks_text(const struct cairn_fleet *fleet, size_t rows, size_t judged, size_t all, struct cairn_buffer *out)
{
	size_t growing = 0;
	for (size_t i = 0; i < fleet->count; i++)
		growing += fleet->rows[i].verdict == CAIRN_GROWING;
	if (growing) {
		const struct cairn_fleet_row *first = &fleet->rows[0];
		char rate[24];
		struct cairn_bytes leaf = leaf_of(cairn_strings_bytes(&fleet->stacks, first->path));
		cairn_utf8_show(out, leaf);
		cairn_buffer_format(out, " grows by %s an hour on each of %zu of %zu instances, %s release ", cairn_text_human(first->per_hour, rate),
				    first->growing, first->of, first->new_in_release ? "new in" : "since");
		cairn_utf8_show(out, cairn_bytes_of(fleet->releases[first->release].version));
		cairn_buffer_format(out, " (%.2f %% sure)\n", 100 * first->confidence);
	} else {
		cairn_buffer_format(out, "nothing keeps growing among %zu call paths of %zu instances\n", fleet->count, judged);
	}
	if (judged < all)
		cairn_buffer_format(out, "%zu instances have fewer than %d snapshots in that time and are left out\n", all - judged, least_dumps);
	cairn_buffer_format(out, "\n%14s %11s  %-9s %7s  %12s %-12s  %s\n", "Rate of one", "Live of all", "Verdict", "Sure", "Instances", "Since", "Call path");
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
		cairn_json_number(json, "since", (double)(row->since_ns / 1000000) / 1000);
	}
	cairn_json_open(json, "stack", '[');
	while (cairn_text_line(&stack, &line, NULL))
		cairn_json_text(json, NULL, line);
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

static void leaks_json(const struct cairn_fleet *fleet, size_t rows, size_t judged, size_t all, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_integer(&json, "instances", (int64_t)judged);
	cairn_json_integer(&json, "left_out", (int64_t)(all - judged));
	cairn_json_open(&json, "versions", '[');
	for (size_t i = 0; i < fleet->release_count; i++) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "version", cairn_bytes_of(fleet->releases[i].version));
		cairn_json_integer(&json, "instances", (int64_t)fleet->releases[i].instances);
		cairn_json_number(&json, "first_seen", (double)(fleet->releases[i].first_ns / 1000000) / 1000);
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

static int run_leaks(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_store_processes processes;
	struct cairn_fleet fleet = {0};
	size_t rows;
	struct cairn_store *store = begin(options, 24 * hour, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	bool good = true;
	const char *service = processes.items[0].service;
	for (size_t i = 0; good && i < processes.count; i++)
		if (strcmp(processes.items[i].service, service) != 0)
			good = cairn_fail_usage(&error, "the store has several services, such as %s and %s; --service says which", service,
						processes.items[i].service);
	for (size_t i = 0; good && i < processes.count; i++)
		good = judge_process(store, &processes.items[i], &fleet, &error);
	if (good && fleet.instance_count == 0)
		good = cairn_fail(&error, "no instance has %d snapshots in that time yet, and a verdict takes at least that many", least_dumps);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (good) {
		cairn_fleet_judge(&fleet);
		(options->json ? leaks_json : leaks_text)(&fleet, rows, fleet.instance_count, processes.count, &out);
	}
	cairn_fleet_free(&fleet);
	cairn_store_processes_free(&processes);
	cairn_store_close(store);
	return good ? write_out(&out) : cairn_say_failure(&error);
}

/* The questions that are answered here. */
static const struct cairn_command questions[] = {
	{.name = "services", .summary = "what the store has: services, releases, instances", .groups = groups, .options_size = sizeof(struct options),
	 .run = run_services},
	{.name = "leaks", .summary = "which call path grows, on how many instances, since which release", .groups = groups,
	 .options_size = sizeof(struct options), .run = run_leaks},
	{.name = "kills", .summary = "processes that have ended, and how", .groups = groups, .options_size = sizeof(struct options), .run = run_kills},
};

/* And those that are other commands'. */
static const struct cairn_command *const views[] = {&cairn_command_top, &cairn_command_tree, &cairn_command_traces, &cairn_command_collapsed,
						    &cairn_command_flame, &cairn_command_html, &cairn_command_graph, &cairn_command_pprof,
						    &cairn_command_diff};

static const struct cairn_option *find_option(const char *argument, size_t length)
{
	for (const struct cairn_option *option = cairn_fleet_option_table; option->name; option++)
		if (strlen(option->name) == length && strncmp(option->name, argument, length) == 0)
			return option;
	return NULL;
}

/* Takes the options of a question out of ARGV, and moves the others to its front. */
static bool take_options(int *argc, char **argv, struct cairn_fleet_options *options, struct cairn_error *error)
{
	int kept = 1;
	for (int i = 1; i < *argc; i++) {
		const char *name = argv[i] + 2, *equals = strchr(argv[i], '=');
		const struct cairn_option *option = strncmp(argv[i], "--", 2) == 0 ?
			find_option(name, equals ? (size_t)(equals - name) : strlen(name)) : NULL;
		if (!option) {
			argv[kept++] = argv[i];
			continue;
		}
		if (!equals && i + 1 == *argc)
			return cairn_fail_usage(error, "--%s takes a %s", option->name, option->argument);
		if (!cairn_option_set(option, (char *)options + option->offset, equals ? equals + 1 : argv[++i], error))
			return false;
	}
	*argc = kept;
	argv[kept] = NULL;
	return true;
}

/* The two releases of A..B, each a source, the older one first. */
static bool name_sources(const struct cairn_command *view, struct cairn_fleet_options *options, struct cairn_buffer *sources,
			 size_t *count, struct cairn_error *error)
{
	const char *dots = options->version ? strstr(options->version, "..") : NULL;
	bool compares = view == &cairn_command_diff;
	*count = compares ? 2 : 1;
	if (compares && (!dots || dots == options->version || !dots[2]))
		return cairn_fail_usage(error, "diff compares two releases: --version A..B");
	if (!compares && dots)
		return cairn_fail_usage(error, "--version A..B is for diff; %s shows one release", view->name);
	char *older = dots ? strndup(options->version, (size_t)(dots - options->version)) : NULL;
	struct cairn_fleet_options one = *options;
	one.per_instance = compares; /* there may be more of one release than of the other */
	for (size_t i = 0; i < *count; i++) {
		one.version = !compares ? options->version : i == 0 ? older : dots + 2;
		cairn_fleet_source_name(&one, &sources[i]);
		cairn_buffer_byte(&sources[i], 0);
	}
	free(older);
	return true;
}

static int run_view(const struct cairn_command *view, int argc, char **argv)
{
	struct cairn_error error;
	struct cairn_fleet_options options = {0};
	struct cairn_buffer sources[2] = {cairn_buffer(1 << 20), cairn_buffer(1 << 20)};
	size_t count = 0;
	bool help = false;
	for (int i = 1; i < argc; i++)
		help |= strcmp(argv[i], "--help") == 0;
	bool good = take_options(&argc, argv, &options, &error);
	if (good && !help && !options.store && !getenv("CAIRN_STORE"))
		good = cairn_fail_usage(&error, "which store? --store STORE or CAIRN_STORE says: sqlite:PATH or clickhouse://HOST:PORT/DATABASE");
	if (good && !help)
		good = name_sources(view, &options, sources, &count, &error);
	char **arguments = cairn_array_zero((size_t)argc + 3, sizeof *arguments);
	memcpy(arguments, argv, (size_t)argc * sizeof *arguments);
	for (size_t i = 0; i < count; i++)
		arguments[argc++] = sources[i].data;
	int code = good ? cairn_run_command(view, argc, arguments) : cairn_say_failure(&error);
	free(arguments);
	cairn_buffer_free(&sources[0]);
	cairn_buffer_free(&sources[1]);
	return code;
}

/* The options that all questions take, and the questions. */
static int show_questions(int code)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_options_help(&cairn_command_fleet, &out);
	cairn_buffer_text(&out, "\nquestions:\n");
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		cairn_buffer_format(&out, "  %-12s %s\n", questions[i].name, questions[i].summary);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		cairn_buffer_format(&out, "  %-12s %s\n", views[i]->name, views[i]->summary);
	int written = write_out(&out);
	return code == CAIRN_EXIT_DONE ? written : code;
}

static int run(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return show_questions(argc < 2 ? CAIRN_EXIT_USAGE : CAIRN_EXIT_DONE);
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (strcmp(argv[1], questions[i].name) == 0)
			return cairn_run_command(&questions[i], argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (strcmp(argv[1], views[i]->name) == 0)
			return run_view(views[i], argc - 1, argv + 1);
	struct cairn_error error;
	cairn_fail_usage(&error, "no question '%s'; 'cairn fleet --help' lists them", argv[1]);
	return cairn_say_failure(&error);
}

const struct cairn_command cairn_command_fleet = {
	.name = "fleet",
	.summary = "ask a store about all instances of a service",
	.arguments = "QUESTION",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run_arguments = run,
};
