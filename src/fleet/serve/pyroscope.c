/* pyroscope.c - answers Grafana's queries from a store.
 *
 * Longer than other files: all methods of the interface share the query, its labels and the functions that write an answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/pyroscope.h"

#include "base/array.h"
#include "base/text.h"
#include "base/time.h"
#include "fleet/serve/connect.h"
#include "fleet/serve/selector.h"
#include "live/store_series.h"
#include "process/clock.h"
#include "profile/combine.h"
#include "profile/kind.h"
#include "report/flamebearer.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char service_path[] = "/querier.v1.QuerierService/", binary_type[] = "application/proto", json_type[] = "application/json";
enum { points_most = 12,   /* of one process, averaged in a flame graph */
       totals_most = 64,   /* of one process, for totals of values other than live bytes */
       snapshots_most = 6000, /* of all processes, in a flame graph */
       instants_most = 2000,
       values_most = 4000000, /* of all series, before the largest are selected */
       sets_most = 10000,  /* of labels */
       series_most = 1000,
       usual_nodes = 8192,
       nodes_most = 65536,
       sorted_most = 10000 };
static const int64_t range_most_ms = 400 * 86400000LL;
static const size_t stored_most = 2000000; /* snapshots that a query may be about */

/* The parameters of a query, of any method. */
struct query {
	const char *type, *selector, *name;
	struct cairn_connect_texts matchers, names; /* names of labels, to group by or to list */
	int64_t start_ms, end_ms, most;
	double step;
	struct cairn_bytes left, right;
};

#define AT(member) offsetof(struct query, member)
#define TEXT CAIRN_CONNECT_TEXT
#define SEVERAL CAIRN_CONNECT_SEVERAL
#define WHOLE CAIRN_CONNECT_WHOLE

static const struct cairn_connect_field types_fields[] = {
	{1, "start", "start", WHOLE, AT(start_ms)}, {2, "end", "end", WHOLE, AT(end_ms)}, {0}};
static const struct cairn_connect_field names_fields[] = {{1, "matchers", "matchers", SEVERAL, AT(matchers)},
							  {2, "start", "start", WHOLE, AT(start_ms)},
							  {3, "end", "end", WHOLE, AT(end_ms)},
							  {0}};
static const struct cairn_connect_field values_fields[] = {{1, "name", "name", TEXT, AT(name)},
							   {2, "matchers", "matchers", SEVERAL, AT(matchers)},
							   {3, "start", "start", WHOLE, AT(start_ms)},
							   {4, "end", "end", WHOLE, AT(end_ms)},
							   {0}};
static const struct cairn_connect_field series_fields[] = {{1, "matchers", "matchers", SEVERAL, AT(matchers)},
							   {2, "labelNames", "label_names", SEVERAL, AT(names)},
							   {3, "start", "start", WHOLE, AT(start_ms)},
							   {4, "end", "end", WHOLE, AT(end_ms)},
							   {0}};
static const struct cairn_connect_field select_fields[] = {{1, "profileTypeID", "profile_typeID", TEXT, AT(type)},
							   {2, "labelSelector", "label_selector", TEXT, AT(selector)},
							   {3, "start", "start", WHOLE, AT(start_ms)},
							   {4, "end", "end", WHOLE, AT(end_ms)},
							   {5, "groupBy", "group_by", SEVERAL, AT(names)},
							   {6, "step", "step", CAIRN_CONNECT_REAL, AT(step)},
							   {9, "limit", "limit", WHOLE, AT(most)},
							   {0}};
static const struct cairn_connect_field merge_fields[] = {{1, "profileTypeID", "profile_typeID", TEXT, AT(type)},
							  {2, "labelSelector", "label_selector", TEXT, AT(selector)},
							  {3, "start", "start", WHOLE, AT(start_ms)},
							  {4, "end", "end", WHOLE, AT(end_ms)},
							  {5, "maxNodes", "max_nodes", WHOLE, AT(most)},
							  {0}};
static const struct cairn_connect_field diff_fields[] = {{1, "left", "left", CAIRN_CONNECT_MESSAGE, AT(left)},
							 {2, "right", "right", CAIRN_CONNECT_MESSAGE, AT(right)},
							 {0}};

