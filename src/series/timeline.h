/* timeline.h - memory by call path over time: the largest paths stacked, the others together, and a picture of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_TIMELINE_H
#define CAIRN_SERIES_TIMELINE_H

#include "series/leaks.h"

struct cairn_timeline_layer {
	struct cairn_bytes name; /* the function that holds it, with callers if other layers have the same one; owned by the timeline */
	uint32_t path;           /* in `paths`; CAIRN_NONE for all others together */
	struct cairn_series_value *values; /* at each point */
	struct cairn_trend trend;          /* its verdict, as in `cairn leaks`; too early with fewer than three points */
};

struct cairn_timeline {
	const struct cairn_series *series; /* borrowed */
	const struct cairn_view *view;     /* borrowed */
	struct cairn_series_paths paths;
	struct cairn_timeline_layer *layers; /* from the bottom: all others first, then by growth, the largest last */
	size_t layer_count;
	struct cairn_series_value *totals; /* the sum of the layers at each point */
	struct cairn_arena arena;
};

/* Makes the layers of SERIES as VIEW shows it: the LAYER_MOST paths that were largest at any time, and one for the others, if any. LEAKS
 * has the verdicts on the same view; if it is NULL, they are made here. */
void cairn_timeline_make(struct cairn_timeline *timeline, const struct cairn_series *series, struct cairn_view *view,
			 const struct cairn_leaks *leaks, size_t layer_most);
void cairn_timeline_free(struct cairn_timeline *timeline);

struct cairn_timeline_svg_options {
	const char *title; /* NULL for the default */
	double limit;      /* the memory limit if the dumps do not have it; 0 for none */
};

/* Appends the picture to OUT, a self-contained file. */
void cairn_timeline_svg(const struct cairn_timeline *timeline, const struct cairn_timeline_svg_options *options, struct cairn_buffer *out);

/* The memory limit at POINT: from the dump, else TOLD. */
static inline double cairn_timeline_limit(const struct cairn_timeline *timeline, size_t point, double told)
{
	double known = timeline->series->points[point].limit;
	return known > 0 ? known : told;
}

#endif
