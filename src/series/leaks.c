/* leaks.c - ranking.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/leaks.h"

#include "base/array.h"
#include "base/pool.h"

#include <math.h>
#include <stdlib.h>

/* What one worker needs for itself. */
struct desk {
	struct cairn_series_value *values;
	double *amounts;
	struct cairn_trend_judge judge;
};

struct work {
	const struct cairn_series *series;
	struct cairn_leaks *leaks;
	struct desk *desks;
	struct cairn_trend_clock clock;
};

static void judge(const struct work *work, struct desk *desk, size_t comparisons, struct cairn_trend *trend)
{
	double sum = 0, coming = 0;
	for (size_t i = 0; i < work->series->point_count; i++) {
		desk->amounts[i] = desk->values[i].value;
		sum += desk->values[i].value;
		coming += desk->values[i].coming;
	}
	cairn_trend_judge(trend, &desk->judge, desk->amounts, sum > 0 ? coming / sum : 0, comparisons);
}

static void judge_path(void *context, size_t path, unsigned worker)
{
	const struct work *work = context;
	struct desk *desk = &work->desks[worker];
	struct cairn_leak *leak = &work->leaks->rows[path];
	cairn_series_paths_values(&work->leaks->paths, path, desk->values);
	*leak = (struct cairn_leak){.path = (uint32_t)path, .now = desk->values[work->series->point_count - 1]};
	judge(work, desk, work->leaks->count, &leak->trend);
}

static void judge_total(struct work *work)
{
	const struct cairn_series *series = work->series;
	struct desk *desk = &work->desks[0];
	memset(desk->values, 0, series->point_count * sizeof *desk->values);
	for (size_t c = 0; c < series->cell_count; c++) {
		const struct cairn_series_cell *cell = &series->cells[c];
		desk->values[cell->point].value += cell->value;
		cairn_spread_add(&desk->values[cell->point].spread, cairn_spread_of(cell->value, cell->weight));
		desk->values[cell->point].coming += cell->value * cell->unit;
	}
	work->leaks->now = desk->values[series->point_count - 1];
	judge(work, desk, 1, &work->leaks->total);
}

static int by_rank(const void *a, const void *b)
{
	const struct cairn_leak *left = a, *right = b;
	bool left_grows = left->trend.verdict == CAIRN_GROWING, right_grows = right->trend.verdict == CAIRN_GROWING;
	if (left_grows != right_grows)
		return left_grows ? -1 : 1;
	double l = left_grows ? left->trend.per_hour : left->now.value, r = left_grows ? right->trend.per_hour : right->now.value;
	if (l != r)
		return l > r ? -1 : 1;
	return left->path < right->path ? -1 : left->path > right->path;
}

static void rank(struct cairn_leaks *leaks)
{
	for (size_t i = 0; i < leaks->count; i++)
		if (leaks->rows[i].trend.verdict == CAIRN_GROWING) {
			leaks->growing++;
			leaks->per_hour += leaks->rows[i].trend.per_hour;
		}
	for (size_t i = 0; i < leaks->count; i++)
		if (leaks->rows[i].trend.verdict == CAIRN_GROWING)
			leaks->rows[i].share = leaks->rows[i].trend.per_hour / leaks->per_hour;
	qsort(leaks->rows, leaks->count, sizeof *leaks->rows, by_rank);
}

void cairn_leaks_rank(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_view *view)
{
	*leaks = (struct cairn_leaks){0};
	cairn_series_paths_make(&leaks->paths, series, view);
	leaks->count = leaks->paths.paths.count;
	leaks->rows = cairn_array_zero(leaks->count, sizeof *leaks->rows);
	leaks->hours = cairn_series_hours(series, series->point_count - 1);

	unsigned width = cairn_pool_width();
	struct work work = {series, leaks, cairn_array_zero(width, sizeof *work.desks), {{0}, {0}, {0}, 0}};
	double *hours = cairn_array_zero(series->point_count, sizeof *hours);
	uint32_t *run = cairn_array_zero(series->point_count, sizeof *run);
	for (size_t i = 0; i < series->point_count; i++) {
		hours[i] = cairn_series_hours(series, i);
		run[i] = series->points[i].run;
	}
	cairn_trend_clock_make(&work.clock, hours, run, series->point_count);
	for (unsigned i = 0; i < width; i++) {
		work.desks[i].values = cairn_array_zero(series->point_count, sizeof *work.desks->values);
		work.desks[i].amounts = cairn_array_zero(series->point_count, sizeof *work.desks->amounts);
		cairn_trend_judge_open(&work.desks[i].judge, &work.clock);
	}
	cairn_pool_run(leaks->count, judge_path, &work);
	judge_total(&work);
	rank(leaks);
	for (unsigned i = 0; i < width; i++) {
		free(work.desks[i].values);
		free(work.desks[i].amounts);
		cairn_trend_judge_close(&work.desks[i].judge);
	}
	free(hours);
	free(run);
	free(work.desks);
}

void cairn_leaks_free(struct cairn_leaks *leaks)
{
	cairn_series_paths_free(&leaks->paths);
	free(leaks->rows);
	*leaks = (struct cairn_leaks){0};
}