/* The four values, with Pyroscope's names. */
static const struct profile_type {
	const char *id, *sample, *unit;
	bool accumulates;
} profile_types[] = {
	{"memory:inuse_space:bytes:space:bytes", "inuse_space", "bytes", false},
	{"memory:inuse_objects:count:space:bytes", "inuse_objects", "count", false},
	{"memory:alloc_space:bytes:space:bytes", "alloc_space", "bytes", true},
	{"memory:alloc_objects:count:space:bytes", "alloc_objects", "count", true},
};
enum { type_count = sizeof profile_types / sizeof *profile_types };

/* A query that is being answered. */
struct asking {
	struct cairn_store *store;
	const char *tenant;
	bool binary;
	struct cairn_arena *arena;
	struct cairn_connect out;
	const atomic_bool *gone; /* the client has left */
	int64_t from_ns; /* of the last processes that were queried */
};

/* Whether the client still waits for the answer. */
static bool go_on(const struct asking *asking, struct cairn_error *error)
{
	return !atomic_load(asking->gone) || cairn_fail(error, "the client no longer waits for the answer");
}

static bool find_type(const struct query *query, const struct profile_type **type, struct cairn_error *error)
{
	for (size_t i = 0; query->type && i < type_count; i++)
		if (strcmp(query->type, profile_types[i].id) == 0) {
			*type = &profile_types[i];
			return true;
		}
	return cairn_fail_usage(error, "unknown profile type '%.100s'; ProfileTypes lists them", query->type ? query->type : "");
}

static bool is_selected(const void *context, const struct cairn_store_process *process)
{
	return cairn_selector_matches(context, process);
}

/* The processes that QUERY is about, by default in the last hour; WITH_EARLIER as in store/store.h. */
static bool ask(struct asking *asking, const struct query *query, bool with_earlier, struct cairn_store_processes *processes,
		struct cairn_error *error)
{
	static const int64_t most = INT64_MAX / CAIRN_MILLISECOND_NS - 1;
	struct cairn_selector *selector = cairn_array_zero(1, sizeof *selector);
	int64_t now = cairn_clock_wall_ns();
	struct cairn_question question = {.tenant = asking->tenant, .wants = is_selected, .context = selector, .with_earlier = with_earlier,
					  .point_most = stored_most};
	*processes = (struct cairn_store_processes){0};
	question.from_ns = query->start_ms > 0 && query->start_ms < most ? query->start_ms * CAIRN_MILLISECOND_NS : now - CAIRN_HOUR_NS;
	question.to_ns = query->end_ms > 0 && query->end_ms < most ? query->end_ms * CAIRN_MILLISECOND_NS : 0;
	asking->from_ns = question.from_ns;
	int64_t range = (question.to_ns ? question.to_ns : now) - question.from_ns;
	bool good = range <= range_most_ms * CAIRN_MILLISECOND_NS ||
		    cairn_fail_usage(error, "the time from start to end is longer than %lld days", (long long)(range_most_ms / 86400000));
	good = good && (!query->selector || cairn_selector_parse(selector, query->selector, error));
	for (size_t i = 0; good && i < query->matchers.count; i++)
		good = cairn_selector_parse(selector, query->matchers.items[i], error);
	good = good && cairn_store_ask(asking->store, &question, processes, error);
	if (!good)
		cairn_store_processes_free(processes);
	cairn_selector_free(selector);
	free(selector);
	return good;
}

/* Writes a sorted list of unique texts. */
static void put_sorted(struct asking *asking, const struct cairn_strings *strings)
{
	const char **sorted = cairn_array_new(strings->count, sizeof *sorted);
	for (size_t i = 0; i < strings->count; i++)
		sorted[i] = cairn_strings_text(strings, (uint32_t)i + 1);
	if (strings->count > 0)
		qsort(sorted, strings->count, sizeof *sorted, cairn_text_compare);
	cairn_connect_list(&asking->out, "names");
	for (size_t i = 0; i < strings->count && i < sorted_most; i++)
		cairn_connect_text(&asking->out, 1, NULL, cairn_bytes_of(sorted[i]));
	cairn_connect_list_end(&asking->out);
	free(sorted);
}

