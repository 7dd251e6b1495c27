/* paths.c - groups rows by call path.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/paths.h"

#include "base/array.h"
#include "series/law.h"

#include <math.h>
#include <stdlib.h>

static bool ever_held(const struct cairn_series *series, uint32_t row)
{
	for (size_t c = series->first[row]; c < series->first[row + 1]; c++)
		if (series->cells[c].value != 0)
			return true;
	return false;
}

/* Whether rows that never held anything are left out: stacks that jemalloc lists for what they once allocated (prof_accum) have no course
 * to judge. Where lifetimes are known, such stacks say how long objects live, and stay. */
static bool leaves_out_empty(const struct cairn_series *series, const struct cairn_view *view)
{
	for (size_t i = 0; i < view->sample_count && !(series->lives.seconds > 0); i++)
		if (ever_held(series, view->samples[i]))
			return true;
	return false;
}

/* The path of each row; CAIRN_NONE for rows that are left out. */
static uint32_t *find_paths(struct cairn_paths *paths, const struct cairn_series *series, struct cairn_view *view, size_t row_count)
{
	uint32_t *path_of = cairn_array_none(row_count);
	bool filled = leaves_out_empty(series, view);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		if (filled && !ever_held(series, view->samples[i]))
			continue;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		path_of[view->samples[i]] = cairn_paths_add(paths, stack, depth);
	}
	return path_of;
}

void cairn_series_paths_make(struct cairn_series_paths *paths, const struct cairn_series *series, struct cairn_view *view)
{
	*paths = (struct cairn_series_paths){.series = series};
	size_t row_count = series->profile.sample_count;
	uint32_t *path_of = find_paths(&paths->paths, series, view, row_count);
	size_t count = paths->paths.count;
	paths->first = cairn_array_zero(count + 2, sizeof *paths->first);
	paths->rows = cairn_array_zero(row_count, sizeof *paths->rows);
	for (size_t row = 0; row < row_count; row++)
		if (path_of[row] != CAIRN_NONE)
			paths->first[path_of[row] + 2]++;
	for (size_t p = 0; p < count; p++)
		paths->first[p + 2] += paths->first[p + 1];
	for (size_t row = 0; row < row_count; row++)
		if (path_of[row] != CAIRN_NONE)
			paths->rows[paths->first[path_of[row] + 1]++] = (uint32_t)row;
	free(path_of);
}

void cairn_series_paths_free(struct cairn_series_paths *paths)
{
	cairn_paths_free(&paths->paths);
	free(paths->first);
	free(paths->rows);
	*paths = (struct cairn_series_paths){0};
}

/* About how many samples a value consists of, the large ones above all. */
static double samples_of(const struct cairn_series_value *value)
{
	return value->coming > 0 ? value->value * value->value / value->coming : 0;
}

/* If the number of samples stays the same while their bytes change, objects are resized, as a buffer that grows is, and nothing comes or
 * goes: then the path moves by pieces as large as its median step, not by whole objects. */
static void note_resized(const struct cairn_series *series, struct cairn_series_value *values)
{
	size_t count = series->point_count, changes = 0;
	double *steps = cairn_array_new(count, sizeof *steps);
	bool same = true;
	for (size_t i = 1; i < count && same; i++) {
		double step = fabs(values[i].value - values[i - 1].value);
		bool goes_on = series->points[i].run == series->points[i - 1].run && values[i].value > 0 && values[i - 1].value > 0;
		same = !goes_on || round(samples_of(&values[i])) == round(samples_of(&values[i - 1]));
		if (goes_on && step > 0)
			steps[changes++] = step;
	}
	if (same && changes > 0) {
		qsort(steps, changes, sizeof *steps, cairn_law_compare);
		for (size_t i = 0; i < count; i++) {
			values[i].coming = values[i].value * steps[changes / 2];
			values[i].unsure = values[i].resized = values[i].value;
		}
	}
	free(steps);
}

