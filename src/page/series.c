/* series.c - converts series, leaks and timelines to the structs of the page.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/series.h"

#include "series/words.h"

#include <assert.h>

enum { growth_most = 3 };

static struct cairn_page_growth *list_growth(const struct cairn_judgement *judgement, size_t count, struct cairn_arena *arena)
{
	const struct cairn_leaks *leaks = judgement->leaks;
	const struct cairn_view *view = judgement->view;
	struct cairn_page_growth *growth = cairn_arena_zero(arena, count + 1, sizeof *growth);
	for (size_t i = 0; i < count; i++) {
		const struct cairn_leak *leak = &leaks->rows[i];
		struct cairn_buffer words = cairn_buffer(SIZE_MAX);
		char sure[32];
		cairn_words_trend(&leak->trend, leaks->hours, view, &(struct cairn_shape){0}, &words);
		cairn_words_confidence(leak->trend.confidence, sure, sizeof sure);
		growth[i] = (struct cairn_page_growth){
			.name = cairn_leak_title(leaks, view, leak),
			.caller = cairn_leak_name(leaks, view, leak, 1),
			.per_hour = leak->trend.per_hour,
			.share = leak->share,
			.words = cairn_arena_text(arena, cairn_buffer_bytes(&words)),
			.sure = cairn_arena_text(arena, cairn_bytes_of(sure)),
			.now = leak->now.value,
		};
		cairn_buffer_free(&words);
	}
	return growth;
}

void cairn_page_describe(struct cairn_page_series *page, const struct cairn_judgement *judgement, struct cairn_arena *arena)
{
	const struct cairn_series *series = judgement->series;
	/* Without an alarm the sentence says all. */
	size_t growing = judgement->growing < growth_most ? judgement->growing : growth_most;
	struct cairn_buffer summary = cairn_buffer(SIZE_MAX);
	cairn_words_judgement(judgement, &(struct cairn_shape){0}, &summary);
	*page = (struct cairn_page_series){
		.summary = cairn_arena_text(arena, cairn_buffer_bytes(&summary)),
		.observed_seconds = 3600 * judgement->leaks->observed_hours,
		.seconds = 3600 * cairn_series_hours(series, series->point_count - 1),
		.count = series->point_count,
		.growth = list_growth(judgement, growing, arena),
		.growth_count = growing,
	};
	cairn_buffer_free(&summary);
}

static void add_cells(const void *series, uint32_t sample, double *values)
{
	const struct cairn_series *of = series;
	for (size_t c = of->first[sample]; c < of->first[sample + 1]; c++)
		values[of->cells[c].point] += of->cells[c].value;
}

/* The default number of nodes of the call tree: all of them, unless its stacks times its dumps are more numbers than a browser can handle
 * quickly. */
static size_t default_nodes(const struct cairn_view *view, size_t points)
{
	static const size_t number_most = 8000000;
	return view->sample_count <= number_most / points ? CAIRN_PAGE_NODES : number_most / points;
}

void cairn_page_film_make(struct cairn_page_film *film, const struct cairn_timeline *timeline, double limit, struct cairn_arena *arena)
{
	const struct cairn_series *series = timeline->series;
	size_t points = series->point_count, layers = timeline->layer_count;
	struct cairn_page_point *page_points = cairn_arena_zero(arena, points, sizeof *page_points);
	struct cairn_page_layer *page_layers = cairn_arena_zero(arena, layers, sizeof *page_layers);
	for (size_t i = 0; i < points; i++) {
		struct cairn_interval interval = cairn_spread_interval(timeline->totals[i].value, timeline->totals[i].spread);
		page_points[i] = (struct cairn_page_point){
			.seconds = cairn_series_hours(series, i) * 3600,
			.total = timeline->totals[i].value,
			.low = interval.low,
			.high = interval.high,
			.resident = series->points[i].resident,
			.limit = cairn_timeline_limit(timeline, i, limit),
			.run = series->points[i].process,
			.stretch = series->points[i].run,
		};
	}
	for (size_t l = 0; l < layers; l++) {
		double *values = cairn_arena_zero(arena, points, sizeof *values);
		for (size_t i = 0; i < points; i++)
			values[i] = timeline->layers[l].values[i].value;
		page_layers[l] = (struct cairn_page_layer){
			.name = timeline->layers[l].name,
			.leaf = timeline->layers[l].path == CAIRN_NONE
					? (struct cairn_bytes){"", 0}
					: cairn_series_paths_name(&timeline->paths, timeline->view, timeline->layers[l].path, 0),
			.verdict = cairn_verdict_name(timeline->layers[l].trend.verdict),
			.values = values,
		};
	}
	*film = (struct cairn_page_film){
		.start_ns = series->points[0].origin.time_ns,
		.points = page_points,
		.point_count = points,
		.layers = page_layers,
		.layer_count = layers,
		.limit_of = page_points[points - 1].limit <= 0 ? "" : limit > 0 || series->points[points - 1].limit_of_group ? "cgroup" : "machine",
		.has_errors = timeline->view->options.errors && series->knows_errors,
	};
}

void cairn_page_write_timeline(struct cairn_view *view, const struct cairn_timeline *timeline,
			       const struct cairn_page_timeline_options *options, struct cairn_buffer *out)
{
	assert(timeline->view == view && timeline->series->point_count > 0);
	const struct cairn_series *series = timeline->series;
	struct cairn_arena arena = {0};
	struct cairn_page_film film;
	cairn_page_film_make(&film, timeline, options->limit, &arena);
	film.cells = (struct cairn_page_cells_source){add_cells, series, series->point_count};
	size_t node_most = options->node_most ? options->node_most : default_nodes(view, series->point_count);
	cairn_page_write(view, &(struct cairn_page_options){.title = options->title, .node_most = node_most, .film = &film}, out);
	cairn_arena_free(&arena);
}