static bool answer_types(struct asking *asking, const struct query *query, struct cairn_error *error)
{
	struct cairn_store_processes processes;
	bool accumulates = false;
	if (!ask(asking, query, false, &processes, error))
		return false;
	for (size_t i = 0; i < processes.count; i++)
		accumulates |= cairn_store_last(&processes.items[i])->has_allocated;
	cairn_connect_list(&asking->out, "profileTypes");
	for (size_t i = 0; i < type_count && processes.count > 0; i++) {
		const struct profile_type *type = &profile_types[i];
		if (type->accumulates && !accumulates)
			continue;
		cairn_connect_open(&asking->out, 1, NULL);
		cairn_connect_text(&asking->out, 1, "ID", cairn_bytes_of(type->id));
		cairn_connect_text(&asking->out, 2, "name", cairn_bytes_of("memory"));
		cairn_connect_text(&asking->out, 4, "sampleType", cairn_bytes_of(type->sample));
		cairn_connect_text(&asking->out, 5, "sampleUnit", cairn_bytes_of(type->unit));
		cairn_connect_text(&asking->out, 6, "periodType", cairn_bytes_of("space"));
		cairn_connect_text(&asking->out, 7, "periodUnit", cairn_bytes_of("bytes"));
		cairn_connect_close(&asking->out);
	}
	cairn_connect_list_end(&asking->out);
	cairn_store_processes_free(&processes);
	return true;
}

static bool answer_names(struct asking *asking, const struct query *query, struct cairn_error *error)
{
	struct cairn_store_processes processes;
	struct cairn_strings names = {0};
	char name[CAIRN_LABEL_SIZE];
	if (!ask(asking, query, false, &processes, error))
		return false;
	for (size_t i = 0; i < processes.count; i++)
		for (size_t k = 0; cairn_label_name(&processes.items[i], k, name); k++)
			cairn_strings_add_text(&names, name);
	if (processes.count > 0)
		cairn_strings_add_text(&names, "__profile_type__");
	put_sorted(asking, &names);
	cairn_strings_free(&names);
	cairn_store_processes_free(&processes);
	return true;
}

static bool answer_values(struct asking *asking, const struct query *query, struct cairn_error *error)
{
	struct cairn_store_processes processes;
	struct cairn_strings values = {0};
	char value[CAIRN_LABEL_SIZE];
	if (!query->name)
		return cairn_fail_usage(error, "the name of a label is missing");
	if (!ask(asking, query, false, &processes, error))
		return false;
	bool types = strcmp(query->name, "__profile_type__") == 0;
	for (size_t i = 0; i < type_count && types && processes.count > 0; i++)
		cairn_strings_add_text(&values, profile_types[i].id);
	for (size_t i = 0; i < processes.count && !types; i++) {
		cairn_label_get(&processes.items[i], query->name, value);
		if (value[0])
			cairn_strings_add_text(&values, value);
	}
	put_sorted(asking, &values);
	cairn_strings_free(&values);
	cairn_store_processes_free(&processes);
	return true;
}

/* Writes the WANTED labels of a process, or ALL of them, as one text that identifies the set of labels. */
static void write_labels(const struct cairn_store_process *process, const struct cairn_connect_texts *wanted, bool all,
			 struct cairn_buffer *out)
{
	char name[CAIRN_LABEL_SIZE], value[CAIRN_LABEL_SIZE];
	for (size_t i = 0; all ? cairn_label_name(process, i, name) : i < wanted->count; i++) {
		if (!all)
			snprintf(name, sizeof name, "%s", wanted->items[i]);
		cairn_label_get(process, name, value);
		cairn_buffer_append(out, name, strlen(name) + 1);
		cairn_buffer_append(out, value, strlen(value) + 1);
	}
}

