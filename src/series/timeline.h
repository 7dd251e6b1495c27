/* timeline.h - memory by call path over time: the largest paths one above the other, the rest together, and all of it as a picture.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_TIMELINE_H
#define CAIRN_SERIES_TIMELINE_H

#include "series/paths.h"
#include "series/trend.h"

struct cairn_timeline_layer {
	struct cairn_bytes name; /* of the function that holds it, and as many callers as tell it from other layers; owned by the timeline */
	uint32_t path;           /* in `paths`; CAIRN_NONE for all others together */
	struct cairn_series_value *values; /* at each point */
	struct cairn_trend trend;          /* what it does, in the words of `cairn leaks`; too early of less than three points */
};

struct cairn_timeline {
	const struct cairn_series *series; /* borrowed */
	const struct cairn_view *view;     /* borrowed */
	struct cairn_series_paths paths;
	struct cairn_timeline_layer *layers; /* from the bottom: all others first, then what grew least, last what grew most */
	size_t layer_count;
	struct cairn_series_value *totals; /* the sum of the layers at each point */
	struct cairn_arena arena;
};

/* Makes the layers of SERIES as VIEW shows it: the LAYER_MOST paths that were largest at any time, and one for the others, if any. */
void cairn_timeline_make(struct cairn_timeline *timeline, const struct cairn_series *series, struct cairn_view *view, size_t layer_most);
void cairn_timeline_free(struct cairn_timeline *timeline);

struct cairn_timeline_svg_options {
	const char *title; /* NULL for one that fits */
	double limit;      /* the memory limit where the dumps do not say; 0 for none */
	bool inside;       /* part of a page, which has a heading and a legend of its own */
};

/* Appends the picture to OUT: a file of its own, or an <svg> element. */
void cairn_timeline_svg(const struct cairn_timeline *timeline, const struct cairn_timeline_svg_options *options, struct cairn_buffer *out);

/* The memory limit at POINT: as the dump says it, else as told. */
static inline double cairn_timeline_limit(const struct cairn_timeline *timeline, size_t point, double told)
{
	double known = timeline->series->points[point].limit;
	return known > 0 ? known : told;
}

#endif
