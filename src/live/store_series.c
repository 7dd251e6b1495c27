/* store_series.c - instants of a fleet, and sums of its snapshots at each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/store_series.h"

#include "base/array.h"
#include "base/strings.h"
#include "base/time.h"
#include "profile/combine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { silent_times = 3 };

/* The usual time between two snapshots of PROCESS; 0 where there is only one. */
static int64_t interval(const struct cairn_store_process *process)
{
	int64_t first = process->first_ns ? process->first_ns : process->points[0].time_ns;
	size_t count = process->first_ns ? process->snapshots : process->point_count;
	return count > 1 ? (cairn_store_last(process)->time_ns - first) / (int64_t)(count - 1) : 0;
}

/* How long PROCESS counts after a snapshot that no other follows. */
static int64_t patience(const struct cairn_store_process *process)
{
	return silent_times * interval(process);
}

size_t cairn_fleet_point_at(const struct cairn_store_process *process, int64_t time_ns)
{
	size_t low = 0, high = process->point_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (process->points[middle].time_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return SIZE_MAX;
	const struct cairn_store_point *point = &process->points[low - 1];
	bool over = low == process->point_count && point->time_ns != time_ns &&
		    (point->ended[0] || time_ns - point->time_ns > patience(process));
	return over ? SIZE_MAX : low - 1;
}

bool cairn_fleet_is_gone(const struct cairn_store_process *process, int64_t now_ns)
{
	static const int64_t silence_ns = 600 * (int64_t)CAIRN_SECOND_NS;
	const struct cairn_store_point *last = cairn_store_last(process);
	return last->ended[0] || (now_ns - last->time_ns > silence_ns && cairn_fleet_point_at(process, now_ns) == SIZE_MAX);
}

/* Since when PROCESS was there, at the earliest from FIRST_NS on: since it started, if that is known, else since its first snapshot. */
static int64_t begin_of(const struct cairn_store_process *process, int64_t first_ns)
{
	int64_t seen_ns = process->points[0].time_ns;
	if (process->start_ns <= 0 || process->start_ns > seen_ns)
		return seen_ns;
	return process->start_ns > first_ns ? process->start_ns : first_ns;
}

double cairn_fleet_shares(const struct cairn_store_processes *processes, double *shares)
{
	int64_t first, last;
	double usual = 0, sum = 0;
	size_t repeated = 0;
	cairn_store_span(processes, &first, &last);
	for (size_t i = 0; i < processes->count; i++) {
		repeated += interval(&processes->items[i]) > 0;
		usual += (double)interval(&processes->items[i]);
	}
	usual = repeated ? usual / (double)repeated : 0;
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		const struct cairn_store_point *end = cairn_store_last(process);
		double own = interval(process) ? (double)interval(process) : usual, silent = (double)(last - end->time_ns);
		double there = (double)(end->time_ns - begin_of(process, first));
		if (!end->ended[0])
			there += silent <= silent_times * own ? silent : own;
		there = there < own ? own : there;
		/* Where each has one snapshot, nothing is known about how long they are there. */
		shares[i] = repeated && there < (double)(last - first) ? there / (double)(last - first) : 1;
		sum += shares[i];
	}
	return sum;
}

/* The machines that processes run on. */
struct machines {
	struct cairn_strings names;
	uint32_t *of;   /* by process */
	double *memory; /* by machine, as far as it is counted */
};

static void find_machines(struct machines *machines, const struct cairn_store_processes *processes)
{
	*machines = (struct machines){.of = cairn_array_zero(processes->count, sizeof *machines->of)};
	for (size_t i = 0; i < processes->count; i++)
		machines->of[i] = cairn_strings_add_text(&machines->names, processes->items[i].host);
	machines->memory = cairn_array_zero(machines->names.count + 1, sizeof *machines->memory);
}

