/* timeline.c - chooses and names the layers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/timeline.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

struct peak {
	double value;
	uint32_t path;
};

static int by_peak(const void *a, const void *b)
{
	const struct peak *left = a, *right = b;
	if (left->value != right->value)
		return left->value > right->value ? -1 : 1;
	return left->path < right->path ? -1 : left->path > right->path;
}

/* All paths, sorted by their largest value at any time, largest first. */
static struct peak *find_peaks(const struct cairn_timeline *timeline, struct cairn_series_value *values)
{
	size_t count = timeline->paths.paths.count;
	struct peak *peaks = cairn_array_zero(count, sizeof *peaks);
	for (size_t p = 0; p < count; p++) {
		peaks[p].path = (uint32_t)p;
		cairn_series_paths_values(&timeline->paths, p, values);
		for (size_t i = 0; i < timeline->series->point_count; i++)
			peaks[p].value = fmax(peaks[p].value, values[i].value);
	}
	qsort(peaks, count, sizeof *peaks, by_peak);
	return peaks;
}

static struct cairn_timeline_layer *add_layer(struct cairn_timeline *timeline, uint32_t path)
{
	struct cairn_timeline_layer *layer = &timeline->layers[timeline->layer_count++];
	layer->path = path;
	layer->values = cairn_arena_zero(&timeline->arena, timeline->series->point_count, sizeof *layer->values);
	return layer;
}

/* How many entries two paths with the same leaf have in common, from the leaf. */
static size_t common_levels(const struct cairn_paths *paths, uint32_t a, uint32_t b)
{
	const struct cairn_path *left = &paths->items[a], *right = &paths->items[b];
	size_t level = 0;
	while (level < left->depth && level < right->depth && paths->entries[left->first + level] == paths->entries[right->first + level])
		level++;
	return level;
}

/* Names a layer by its leaf and, if other layers have the same leaf, by the first caller that distinguishes them. */
static void name_layer(struct cairn_timeline *timeline, struct cairn_timeline_layer *layer)
{
	size_t level = 0;
	for (size_t i = 0; i < timeline->layer_count; i++) {
		const struct cairn_timeline_layer *other = &timeline->layers[i];
		if (other != layer && other->path != CAIRN_NONE) {
			size_t common = common_levels(&timeline->paths.paths, layer->path, other->path);
			level = common > level ? common : level;
		}
	}
	struct cairn_bytes leaf = cairn_series_paths_name(&timeline->paths, timeline->view, layer->path, 0);
	struct cairn_bytes caller = cairn_series_paths_name(&timeline->paths, timeline->view, layer->path, level);
	if (leaf.length == 0)
		layer->name = cairn_bytes_of("[no stack]");
	else if (level == 0 || caller.length == 0)
		layer->name = leaf;
	else
		layer->name = cairn_bytes_of(cairn_arena_format(&timeline->arena, "%.*s %s %.*s", (int)leaf.length, leaf.data,
								level == 1 ? "←" : "← … ←", (int)caller.length, caller.data));
}

static double growth(const struct cairn_timeline_layer *layer, size_t points)
{
	return layer->values[points - 1].value - layer->values[0].value;
}

static int by_growth(const void *a, const void *b, void *points)
{
	const struct cairn_timeline_layer *left = a, *right = b;
	if ((left->path == CAIRN_NONE) != (right->path == CAIRN_NONE))
		return left->path == CAIRN_NONE ? -1 : 1;
	double l = growth(left, *(size_t *)points), r = growth(right, *(size_t *)points);
	return l != r ? (l < r ? -1 : 1) : left->path < right->path ? -1 : left->path > right->path;
}

/* The layer of all others has no row among the leaks: it is judged by the dumps alone, as one of all paths. If a verdict on a path was held
 * back, so is this one. */
