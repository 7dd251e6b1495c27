/* leaks.c - ranking.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/leaks.h"

#include "base/pool.h"

#include <math.h>
#include <stdlib.h>

static void *cleared(size_t count, size_t size)
{
	void *result = calloc(count + 1, size);
	if (!result)
		cairn_out_of_memory(count * size);
	return result;
}


/* The variance of an estimate that rests on SAMPLED samples: n objects, each seen with chance p, stand for n/p; of the
 * sizes only the mean is known. */
static double variance(const struct cairn_series_cell *cell)
{
	if (cell->sampled <= 0 || cell->objects <= 0 || cell->value <= 0)
		return 0;
	double seen = fmin(1, cell->sampled / cell->objects);
	return cell->value * cell->value / cell->sampled * (1 - seen);
}

struct work {
	const struct cairn_series *series;
	const uint32_t *path_of; /* per row */
	const size_t *rows_first; /* per path, its rows in `rows` */
	const uint32_t *rows;
	struct cairn_leaks *leaks;
	size_t comparisons;
	double **scratch; /* per worker */
	struct cairn_trend_point **points;
};

static void fill_points(const struct work *work, size_t path, struct cairn_trend_point *points)
{
	const struct cairn_series *series = work->series;
	for (size_t i = 0; i < series->point_count; i++)
		points[i] = (struct cairn_trend_point){
			.hours = (double)(series->points[i].time_ns - series->points[0].time_ns) / 3.6e12,
			.run = series->points[i].run,
		};
	for (size_t r = work->rows_first[path]; r < work->rows_first[path + 1]; r++)
		for (size_t c = series->first[work->rows[r]]; c < series->first[work->rows[r] + 1]; c++) {
			const struct cairn_series_cell *cell = &series->cells[c];
			points[cell->point].value += cell->value;
			points[cell->point].error += variance(cell);
		}
	for (size_t i = 0; i < series->point_count; i++)
		points[i].error = sqrt(points[i].error);
}

static void judge_path(void *context, size_t path, unsigned worker)
{
	const struct work *work = context;
	struct cairn_trend_point *points = work->points[worker];
	size_t count = work->series->point_count;
	fill_points(work, path, points);
	struct cairn_leak *leak = &work->leaks->rows[path];
	*leak = (struct cairn_leak){.path = (uint32_t)path, .now = points[count - 1].value, .error = points[count - 1].error};
	cairn_trend_judge(&leak->trend, points, count, work->comparisons, work->scratch[worker]);
}

static void judge_total(struct work *work)
{
	struct cairn_trend_point *points = work->points[0];
	const struct cairn_series *series = work->series;
	for (size_t i = 0; i < series->point_count; i++)
		points[i] = (struct cairn_trend_point){
			.hours = (double)(series->points[i].time_ns - series->points[0].time_ns) / 3.6e12,
			.value = series->points[i].total,
			.run = series->points[i].run,
		};
	for (size_t c = 0; c < series->cell_count; c++)
		points[series->cells[c].point].error += variance(&series->cells[c]);
	for (size_t i = 0; i < series->point_count; i++)
		points[i].error = sqrt(points[i].error);
	cairn_trend_judge(&work->leaks->total, points, series->point_count, 1, work->scratch[0]);
}

static int by_rank(const void *a, const void *b)
{
	const struct cairn_leak *left = a, *right = b;
	bool left_grows = left->trend.verdict == CAIRN_GROWING, right_grows = right->trend.verdict == CAIRN_GROWING;
	if (left_grows != right_grows)
		return left_grows ? -1 : 1;
	double l = left_grows ? left->trend.per_hour : left->now, r = left_grows ? right->trend.per_hour : right->now;
	if (l != r)
		return l > r ? -1 : 1;
	return left->path < right->path ? -1 : left->path > right->path;
}

/* Groups the rows of the series by the path the view shows them as. */
static uint32_t *group_rows(struct cairn_leaks *leaks, struct cairn_view *view, size_t row_count, size_t **rows_first, uint32_t **rows)
{
	uint32_t *path_of = cleared(row_count, sizeof *path_of);
	memset(path_of, 0xff, row_count * sizeof *path_of);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		path_of[view->samples[i]] = cairn_paths_add(&leaks->paths, stack, depth);
	}
	*rows_first = cleared(leaks->paths.count + 1, sizeof **rows_first);
	*rows = cleared(row_count, sizeof **rows);
	for (size_t row = 0; row < row_count; row++)
		if (path_of[row] != CAIRN_NONE)
			(*rows_first)[path_of[row] + 1]++;
	for (size_t p = 0; p < leaks->paths.count; p++)
		(*rows_first)[p + 1] += (*rows_first)[p];
	size_t *next = cleared(leaks->paths.count, sizeof *next);
	for (size_t row = 0; row < row_count; row++)
		if (path_of[row] != CAIRN_NONE)
			(*rows)[(*rows_first)[path_of[row]] + next[path_of[row]]++] = (uint32_t)row;
	free(next);
	return path_of;
}

void cairn_leaks_rank(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_view *view)
{
	*leaks = (struct cairn_leaks){0};
	size_t points = series->point_count, *rows_first;
	uint32_t *rows;
	uint32_t *path_of = group_rows(leaks, view, series->profile.sample_count, &rows_first, &rows);
	leaks->count = leaks->paths.count;
	leaks->rows = cleared(leaks->count, sizeof *leaks->rows);
	leaks->hours = (double)(series->points[points - 1].time_ns - series->points[0].time_ns) / 3.6e12;

	unsigned width = cairn_pool_width();
	struct work work = {series, path_of, rows_first, rows, leaks, leaks->count, cleared(width, sizeof *work.scratch), cleared(width, sizeof *work.points)};
	for (unsigned i = 0; i < width; i++) {
		work.scratch[i] = cleared(cairn_trend_scratch(points), sizeof **work.scratch);
		work.points[i] = cleared(points, sizeof **work.points);
	}
	cairn_pool_run(leaks->count, judge_path, &work);
	judge_total(&work);

	for (size_t i = 0; i < leaks->count; i++)
		if (leaks->rows[i].trend.verdict == CAIRN_GROWING) {
			leaks->growing++;
			leaks->per_hour += leaks->rows[i].trend.per_hour;
		}
	for (size_t i = 0; i < leaks->count; i++)
		if (leaks->rows[i].trend.verdict == CAIRN_GROWING)
			leaks->rows[i].share = leaks->rows[i].trend.per_hour / leaks->per_hour;
	qsort(leaks->rows, leaks->count, sizeof *leaks->rows, by_rank);
	for (unsigned i = 0; i < width; i++) {
		free(work.scratch[i]);
		free(work.points[i]);
	}
	free(work.scratch);
	free(work.points);
	free(path_of);
	free(rows_first);
	free(rows);
}

void cairn_leaks_free(struct cairn_leaks *leaks)
{
	cairn_paths_free(&leaks->paths);
	free(leaks->rows);
	*leaks = (struct cairn_leaks){0};
}