static void put_labels(struct asking *asking, struct cairn_bytes labels)
{
	cairn_connect_list(&asking->out, "labels");
	while (labels.length > 0) {
		struct cairn_bytes name = cairn_bytes_of(labels.data), value = cairn_bytes_of(labels.data + name.length + 1);
		labels = cairn_bytes_skip(labels, name.length + value.length + 2);
		cairn_connect_open(&asking->out, 1, NULL);
		cairn_connect_text(&asking->out, 1, "name", name);
		cairn_connect_text(&asking->out, 2, "value", value);
		cairn_connect_close(&asking->out);
	}
	cairn_connect_list_end(&asking->out);
}

/* Stores the set of labels of each process in SETS, as a number of STRINGS. */
static void group(const struct cairn_store_processes *processes, const struct cairn_connect_texts *wanted, bool all,
		  struct cairn_strings *strings, uint32_t *sets)
{
	for (size_t i = 0; i < processes->count; i++) {
		struct cairn_buffer labels = cairn_buffer(1 << 20);
		write_labels(&processes->items[i], wanted, all, &labels);
		/* A set without labels counts, too: this byte keeps it from being the empty string. */
		cairn_buffer_byte(&labels, '.');
		sets[i] = cairn_strings_add(strings, cairn_buffer_bytes(&labels));
		cairn_buffer_free(&labels);
	}
}

static struct cairn_bytes labels_of(const struct cairn_strings *strings, uint32_t set)
{
	struct cairn_bytes labels = cairn_strings_bytes(strings, set);
	labels.length--;
	return labels;
}

static bool answer_series(struct asking *asking, const struct query *query, struct cairn_error *error)
{
	struct cairn_store_processes processes;
	struct cairn_strings strings = {0};
	if (!ask(asking, query, false, &processes, error))
		return false;
	uint32_t *sets = cairn_array_new(processes.count, sizeof *sets);
	group(&processes, &query->names, query->names.count == 0, &strings, sets);
	cairn_connect_list(&asking->out, "labelsSet");
	for (size_t i = 0; i < strings.count && i < series_most; i++) {
		cairn_connect_open(&asking->out, 2, NULL);
		put_labels(asking, labels_of(&strings, (uint32_t)i + 1));
		cairn_connect_close(&asking->out);
	}
	cairn_connect_list_end(&asking->out);
	free(sets);
	cairn_strings_free(&strings);
	cairn_store_processes_free(&processes);
	return true;
}

static double total_of(const struct cairn_profile *profile, const struct profile_type *type)
{
	uint32_t value = cairn_profile_find_value(profile, type->sample);
	return value == CAIRN_NONE ? 0 : cairn_profile_total(profile, value);
}

/* Totals of one value at the points of a process. Those of live bytes are known; of others they are read, of very many points some. */
struct totals {
	const struct profile_type *type;
	double *values; /* per point; NAN where it was not read */
	const size_t *wanted;
	size_t at;
};

static bool take_total(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	struct totals *totals = context;
	(void)error;
	totals->values[totals->wanted[totals->at++]] = total_of(profile, totals->type);
	return true;
}

static bool read_totals(struct asking *asking, const struct cairn_store_process *process, const struct profile_type *type, double *values,
			struct cairn_error *error)
{
	size_t wanted[totals_most];
	bool live = cairn_value_kind(cairn_bytes_of(type->sample)) == CAIRN_VALUE_LIVE_BYTES;
	for (size_t i = 0; i < process->point_count; i++)
		values[i] = live ? process->points[i].bytes : NAN;
	if (live)
		return true;
	size_t count = cairn_store_choose_points(process, totals_most, wanted);
	struct totals totals = {.type = type, .values = values, .wanted = wanted};
	bool good = cairn_store_profiles(asking->store, process, wanted, count, take_total, &totals, error);
	for (size_t i = 1; i < process->point_count; i++)
		values[i] = isnan(values[i]) ? values[i - 1] : values[i];
	return good;
}

/* The series of all sets of labels. */
struct courses {
	double *values; /* for each set and instant */
	bool *known;
	size_t instants, sets;
	int64_t start_ns, step_ns;
};

/* Whether PROCESS started after FROM_NS: then all its allocations are later, too. */
static bool began_within(const struct cairn_store_process *process, int64_t from_ns)
{
	return process->start_ns > 0 && process->start_ns >= from_ns;
}

