/* leaks.c - judges each process, then all of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/leaks.h"

#include "base/array.h"
#include "base/text.h"
#include "fleet/survey.h"
#include "report/view.h"

#include <stdlib.h>

static bool add_point(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	return cairn_series_add(context, profile, "a snapshot of the store", error);
}

/* The points of PROCESS to look at, at most CAIRN_COURSE_POINTS, into WANTED. Where there are enough whole snapshots, only these: what is
 * between them is known within its error bar only, and would look steadier than it is. Returns how many. */
static size_t choose_points(const struct cairn_store_process *process, size_t *wanted)
{
	enum { enough = 12 };
	size_t *whole = cairn_array_new(process->point_count, sizeof *whole), whole_count = 0;
	for (size_t i = 0; i < process->point_count; i++)
		if (process->points[i].base_ns == 0)
			whole[whole_count++] = i;
	bool only_whole = whole_count >= enough;
	size_t all = only_whole ? whole_count : process->point_count, count = all < CAIRN_COURSE_POINTS ? all : CAIRN_COURSE_POINTS;
	for (size_t i = 0; i < count; i++) {
		size_t at = count > 1 ? i * (all - 1) / (count - 1) : 0;
		wanted[i] = only_whole ? whole[at] : at;
	}
	free(whole);
	return count;
}

/* Judges one process by itself and adds what it shows to FLEET; one with too few snapshots is left out. */
static bool judge_process(struct cairn_store *store, const struct cairn_store_process *process, struct cairn_fleet *fleet,
			  struct cairn_error *error)
{
	struct cairn_series series;
	struct cairn_view view = {0};
	struct cairn_view_options options = {.fold_wrappers = true};
	size_t wanted[CAIRN_COURSE_POINTS], duplicates, count = choose_points(process, wanted);
	if (count < CAIRN_FLEET_LEAST_DUMPS)
		return true;
	cairn_series_start(&series);
	bool good = cairn_store_profiles(store, process, wanted, count, add_point, &series, error);
	cairn_series_finish(&series, &duplicates);
	good = good && cairn_view_make(&view, &series.profile, &options, error);
	if (good && series.point_count >= CAIRN_FLEET_LEAST_DUMPS) {
		struct cairn_leaks leaks;
		cairn_leaks_rank(&leaks, &series, &view);
		int64_t start = process->start_ns < process->points[0].time_ns ? process->start_ns : 0;
		cairn_fleet_add(fleet, process->version, start, &leaks, &series, &view);
		cairn_leaks_free(&leaks);
	}
	cairn_view_free(&view);
	cairn_series_free(&series);
	return good;
}

/* The instants at which the instances are compared: about as many as most of them have snapshots. */
static struct cairn_cohort_grid make_grid(const struct cairn_store_processes *processes)
{
	int64_t from = INT64_MAX, to = 0, youngest = INT64_MAX, oldest = 0;
	size_t points = 0, judged = 0;
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		int64_t first = process->points[0].time_ns, last = cairn_store_last(process)->time_ns;
		int64_t start = process->start_ns && process->start_ns < first ? process->start_ns : first;
		if (process->point_count < CAIRN_FLEET_LEAST_DUMPS)
			continue;
		from = first < from ? first : from;
		to = last > to ? last : to;
		youngest = first - start < youngest ? first - start : youngest;
		oldest = last - start > oldest ? last - start : oldest;
		points += process->point_count;
		judged++;
	}
	return cairn_cohort_grid_make(from, to, youngest, oldest, judged ? points / judged : 0);
}

bool cairn_fleet_judge_processes(struct cairn_store *store, const struct cairn_store_processes *processes, struct cairn_fleet *fleet,
				 struct cairn_error *error)
{
	bool done;
	fleet->grid = make_grid(processes);
	if (!cairn_fleet_survey(store, processes, fleet, &done, error))
		return false;
	for (size_t i = 0; !done && i < processes->count; i++)
		if (!judge_process(store, &processes->items[i], fleet, error))
			return false;
	cairn_fleet_judge(fleet);
	return true;
}
