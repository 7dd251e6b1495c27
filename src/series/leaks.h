/* leaks.h - the call paths of a series, ranked by how surely and how fast they grow.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_LEAKS_H
#define CAIRN_SERIES_LEAKS_H

#include "report/paths.h"
#include "report/view.h"
#include "series/series.h"
#include "series/trend.h"

struct cairn_leak {
	uint32_t path;  /* in `paths` */
	double now;     /* at the last point */
	double error;   /* standard deviation of that, by sampling */
	double share;   /* of the whole growth; 0 unless growing */
	struct cairn_trend trend;
};

struct cairn_leaks {
	struct cairn_paths paths;
	struct cairn_leak *rows; /* growing ones first, the fastest first; then the others, the largest first */
	size_t count;
	size_t growing;
	double per_hour;          /* of all that grows */
	struct cairn_trend total; /* of everything together */
	double hours;             /* from the first point to the last */
};

/* Ranks the paths of SERIES as VIEW (of the series' profile, already named) shows them. */
void cairn_leaks_rank(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_view *view);
void cairn_leaks_free(struct cairn_leaks *leaks);

#endif
