/* paths.h - the rows of a series, grouped by the call path that a view shows.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_PATHS_H
#define CAIRN_SERIES_PATHS_H

#include "base/time.h"
#include "report/paths.h"
#include "report/view.h"
#include "series/course.h"
#include "series/series.h"

#include <assert.h>

struct cairn_series_paths {
	const struct cairn_series *series; /* borrowed */
	struct cairn_paths paths;
	size_t *first;  /* for each path, the first of its rows in `rows`; one more at the end */
	uint32_t *rows;
};

/* The memory of a path at one point. */
struct cairn_series_value {
	double value;
	struct cairn_spread spread;
	double coming; /* variance if each sample, even one that is always taken, came or went by chance */
	double unsure; /* the part of the value that may come and go in larger pieces than that */
	double resized; /* the part of the value whose objects change their size, and do not come or go */
	double allocated; /* ever, freed or not */
	bool uncounted;   /* that is unknown for some of it */
};

/* Adds MORE to TO, COUNT values each. */
void cairn_series_values_add(struct cairn_series_value *to, const struct cairn_series_value *more, size_t count);

/* The value that one sample of a path with VALUES at COUNT points represents; and how many came and went, where that is known. */
struct cairn_unit_size cairn_series_unit(const struct cairn_series_value *values, size_t count);

/* The 95 % confidence interval of a value; both ends are NAN if it is unknown. */
struct cairn_interval cairn_series_interval(const struct cairn_series *series, const struct cairn_series_value *value);

/* Groups the rows of SERIES as VIEW (of the series' profile, already named) shows them. Rows that the view leaves out have no path; nor
 * have rows that held nothing at any point, unless lifetimes are known. */
void cairn_series_paths_make(struct cairn_series_paths *paths, const struct cairn_series *series, struct cairn_view *view);
void cairn_series_paths_free(struct cairn_series_paths *paths);

/* The memory of PATH at each point, in VALUES. */
void cairn_series_paths_values(const struct cairn_series_paths *paths, size_t path, struct cairn_series_value *values);

/* The name of the entry LEVEL frames above the leaf of PATH; empty beyond its root. */
struct cairn_bytes cairn_series_paths_name(const struct cairn_series_paths *paths, const struct cairn_view *view, size_t path,
					   size_t level);

/* When POINT was taken, in hours after the first. */
static inline double cairn_series_hours(const struct cairn_series *series, size_t point)
{
	assert(point < series->point_count);
	return (double)(series->points[point].origin.time_ns - series->points[0].origin.time_ns) / CAIRN_HOUR_NS;
}

#endif
