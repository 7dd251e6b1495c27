/* series.c - putting dumps in order and their stacks together.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/series.h"

#include "base/array.h"

#include <stdlib.h>

void cairn_series_start(struct cairn_series *series)
{
	*series = (struct cairn_series){0};
	cairn_profile_init(&series->profile);
	cairn_combine_start(&series->combine, &series->profile);
}

/* The value that goes with the default one and counts objects, or CAIRN_NONE. */
static uint32_t objects_of(const struct cairn_profile *profile)
{
	return cairn_profile_find_value(profile, "inuse_objects");
}

bool cairn_series_add(struct cairn_series *series, const struct cairn_profile *part, const char *path, struct cairn_error *error)
{
	if (!cairn_combine_add(&series->combine, part, 1, error))
		return false;
	uint32_t point = (uint32_t)series->point_count, objects = objects_of(part);
	double total = 0;
	series->cells = cairn_array_reserve(series->cells, &series->cell_capacity, series->cell_count + part->sample_count, sizeof *series->cells);
	for (size_t i = 0; i < part->sample_count; i++) {
		const double *values = cairn_profile_values(part, i);
		total += values[part->default_value];
		series->cells[series->cell_count++] = (struct cairn_series_cell){
			.row = series->combine.places[i],
			.point = point,
			.value = values[part->default_value],
			.objects = objects == CAIRN_NONE ? 0 : values[objects],
			.sampled = part->sampled ? part->sampled[i] : 0,
		};
	}
	cairn_array_room(series->points, series->point_count, series->point_capacity);
	series->points[series->point_count++] = (struct cairn_series_point){
		.time_ns = part->time_ns,
		.process_id = part->process_id,
		.total = total,
		.path = cairn_arena_text(&series->arena, cairn_bytes_of(path)),
	};
	return true;
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct cairn_series_point *points = context, *left = &points[*(const uint32_t *)a], *right = &points[*(const uint32_t *)b];
	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return strcmp(left->path, right->path);
}

static bool same_point(const struct cairn_series_point *a, const struct cairn_series_point *b)
{
	return a->time_ns == b->time_ns && a->process_id == b->process_id && a->total == b->total;
}

static uint32_t *numbers(size_t count)
{
	uint32_t *result = malloc((count + 1) * sizeof *result);
	if (!result)
		cairn_out_of_memory(count * sizeof *result);
	return result;
}

/* Sorts the points, drops repeated ones, and says in PLACE where each went; CAIRN_NONE for those dropped. */
static size_t sort_points(struct cairn_series *series, uint32_t *place)
{
	size_t count = series->point_count, kept = 0;
	uint32_t *order = numbers(count), run = 0;
	struct cairn_series_point *sorted = malloc((count + 1) * sizeof *sorted);
	if (!sorted)
		cairn_out_of_memory(count * sizeof *sorted);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof *order, by_time, series->points);
	for (size_t i = 0; i < count; i++) {
		struct cairn_series_point point = series->points[order[i]];
		if (kept && same_point(&point, &sorted[kept - 1])) {
			place[order[i]] = CAIRN_NONE;
			continue;
		}
		if (kept && point.process_id != sorted[kept - 1].process_id)
			run++;
		point.run = run;
		place[order[i]] = (uint32_t)kept;
		sorted[kept++] = point;
	}
	free(order);
	free(series->points);
	series->points = sorted;
	series->point_count = kept;
	return count - kept;
}

static int by_row(const void *a, const void *b)
{
	const struct cairn_series_cell *left = a, *right = b;
	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	return left->point < right->point ? -1 : left->point > right->point;
}

void cairn_series_finish(struct cairn_series *series, size_t *duplicates)
{
	cairn_combine_finish(&series->combine);
	uint32_t *place = numbers(series->point_count);
	*duplicates = sort_points(series, place);
	size_t kept = 0, rows = series->profile.sample_count;
	for (size_t i = 0; i < series->cell_count; i++) {
		struct cairn_series_cell cell = series->cells[i];
		cell.point = place[cell.point];
		if (cell.point != CAIRN_NONE)
			series->cells[kept++] = cell;
	}
	series->cell_count = kept;
	free(place);
	if (kept)
		qsort(series->cells, kept, sizeof *series->cells, by_row);
	series->first = calloc(rows + 2, sizeof *series->first);
	if (!series->first)
		cairn_out_of_memory(rows * sizeof *series->first);
	for (size_t row = 0, cell = 0; row <= rows; row++) {
		while (cell < kept && series->cells[cell].row < row)
			cell++;
		series->first[row] = cell;
	}
}

void cairn_series_free(struct cairn_series *series)
{
	cairn_profile_free(&series->profile);
	cairn_arena_free(&series->arena);
	free(series->points);
	free(series->cells);
	free(series->first);
	*series = (struct cairn_series){0};
}