/* Whether sampling was restarted between two totals of all allocations. They are estimates, and may decrease a little anyway. */
static bool began_anew(double before, double after)
{
	return after < 0.9 * before;
}

static double allocated_between(double before, double after)
{
	return began_anew(before, after) ? after : fmax(0, after - before);
}

static void add_course(struct courses *courses, uint32_t set, const struct cairn_store_process *process, const double *totals,
		       bool accumulates)
{
	double before = began_within(process, courses->start_ns) ? 0 : NAN;
	for (size_t i = 0; i < courses->instants; i++) {
		size_t at = cairn_fleet_point_at(process, courses->start_ns + (int64_t)i * courses->step_ns),
		       place = (set - 1) * courses->instants + i;
		if (at == SIZE_MAX)
			continue;
		if (!accumulates || !isnan(before)) {
			courses->values[place] += accumulates ? allocated_between(before, totals[at]) : totals[at];
			courses->known[place] = true;
		}
		before = totals[at];
	}
}

static double sum_of(const struct courses *courses, size_t set)
{
	double sum = 0;
	for (size_t i = 0; i < courses->instants; i++)
		sum += courses->values[set * courses->instants + i];
	return sum;
}

static int by_sum(const void *a, const void *b, void *context)
{
	double one = sum_of(context, *(const uint32_t *)a), other = sum_of(context, *(const uint32_t *)b);
	return (one < other) - (one > other);
}

static void put_courses(struct asking *asking, struct courses *courses, const struct cairn_strings *strings, int64_t most)
{
	uint32_t *order = cairn_array_new(courses->sets, sizeof *order);
	size_t count = courses->sets < series_most ? courses->sets : series_most;
	for (size_t i = 0; i < courses->sets; i++)
		order[i] = (uint32_t)i;
	if (courses->sets > 0)
		qsort_r(order, courses->sets, sizeof *order, by_sum, courses);
	if (most > 0 && (uint64_t)most < count)
		count = (size_t)most;
	cairn_connect_list(&asking->out, "series");
	for (size_t s = 0; s < count; s++) {
		cairn_connect_open(&asking->out, 1, NULL);
		put_labels(asking, labels_of(strings, order[s] + 1));
		cairn_connect_list(&asking->out, "points");
		for (size_t i = 0; i < courses->instants; i++) {
			size_t place = order[s] * courses->instants + i;
			if (!courses->known[place])
				continue;
			cairn_connect_open(&asking->out, 2, NULL);
			cairn_connect_real(&asking->out, 1, "value", round(courses->values[place]));
			cairn_connect_whole(&asking->out, 2, "timestamp",
					    (courses->start_ns + (int64_t)i * courses->step_ns) / CAIRN_MILLISECOND_NS);
			cairn_connect_close(&asking->out);
		}
		cairn_connect_list_end(&asking->out);
		cairn_connect_close(&asking->out);
	}
	cairn_connect_list_end(&asking->out);
	free(order);
}