static void judge_others(const struct cairn_timeline *timeline, const struct cairn_leaks *leaks, struct cairn_timeline_layer *layer)
{
	size_t points = timeline->series->point_count;
	struct cairn_trend_clock clock;
	struct cairn_trend_judge judge;
	double *hours = cairn_array_zero(points, sizeof *hours), *amounts = cairn_array_zero(points, sizeof *amounts);
	uint32_t *run = cairn_array_zero(points, sizeof *run);
	size_t comparisons = cairn_leaks_comparisons(&timeline->paths.paths);
	for (size_t i = 0; i < points; i++) {
		hours[i] = cairn_series_hours(timeline->series, i);
		run[i] = timeline->series->points[i].run;
	}
	cairn_trend_clock_make(&clock, hours, run, points);
	cairn_trend_judge_open(&judge, &clock);
	for (size_t i = 0; i < points; i++)
		amounts[i] = layer->values[i].value;
	cairn_trend_judge(&layer->trend, &judge, amounts, cairn_series_unit(layer->values, points), comparisons);
	if (layer->trend.verdict == CAIRN_GROWING && leaks->held_back > 0)
		layer->trend = (struct cairn_trend){.verdict = CAIRN_TOO_EARLY, .may_replace = true};
	cairn_trend_judge_close(&judge);
	free(hours);
	free(amounts);
	free(run);
}

static void judge_layers(struct cairn_timeline *timeline, const struct cairn_leaks *leaks)
{
	for (size_t l = 0; l < timeline->layer_count; l++) {
		struct cairn_timeline_layer *layer = &timeline->layers[l];
		if (layer->path == CAIRN_NONE)
			judge_others(timeline, leaks, layer);
		for (size_t i = 0; i < leaks->count; i++)
			if (leaks->rows[i].path == layer->path && leaks->rows[i].members == 1)
				layer->trend = leaks->rows[i].trend;
	}
}

void cairn_timeline_make(struct cairn_timeline *timeline, const struct cairn_series *series, struct cairn_view *view,
			 const struct cairn_leaks *leaks, size_t layer_most)
{
	struct cairn_leaks made = {0};
	*timeline = (struct cairn_timeline){.series = series, .view = view};
	cairn_series_paths_make(&timeline->paths, series, view);
	size_t points = series->point_count, count = timeline->paths.paths.count;
	struct cairn_series_value *values = cairn_array_zero(points, sizeof *values);
	struct peak *peaks = find_peaks(timeline, values);
	while (count > 1 && !(peaks[count - 1].value > 0)) /* it only tells how long objects live */
		count--;
	/* A single remaining path gets its own layer. */
	size_t own = count <= layer_most + 1 ? count : layer_most;
	timeline->layers = cairn_array_zero(own + 1, sizeof *timeline->layers);
	timeline->totals = cairn_arena_zero(&timeline->arena, points, sizeof *timeline->totals);
	for (size_t p = 0; p < count; p++) {
		if (p < own)
			add_layer(timeline, peaks[p].path);
		else if (p == own)
			add_layer(timeline, CAIRN_NONE)->name =
				cairn_bytes_of(cairn_arena_format(&timeline->arena, "%zu other call paths", count - own));
		cairn_series_paths_values(&timeline->paths, peaks[p].path, values);
		cairn_series_values_add(timeline->layers[timeline->layer_count - 1].values, values, points);
		cairn_series_values_add(timeline->totals, values, points);
	}
	for (size_t i = 0; i < own; i++)
		name_layer(timeline, &timeline->layers[i]);
	if (!leaks)
		cairn_leaks_rank(&made, series, view);
	judge_layers(timeline, leaks ? leaks : &made);
	cairn_leaks_free(&made);
	qsort_r(timeline->layers, timeline->layer_count, sizeof *timeline->layers, by_growth, &points);
	free(peaks);
	free(values);
}

void cairn_timeline_free(struct cairn_timeline *timeline)
{
	cairn_series_paths_free(&timeline->paths);
	cairn_arena_free(&timeline->arena);
	free(timeline->layers);
	*timeline = (struct cairn_timeline){0};
}