static void count_instances(const struct cairn_store_processes *processes, const struct machines *machines,
			    struct cairn_fleet_instant *instant)
{
	bool limited = true;
	size_t grouped = 0;
	memset(machines->memory, 0, (machines->names.count + 1) * sizeof *machines->memory);
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		size_t at = cairn_fleet_point_at(process, instant->time_ns);
		if (at == SIZE_MAX)
			continue;
		const struct cairn_store_point *point = &process->points[at];
		instant->instances++;
		instant->live += point->bytes;
		instant->resident += point->resident;
		double *counted = &machines->memory[machines->of[i]];
		grouped += point->limit_of_group;
		if (point->limit_of_group) {
			instant->limit += point->limit;
		} else if (point->limit > *counted) {
			instant->limit += point->limit - *counted;
			instant->machines += *counted == 0;
			*counted = point->limit;
		}
		instant->who += process->instance;
		limited &= point->limit > 0;
	}
	if (!limited || (grouped > 0 && grouped < instant->instances)) {
		instant->limit = 0;
		instant->machines = 0;
	}
}

/* When a single process has snapshots. */
static size_t instants_of(const struct cairn_store_process *process, struct cairn_fleet_instant *instants)
{
	size_t chosen[CAIRN_FLEET_INSTANTS], count = cairn_store_choose_points(process, CAIRN_FLEET_INSTANTS, chosen);
	for (size_t i = 0; i < count; i++)
		instants[i] = (struct cairn_fleet_instant){.time_ns = process->points[chosen[i]].time_ns};
	return count;
}

/* As many as one of PROCESSES has snapshots, spread evenly over the time of all of them. */
static size_t spread_instants(const struct cairn_store_processes *processes, struct cairn_fleet_instant *instants)
{
	int64_t first, last;
	size_t count = 0;
	cairn_store_span(processes, &first, &last);
	for (size_t i = 0; i < processes->count; i++)
		count = processes->items[i].point_count > count ? processes->items[i].point_count : count;
	count = count < CAIRN_FLEET_INSTANTS ? count : CAIRN_FLEET_INSTANTS;
	count = last > first && count < 2 ? 2 : count;
	for (size_t i = 0; i < count; i++) {
		double share = count > 1 ? (double)i / (double)(count - 1) : 1;
		instants[i] = (struct cairn_fleet_instant){.time_ns = first + (int64_t)((double)(last - first) * share)};
	}
	if (count > 0)
		instants[count - 1].time_ns = last;
	return count;
}

size_t cairn_fleet_instants(const struct cairn_store_processes *processes, struct cairn_fleet_instant *instants)
{
	size_t count = processes->count == 1 ? instants_of(&processes->items[0], instants) : spread_instants(processes, instants);
	struct machines machines;
	find_machines(&machines, processes);
	for (size_t i = 0; i < count; i++)
		count_instances(processes, &machines, &instants[i]);
	cairn_strings_free(&machines.names);
	free(machines.of);
	free(machines.memory);
	return count;
}

struct sums {
	struct cairn_profile profiles[CAIRN_FLEET_INSTANTS];
	struct cairn_combine combines[CAIRN_FLEET_INSTANTS];
	double factors[CAIRN_FLEET_INSTANTS];
	/* The process that is being added: its wanted points, and from which instant on and up to which each of them counts. */
	size_t from[CAIRN_FLEET_INSTANTS], end[CAIRN_FLEET_INSTANTS], at;
};

static bool add_profile(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	struct sums *sums = context;
	for (size_t i = sums->from[sums->at]; i < sums->end[sums->at]; i++)
		if (!cairn_combine_add(&sums->combines[i], profile, sums->factors[i], error))
			return false;
	sums->at++;
	return true;
}

static bool add_process(struct cairn_store *store, const struct cairn_store_process *process, const struct cairn_fleet_instant *instants,
			size_t count, struct sums *sums, struct cairn_error *error)
{
	size_t wanted[CAIRN_FLEET_INSTANTS], wanted_count = 0;
	for (size_t i = 0; i < count; i++) {
		size_t at = cairn_fleet_point_at(process, instants[i].time_ns);
		if (at == SIZE_MAX)
			continue;
		if (wanted_count == 0 || wanted[wanted_count - 1] != at) {
			sums->from[wanted_count] = i;
			wanted[wanted_count++] = at;
		}
		sums->end[wanted_count - 1] = i + 1;
	}
	sums->at = 0;
	return wanted_count == 0 || cairn_store_profiles(store, process, wanted, wanted_count, add_profile, sums, error);
}