static bool answer_select(struct asking *asking, const struct query *query, struct cairn_error *error)
{
	struct cairn_store_processes processes;
	struct cairn_strings strings = {0};
	const struct profile_type *type;
	static const double shortest = 1e-3; /* seconds */
	if (!find_type(query, &type, error))
		return false;
	if (query->start_ms <= 0 || query->end_ms < query->start_ms || query->end_ms > INT64_MAX / CAIRN_MILLISECOND_NS ||
	    !(query->step > 0) || query->step > 1e9)
		return cairn_fail_usage(error, "start, end and step must be given, in milliseconds since 1970 and in seconds");
	struct courses courses = {.start_ns = query->start_ms * CAIRN_MILLISECOND_NS,
				  .step_ns = (int64_t)((query->step > shortest ? query->step : shortest) * 1e9)};
	if (!ask(asking, query, type->accumulates, &processes, error))
		return false;
	uint32_t *sets = cairn_array_new(processes.count, sizeof *sets);
	group(&processes, &query->names, false, &strings, sets);
	courses.sets = strings.count;
	bool good = courses.sets <= sets_most ||
		    cairn_fail_usage(error, "there are %zu series, and at most %d can be compared; group by fewer labels", courses.sets,
				     sets_most);
	double span = (double)(query->end_ms - query->start_ms) * 1e6;
	/* Limited by what a chart can show, and by memory. */
	size_t most = good && courses.sets > values_most / instants_most ? values_most / courses.sets : instants_most;
	if (span / (double)courses.step_ns >= (double)most)
		courses.step_ns = (int64_t)(span / (double)(most - 1)) + 1;
	courses.instants = (size_t)(span / (double)courses.step_ns) + 1;
	courses.values = good ? cairn_array_zero(courses.sets * courses.instants + 1, sizeof *courses.values) : NULL;
	courses.known = good ? cairn_array_zero(courses.sets * courses.instants + 1, sizeof *courses.known) : NULL;
	for (size_t i = 0; good && i < processes.count; i++) {
		double *totals = cairn_array_new(processes.items[i].point_count, sizeof *totals);
		good = go_on(asking, error) && read_totals(asking, &processes.items[i], type, totals, error);
		if (good)
			add_course(&courses, sets[i], &processes.items[i], totals, type->accumulates);
		free(totals);
	}
	if (good)
		put_courses(asking, &courses, &strings, query->most);
	free(courses.values);
	free(courses.known);
	free(sets);
	cairn_strings_free(&strings);
	cairn_store_processes_free(&processes);
	return good;
}

struct sum {
	struct cairn_combine combine;
	const struct profile_type *type;
	double factor;
	double total; /* allocations of a process at the end of the time, for comparison with its beginning */
};

static bool add_profile(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	struct sum *sum = context;
	return cairn_combine_add(&sum->combine, profile, sum->factor, error);
}

static bool add_end(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	struct sum *sum = context;
	sum->factor = 1;
	sum->total = total_of(profile, sum->type);
	return add_profile(sum, profile, error);
}

static bool subtract_begin(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	struct sum *sum = context;
	sum->factor = -1;
	return began_anew(total_of(profile, sum->type), sum->total) || add_profile(sum, profile, error);
}

/* Adds what PROCESS allocated in the query's time: since its start if that is within that time, otherwise since the last snapshot before it
 * or, if there is none, since the first snapshot in it. */
static bool add_allocated(struct asking *asking, const struct cairn_store_process *process, struct sum *sum, struct cairn_error *error)
{
	size_t begin = 0, end = process->point_count - 1;
	bool whole = process->points[0].time_ns >= asking->from_ns && began_within(process, asking->from_ns);
	if (end == begin && !whole)
		return true;
	return cairn_store_profiles(asking->store, process, &end, 1, add_end, sum, error) &&
	       (whole || cairn_store_profiles(asking->store, process, &begin, 1, subtract_begin, sum, error));
}

/* What the processes of QUERY held, or allocated, together, in PROFILE, an initialised one. */
static bool merge(struct asking *asking, const struct query *query, const struct profile_type *type, struct cairn_profile *profile,
		  struct cairn_error *error)
{
	struct cairn_store_processes processes;
	struct sum sum = {.type = type};
	if (!ask(asking, query, type->accumulates, &processes, error))
		return false;
	bool good = true;
	size_t each = processes.count > 0 ? snapshots_most / processes.count : 0;
	each = each < 1 ? 1 : each < points_most ? each : points_most;
	double *shares = cairn_array_new(processes.count, sizeof *shares);
	cairn_fleet_shares(&processes, shares);
	cairn_combine_start(&sum.combine, profile);
	for (size_t i = 0; good && i < processes.count; i++) {
		const struct cairn_store_process *process = &processes.items[i];
		size_t wanted[points_most], count = cairn_store_choose_points(process, each, wanted);
		sum.factor = shares[i] / (double)count;
		good = go_on(asking, error) &&
		       (type->accumulates ? add_allocated(asking, process, &sum, error)
					  : cairn_store_profiles(asking->store, process, wanted, count, add_profile, &sum, error));
	}
	cairn_combine_finish(&sum.combine);
	free(shares);
	cairn_store_processes_free(&processes);
	/* What was allocated before is no base to compare with. */
	free(profile->base);
	profile->base = NULL;
	profile->base_count = profile->base_capacity = 0;
	return good;
}

