/* leaks.h - the call paths of a series, ranked by how surely and how fast they grow.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_LEAKS_H
#define CAIRN_SERIES_LEAKS_H

#include "series/paths.h"
#include "series/trend.h"

struct cairn_leak {
	uint32_t path;                 /* in `paths` */
	struct cairn_series_value now; /* at the last point */
	double share;                  /* of the whole growth; 0 unless growing */
	struct cairn_trend trend;
};

struct cairn_leaks {
	struct cairn_series_paths paths;
	struct cairn_leak *rows; /* growing ones first, the fastest first; then the others, the largest first */
	size_t count;
	size_t growing;
	double per_hour;                 /* of all that grows */
	struct cairn_trend total;        /* of everything together */
	struct cairn_series_value now;   /* everything at the last point */
	double hours;                    /* from the first point to the last */
};

/* Ranks the paths of SERIES as VIEW (of the series' profile, already named) shows them. */
void cairn_leaks_rank(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_view *view);
void cairn_leaks_free(struct cairn_leaks *leaks);

/* The name of the entry that is so many levels above the leaf of LEAK; empty beyond its root. */
static inline struct cairn_bytes cairn_leak_name(const struct cairn_leaks *leaks, const struct cairn_view *view,
						 const struct cairn_leak *leak, size_t level)
{
	return cairn_series_paths_name(&leaks->paths, view, leak->path, level);
}

#endif
