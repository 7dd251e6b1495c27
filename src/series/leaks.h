/* leaks.h - the call paths of a series, ranked by how surely and how fast they grow.
 *
 * A leak may be spread over so many call paths that none of them shows it. So the sums of all paths below a frame are judged as well,
 * from the leaves to the root, without what was found already: the deepest frame whose sum grows is a row of its own.
 *
 * Dumps of Cairn's own engine know how old objects are (ages.h). One of them is enough for a verdict; with several, both kinds of evidence
 * count: each is asked to leave half of the chance of a false alarm, and either is enough.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_LEAKS_H
#define CAIRN_SERIES_LEAKS_H

#include "series/ages.h"
#include "series/paths.h"

/* What a verdict rests on. */
enum cairn_leak_evidence { CAIRN_BY_DUMPS, CAIRN_BY_AGES, CAIRN_BY_BOTH };

struct cairn_leak {
	uint32_t path;                 /* in `paths`; of a frame that sums several up, one of them */
	size_t above;                  /* how many levels the frame lies above the leaf of that path; 0 for the path itself */
	size_t members;                /* how many paths are summed up; 1 for the path itself */
	struct cairn_series_value now; /* at the last point */
	double share;                  /* of the whole growth; 0 unless growing */
	enum cairn_leak_evidence evidence;
	struct cairn_trend trend;
};

struct cairn_leaks {
	struct cairn_series_paths paths;
	struct cairn_leak *rows; /* growing ones first, the fastest first; then the others, the largest first */
	size_t count, capacity;
	size_t path_count; /* rows that are paths */
	size_t growing;
	double per_hour;                 /* of all that grows */
	double error;                    /* standard deviation of that */
	struct cairn_trend total;        /* of everything together */
	struct cairn_series_value now;   /* everything at the last point */
	double hours;                    /* from the first point to the last */
	double observed_hours;           /* that the newest dump knows the ages of objects for; 0 where it does not */
	double longest_hours;            /* the longest ordinary lifetime in it */
	/* What the service grows by: the total's own trend, or the rows' where that says it more exactly; 0 where nothing grows. */
	double forecast_per_hour, forecast_error;
};

/* How many comparisons judging all PATHS counts for: each, and the frames that sum several up; of many frames, which overlap, half as many
 * as there are paths. */
size_t cairn_leaks_comparisons(const struct cairn_paths *paths);

/* Ranks the paths of SERIES as VIEW (of the series' profile, already named) shows them. */
void cairn_leaks_rank(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_view *view);
void cairn_leaks_free(struct cairn_leaks *leaks);

/* What LEAK held at each point, in VALUES; of a frame, its Total. */
void cairn_leaks_values(const struct cairn_leaks *leaks, const struct cairn_leak *leak, struct cairn_series_value *values);

/* The name of the entry that is so many levels above the leaf, or the frame, of LEAK; empty beyond its root. */
static inline struct cairn_bytes cairn_leak_name(const struct cairn_leaks *leaks, const struct cairn_view *view,
						 const struct cairn_leak *leak, size_t level)
{
	return cairn_series_paths_name(&leaks->paths, view, leak->path, leak->above + level);
}

/* How many entries there are from the leaf, or the frame, of LEAK to its root. */
static inline size_t cairn_leak_depth(const struct cairn_leaks *leaks, const struct cairn_leak *leak)
{
	return leaks->paths.paths.items[leak->path].depth - leak->above;
}

#endif
