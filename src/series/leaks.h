/* leaks.h - ranks the call paths of a series by how surely and how fast they grow.
 *
 * A leak may be spread over so many call paths that none of them shows it. So the sums of all paths below a frame are judged too, from the
 * leaves to the root, without what has been found already: the deepest frame whose sum grows becomes a row.
 *
 * Dumps of Cairn's own engine record the ages of objects (ages.h). One such dump is enough for a verdict. With several, both kinds of
 * evidence count, each test with half of the probability of a false alarm; ages decide whether a path grows, if enough objects of it came.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_LEAKS_H
#define CAIRN_SERIES_LEAKS_H

#include "series/ages.h"
#include "series/paths.h"

/* What a verdict is based on. */
enum cairn_leak_evidence { CAIRN_BY_DUMPS, CAIRN_BY_AGES, CAIRN_BY_BOTH };

struct cairn_leak {
	uint32_t path;                 /* index in `paths`; for a frame that sums up several paths, one of them */
	size_t above;                  /* levels of the frame above the leaf of that path; 0 for the path itself */
	size_t members;                /* number of paths summed up; 1 for the path itself */
	struct cairn_series_value now; /* at the last point */
	double share;                  /* of the total growth; 0 unless growing */
	enum cairn_leak_evidence evidence;
	struct cairn_trend trend;
};

/* It is too early to tell for the service if nothing grows, and it is for a path with this share of the memory. */
#define CAIRN_LEAKS_GOOD_PART 0.05

struct cairn_leaks {
	struct cairn_series_paths paths;
	struct cairn_leak *rows; /* growing ones first, fastest first; then the others, largest first */
	size_t count, capacity;
	size_t path_count; /* rows that are paths */
	size_t growing;
	double per_hour;                 /* of everything that grows */
	double error;                    /* standard deviation of that */
	struct cairn_trend total;        /* of everything together */
	struct cairn_trend rest;         /* of what is left at the root beside the rows that grow, which has no frame to name it */
	struct cairn_series_value now;   /* everything at the last point */
	double hours;                    /* from the first point to the last */
	double observed_hours;           /* time for which the newest dump knows the ages of objects; 0 if it does not */
	double longest_hours;            /* the longest ordinary lifetime in that dump; 0 if too few objects were freed to tell */
	bool hardly_sampled;             /* sampling began late, and hardly any of the live memory was sampled so far */
	size_t held_back;                /* rows that seemed to grow, but may only have come into view (onset.h) */
	/* The growth of the service: that of the rows that grow, plus that of the rest if it grows; 0 if nothing grows. */
	double forecast_per_hour, forecast_error;
};

/* The number of comparisons when all PATHS are judged: each path, and the frames that sum up several. Many frames overlap, so they count at
 * most half as many as the paths. */
size_t cairn_leaks_comparisons(const struct cairn_paths *paths);

/* Ranks the paths of SERIES as VIEW (of the series' profile, already named) shows them. */
void cairn_leaks_rank(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_view *view);
void cairn_leaks_free(struct cairn_leaks *leaks);

/* Fills VALUES with what LEAK held at each point; for a frame, its total. */
void cairn_leaks_values(const struct cairn_leaks *leaks, const struct cairn_leak *leak, struct cairn_series_value *values);

/* The name of the entry LEVEL levels above the leaf, or the frame, of LEAK; empty beyond its root. */
static inline struct cairn_bytes cairn_leak_name(const struct cairn_leaks *leaks, const struct cairn_view *view,
						 const struct cairn_leak *leak, size_t level)
{
	return cairn_series_paths_name(&leaks->paths, view, leak->path, leak->above + level);
}

/* The number of entries from the leaf, or the frame, of LEAK to its root. */
static inline size_t cairn_leak_depth(const struct cairn_leaks *leaks, const struct cairn_leak *leak)
{
	return leaks->paths.paths.items[leak->path].depth - leak->above;
}

/* The name of the frame that LEAK is about; a path without any has none of its own. */
static inline struct cairn_bytes cairn_leak_title(const struct cairn_leaks *leaks, const struct cairn_view *view,
						  const struct cairn_leak *leak)
{
	return cairn_leak_depth(leaks, leak) ? cairn_leak_name(leaks, view, leak, 0) : cairn_bytes_of("[no stack]");
}

#endif