bool cairn_fleet_same_instances(const struct cairn_fleet_instant *one, const struct cairn_fleet_instant *other)
{
	enum { few = 50 };
	size_t more = one->instances > other->instances ? one->instances - other->instances : other->instances - one->instances;
	return one->who == other->who || (one->instances >= few && more * few <= one->instances);
}

bool cairn_fleet_sums(struct cairn_store *store, const struct cairn_store_processes *processes, const struct cairn_fleet_instant *instants,
		      size_t count, bool mean,
		      bool (*visit)(void *context, struct cairn_profile *sum, const struct cairn_fleet_instant *instant,
				    struct cairn_error *error),
		      void *context, struct cairn_error *error)
{
	struct sums *sums = cairn_array_zero(1, sizeof *sums);
	uint64_t run = 1;
	bool good = true;
	for (size_t i = 0; i < count; i++) {
		cairn_profile_init(&sums->profiles[i]);
		cairn_combine_start(&sums->combines[i], &sums->profiles[i]);
		sums->factors[i] = mean && instants[i].instances ? 1 / (double)instants[i].instances : 1;
	}
	for (size_t i = 0; good && i < processes->count; i++)
		good = add_process(store, &processes->items[i], instants, count, sums, error);
	for (size_t i = 0; i < count; i++) {
		struct cairn_profile *sum = &sums->profiles[i];
		run += i > 0 && !cairn_fleet_same_instances(&instants[i - 1], &instants[i]);
		cairn_combine_finish(&sums->combines[i]);
		sum->facts.process_id = run;
		sum->facts.start_ns = 0;
		sum->facts.time_ns = instants[i].time_ns;
		sum->facts.resident_bytes = instants[i].resident * sums->factors[i];
		sum->facts.limit_bytes = instants[i].limit * sums->factors[i];
		sum->facts.limit_of_group = instants[i].limit > 0 && instants[i].machines == 0;
		if (good && instants[i].instances > 0)
			good = visit(context, sum, &instants[i], error);
	}
	for (size_t i = 0; i < count; i++)
		cairn_profile_free(&sums->profiles[i]);
	free(sums);
	return good;
}

struct addition {
	struct cairn_series *series;
	const struct cairn_view_options *view;
	const char *process;
};

static bool add_sum(void *context, struct cairn_profile *sum, const struct cairn_fleet_instant *instant, struct cairn_error *error)
{
	const struct addition *addition = context;
	char place[80];
	snprintf(place, sizeof place, "%zu instance%s", instant->instances, instant->instances == 1 ? "" : "s");
	sum->facts.process = cairn_profile_text(sum, addition->process);
	return cairn_view_choose(sum, addition->view, &sum->default_value, error) && cairn_series_add(addition->series, sum, place, error);
}

bool cairn_fleet_source_series(struct cairn_series *series, const char *name, const struct cairn_view_options *view,
			       struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	struct cairn_fleet_options options = {0};
	struct cairn_store_processes processes = {0};
	struct cairn_fleet_instant instants[CAIRN_FLEET_INSTANTS];
	char text[200];
	bool good = cairn_fleet_source_parse(name, &arena, &options, error);
	struct cairn_store *store = good ? cairn_fleet_ask(&options, CAIRN_DAY_NS, &processes, error) : NULL;
	size_t count = store ? cairn_fleet_instants(&processes, instants) : 0;
	snprintf(text, sizeof text, "%.100s, %s its instances", options.service ? options.service : "all services",
		 options.per_instance ? "the mean of" : "the sum of");
	struct addition addition = {series, view, text};
	good = store && cairn_fleet_sums(store, &processes, instants, count, options.per_instance, add_sum, &addition, error);
	cairn_store_processes_free(&processes);
	cairn_store_close(store);
	cairn_arena_free(&arena);
	return good;
}