static void put_flame(struct asking *asking, const struct cairn_flamebearer *flame)
{
	cairn_connect_open(&asking->out, 1, "flamegraph");
	cairn_connect_list(&asking->out, "names");
	for (size_t i = 0; i < flame->names.count; i++)
		cairn_connect_text(&asking->out, 1, NULL, cairn_strings_bytes(&flame->names, (uint32_t)i + 1));
	cairn_connect_list_end(&asking->out);
	cairn_connect_list(&asking->out, "levels");
	for (size_t i = 0; i < flame->row_count; i++) {
		cairn_connect_open(&asking->out, 2, NULL);
		cairn_connect_wholes(&asking->out, 1, "values", flame->rows[i].values, flame->rows[i].count);
		cairn_connect_close(&asking->out);
	}
	cairn_connect_list_end(&asking->out);
	cairn_connect_whole(&asking->out, 3, "total", flame->totals[0] + flame->totals[1]);
	cairn_connect_whole(&asking->out, 4, "maxSelf", flame->most_self);
	if (flame->compares) {
		cairn_connect_whole(&asking->out, 5, "leftTicks", flame->totals[0]);
		cairn_connect_whole(&asking->out, 6, "rightTicks", flame->totals[1]);
	}
	cairn_connect_close(&asking->out);
}

/* Draws PROFILE as a flame graph; if it has no samples, there is none. */
static bool draw(struct asking *asking, struct cairn_profile *profile, const struct profile_type *type, int64_t node_most,
		 bool compares, struct cairn_error *error)
{
	struct cairn_view view = {0};
	struct cairn_tree tree;
	struct cairn_flamebearer flame;
	if (profile->sample_count == 0 || cairn_profile_find_value(profile, type->sample) == CAIRN_NONE)
		return true;
	bool good = cairn_view_make(&view, profile, &(struct cairn_view_options){.value = type->sample, .fold_wrappers = true}, error);
	if (good) {
		cairn_tree_make(&tree, &view, NULL);
		cairn_flamebearer_make(&flame, &tree,
				       node_most > nodes_most ? nodes_most
				       : node_most > 0	      ? (size_t)node_most
							      : usual_nodes,
				       compares);
		put_flame(asking, &flame);
		cairn_flamebearer_free(&flame);
		cairn_tree_free(&tree);
	}
	cairn_view_free(&view);
	return good;
}

static bool answer_merge(struct asking *asking, const struct query *query, struct cairn_error *error)
{
	struct cairn_profile profile;
	const struct profile_type *type;
	if (!find_type(query, &type, error))
		return false;
	cairn_profile_init(&profile);
	bool good = merge(asking, query, type, &profile, error) && draw(asking, &profile, type, query->most, false, error);
	cairn_profile_free(&profile);
	return good;
}

static bool answer_diff(struct asking *asking, const struct query *query, struct cairn_error *error)
{
	struct query sides[2] = {{0}};
	struct cairn_profile profiles[2], change;
	const struct profile_type *type;
	struct cairn_combine combine;
	if (!cairn_connect_read(query->left, asking->binary, merge_fields, &sides[0], asking->arena, error) ||
	    !cairn_connect_read(query->right, asking->binary, merge_fields, &sides[1], asking->arena, error) ||
	    !find_type(&sides[0], &type, error) || !find_type(&sides[1], &type, error))
		return false;
	for (int i = 0; i < 2; i++)
		cairn_profile_init(&profiles[i]);
	cairn_profile_init(&change);
	bool good = merge(asking, &sides[0], type, &profiles[0], error) && merge(asking, &sides[1], type, &profiles[1], error);
	cairn_combine_start(&combine, &change);
	if (good && profiles[0].sample_count + profiles[1].sample_count > 0)
		good = (profiles[1].sample_count == 0 || cairn_combine_add(&combine, &profiles[1], 1, error)) &&
		       (profiles[0].sample_count == 0 || cairn_combine_add(&combine, &profiles[0], -1, error));
	cairn_combine_finish(&combine);
	good = good && draw(asking, &change, type, sides[1].most, true, error);
	for (int i = 0; i < 2; i++)
		cairn_profile_free(&profiles[i]);
	cairn_profile_free(&change);
	return good;
}