static void add_cell(struct cairn_series_value *value, const struct cairn_series_cell *cell)
{
	value->value += cell->value;
	cairn_spread_add(&value->spread, cairn_series_cell_spread(cell));
	value->coming += cell->value * cell->unit;
	value->unsure += cell->unsure ? cell->value : 0;
	value->allocated += cell->allocated;
	value->uncounted |= cell->allocated < 0;
}

void cairn_series_paths_values(const struct cairn_series_paths *paths, size_t path, struct cairn_series_value *values)
{
	const struct cairn_series *series = paths->series;
	memset(values, 0, series->point_count * sizeof *values);
	for (size_t r = paths->first[path]; r < paths->first[path + 1]; r++)
		for (size_t c = series->first[paths->rows[r]]; c < series->first[paths->rows[r] + 1]; c++) {
			const struct cairn_series_cell *cell = &series->cells[c];
			add_cell(&values[cell->point], cell);
		}
	if (cairn_profile_in_bytes(&series->profile, series->profile.default_value))
		note_resized(series, values);
}

/* Counts all samples that came and went, if the dumps record what was ever allocated. That number falls only if the process is another one
 * or its profile was reset; then what was before is ignored, as is the first appearance of a path. */
static void count_events(struct cairn_unit_size *unit, const struct cairn_series_value *values, size_t count)
{
	double came = 0, change = 0;
	unit->counted = count > 1 && unit->amount > 0 && unit->known; /* with objects of several large sizes, one sample may look like
								       * many */
	for (size_t i = 1; i < count; i++) {
		double more = values[i].allocated - values[i - 1].allocated;
		unit->counted &= !values[i].uncounted && !values[i - 1].uncounted;
		bool begins = more < 0 || values[i - 1].allocated <= 0;
		came = begins ? 0 : came + more;
		change = begins ? 0 : change + values[i].value - values[i - 1].value;
	}
	unit->came = unit->counted ? came / unit->amount : 0;
	unit->went = unit->counted ? fmax(0, came - change) / unit->amount : 0;
	unit->counted &= unit->came > 0;
}

struct cairn_unit_size cairn_series_unit(const struct cairn_series_value *values, size_t count)
{
	static const double tolerated = 0.1; /* the share of a path that may come and go in larger pieces, or is not resized */
	static const double seen_share = 0.01; /* of the noise of a path's objects: sampling adds hardly any */
	double sum = 0, coming = 0, unsure = 0, resized = 0, variance = 0;
	for (size_t i = 0; i < count; i++) {
		resized += values[i].resized;
		variance += values[i].spread.variance;
		sum += values[i].value;
		coming += values[i].coming;
		unsure += values[i].unsure;
	}
	struct cairn_unit_size unit = {
		.amount = sum > 0 ? coming / sum : 0,
		.known = unsure <= tolerated * sum,
		.resized = sum > 0 && resized >= (1 - tolerated) * sum,
		.all_seen = variance <= seen_share * coming,
	};
	count_events(&unit, values, count);
	return unit;
}

struct cairn_interval cairn_series_interval(const struct cairn_series *series, const struct cairn_series_value *value)
{
	static const double tolerated = 0.05; /* the share of a value with an unknown error */
	if (!series->knows_errors || value->spread.unknown > tolerated * fabs(value->value))
		return (struct cairn_interval){NAN, NAN};
	return cairn_spread_interval(value->value, value->spread);
}

struct cairn_bytes cairn_series_paths_name(const struct cairn_series_paths *paths, const struct cairn_view *view, size_t path, size_t level)
{
	const struct cairn_path *at = &paths->paths.items[path];
	return level < at->depth ? cairn_view_name(view, paths->paths.entries[at->first + level]) : (struct cairn_bytes){"", 0};
}

void cairn_series_values_add(struct cairn_series_value *to, const struct cairn_series_value *more, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[i].value += more[i].value;
		cairn_spread_add(&to[i].spread, more[i].spread);
		to[i].coming += more[i].coming;
		to[i].unsure += more[i].unsure;
		to[i].resized += more[i].resized;
		to[i].allocated += more[i].allocated;
		to[i].uncounted |= more[i].uncounted;
	}
}