static const struct method {
	const char *name;
	const struct cairn_connect_field *fields;
	bool (*answer)(struct asking *asking, const struct query *query, struct cairn_error *error);
} methods[] = {
	{"ProfileTypes", types_fields, answer_types},
	{"LabelNames", names_fields, answer_names},
	{"LabelValues", values_fields, answer_values},
	{"Series", series_fields, answer_series},
	{"SelectSeries", select_fields, answer_select},
	{"SelectMergeStacktraces", merge_fields, answer_merge},
	{"Diff", diff_fields, answer_diff},
};

bool cairn_pyroscope_is(const struct cairn_request *request)
{
	return cairn_bytes_start_with(request->path, service_path);
}

bool cairn_pyroscope_is_safe(const struct cairn_request *request)
{
	return cairn_bytes_start_with(request->content_type, binary_type) || cairn_bytes_start_with(request->content_type, json_type);
}

/* Errors are JSON even if the client uses protobuf. */
static void fail(struct cairn_response *response, int status, const char *code, const char *message)
{
	cairn_response_start(response, status, json_type);
	struct cairn_json json = cairn_json(&response->body);
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "code", cairn_bytes_of(code));
	cairn_json_text(&json, "message", cairn_bytes_of(message));
	cairn_json_close(&json, '}');
}

void cairn_pyroscope_refuse(struct cairn_response *response, const char *why)
{
	fail(response, 503, "unavailable", why);
	cairn_response_header(response, "Retry-After", "1");
}

/* Answers from the store NAME, which stays open between questions: it knows names by then. */
static bool answer(const struct method *method, const char *name, struct asking *asking, const struct query *query,
		   struct cairn_error *error)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct cairn_store *store;
	pthread_mutex_lock(&lock);
	if (!store)
		store = cairn_store_open(name, error);
	if (store)
		cairn_store_cancel_when(store, asking->gone);
	asking->store = store;
	bool good = store && cairn_store_check(store, error) && method->answer(asking, query, error);
	if (store)
		cairn_store_cancel_when(store, NULL);
	if (!good && !error->usage && !atomic_load(asking->gone)) { /* another connection may do better */
		cairn_store_close(store);
		store = NULL;
	}
	pthread_mutex_unlock(&lock);
	return good;
}

void cairn_pyroscope_answer(const char *name, const char *tenant, struct cairn_exchange *exchange)
{
	const struct cairn_request *request = &exchange->request;
	struct cairn_response *response = &exchange->response;
	struct cairn_bytes wanted = cairn_bytes_skip(request->path, sizeof service_path - 1);
	const struct method *method = NULL;
	struct cairn_arena arena = {0};
	struct cairn_error error = {0};
	struct query query = {0};
	bool binary = cairn_bytes_start_with(request->content_type, binary_type);
	for (size_t i = 0; i < sizeof methods / sizeof *methods && !method; i++)
		if (cairn_bytes_equal(wanted, cairn_bytes_of(methods[i].name)))
			method = &methods[i];
	if (!method) {
		fail(response, 404, "unimplemented",
		     "no such method; cairn serve answers ProfileTypes, LabelNames, LabelValues, Series, SelectSeries, "
		     "SelectMergeStacktraces and Diff");
		return;
	}
	cairn_response_start(response, 200, binary ? binary_type : json_type);
	struct asking asking = {.tenant = tenant, .binary = binary, .arena = &arena, .gone = &exchange->gone,
				.out = cairn_connect_begin(&response->body, binary)};
	bool good = cairn_connect_read(request->body, binary, method->fields, &query, &arena, &error) &&
		    answer(method, name, &asking, &query, &error);
	cairn_connect_end(&asking.out);
	if (!good)
		fail(response, error.usage ? 400 : 503, error.usage ? "invalid_argument" : "unavailable", error.text);
	cairn_arena_free(&arena);
}
