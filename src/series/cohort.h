/* cohort.h - one call path on all instances of a release, as one mean course.
 *
 * A leak that is too slow for any single instance to be sure of is plain in the mean over a thousand. But instances come and go, and the
 * mean of those that are there jumps with them. So increments are averaged instead: between two instants of a grid, over the instances
 * that were seen at both; added up, they are the *index* of the path, as statisticians chain a price index from years with different
 * goods. An instance that does not have the path counts with no increment.
 *
 * The index is made twice. By the clock it shows what all instances do at the same time, as when their load rises and falls together:
 * that is no growth of each, however many agree, and the noise models of trend.h see it as the wandering that it is. By age it shows what
 * each instance does after its start, as filling caches: when instances are restarted one after the other, some cache always fills. A
 * path grows only where it does by both.
 *
 * The instances count as repetitions beside that: the mean of their own rates must differ from nothing by Student's test, so that no few
 * of them can speak for all. But they are repetitions only of what each does for itself. The load of all of them rises and falls together,
 * and a thousand instances that follow it are one observation, not a thousand. What is common to them cannot be told from growth by
 * counting; it takes something that shares the load and does not grow. There are two such things, and a path has to stand out from one:
 *
 * - Its *peers*, the paths of the release that were largest at first. Memory that follows the load, at once or with a delay, moves by no larger share of
 *   itself than the load does. So what the four quarters of the time differ by, as a share of the smallest, is taken for each peer; a path
 *   stands out that rises by half as much again as one peer in five moves, and that would still be said to grow if it followed the load,
 *   which is the median course of the peers that move about so far, and that were taken off.
 * - The same path on another release, over the same time: it has the same load and the same delay. The rates of all instances, as shares of
 *   what they hold, differ between the two by Student's test, and by a good part of the rate.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_COHORT_H
#define CAIRN_SERIES_COHORT_H

#include "base/hash.h"
#include "series/paths.h"
#include "series/trend.h"

enum { CAIRN_COHORT_STEPS = 32, CAIRN_COHORT_PEERS = 32 };

/* By the clock, and by age. */
enum cairn_cohort_axis { CAIRN_COHORT_CLOCK, CAIRN_COHORT_AGE, CAIRN_COHORT_AXES };

/* The instants at which instances are compared. */
struct cairn_cohort_grid {
	int64_t from_ns[CAIRN_COHORT_AXES], to_ns[CAIRN_COHORT_AXES];
	size_t steps; /* instants, from 3 to CAIRN_COHORT_STEPS; 0 where nothing is pooled */
};

/* How many instances of a release have an increment up to each instant; that of the first is not used. */
struct cairn_cohort_cover {
	double instances[CAIRN_COHORT_AXES][CAIRN_COHORT_STEPS];
};

struct cairn_cohort {
	uint32_t path, release;
	double increments[CAIRN_COHORT_AXES]
			 [CAIRN_COHORT_STEPS]; /* sums over instances; that of the first instant is what they held then */
	double rates, squares;  /* sums over instances: bytes per hour, and its square */
	double levels, level_squares, products; /* sums over instances: what it holds on average, its square, and times the rate */
	double middles, spans;  /* sums over instances, in hours of the grid: the middle of its points, and how long they last */
	double noise;           /* the sum of the variances that the dumps of each say its rate has */
	size_t rising, falling; /* instances */
	double unit;            /* the sum over instances of what one sample stands for */
	bool unit_known;
	size_t present;         /* instances that have the path */
};

/* The grid that suits instances whose snapshots lie between FROM_NS and TO_NS, at ages between YOUNGEST_NS and OLDEST_NS, with about
 * POINTS each. */
struct cairn_cohort_grid cairn_cohort_grid_make(int64_t from_ns, int64_t to_ns, int64_t youngest_ns, int64_t oldest_ns, size_t points);

/* An instance that started at START_NS is there, with the points of SERIES. */
void cairn_cohort_cover_add(struct cairn_cohort_cover *cover, const struct cairn_cohort_grid *grid, const struct cairn_series *series,
			    int64_t start_ns);

/* What it held of a path at each point, and what one sample of that stands for. */
void cairn_cohort_add(struct cairn_cohort *cohort, const struct cairn_cohort_grid *grid, const struct cairn_series *series,
		      int64_t start_ns, const double *values, struct cairn_unit_size unit);

/* What judging the cohorts of one release needs. */
struct cairn_cohort_judge {
	const struct cairn_cohort_grid *grid; /* borrowed, as is */
	const struct cairn_cohort_cover *cover;
	size_t instances;
	size_t first[CAIRN_COHORT_AXES], count[CAIRN_COHORT_AXES]; /* the instants that enough instances cover */
	bool same; /* both axes are one */
	bool compares; /* there are peers */
	double usual; /* how far one in five of them moves at least, as a share of itself */
	double load[CAIRN_COHORT_STEPS]; /* the course of those that move about as far, as a multiple of its mean; by the clock */
	struct cairn_trend_clock clock[CAIRN_COHORT_AXES];
	struct cairn_trend_judge judge[CAIRN_COHORT_AXES];
};

void cairn_cohort_judge_open(struct cairn_cohort_judge *judge, const struct cairn_cohort_grid *grid, const struct cairn_cohort_cover *cover,
			     size_t instances);
void cairn_cohort_judge_close(struct cairn_cohort_judge *judge);

/* Finds the peers among all COHORTS of the judge's release, COUNT of them; until then there are none. */
void cairn_cohort_find_peers(struct cairn_cohort_judge *judge, const struct cairn_cohort *const *cohorts, size_t count);

/* The rate of a path on one instance in bytes per hour, by least squares; *LEVEL is what it holds on average. */
double cairn_cohort_rate(const struct cairn_series *series, const double *values, double *level);

struct cairn_cohort_verdict {
	bool grows;
	bool common;            /* it moves no further than its peers do: what all instances do together may be all there is to it */
	enum cairn_verdict verdict; /* on the mean course; steady where that does not rise */
	double chance;          /* that noise looks like this */
	double confidence;
	double per_hour, error; /* the mean over all instances of the release, whether it grows on them or not */
	int64_t since_ns;
};

/* COMPARISONS is how many cohorts are judged together. */
struct cairn_cohort_verdict cairn_cohort_judge(struct cairn_cohort_judge *judge, const struct cairn_cohort *cohort, size_t comparisons);

/* Whether the rate of COHORT, as a share of what it holds, differs from that of OTHER, the same path on another release. */
bool cairn_cohort_differs(const struct cairn_cohort *cohort, const struct cairn_cohort *other, size_t comparisons);

/* On how many of INSTANCES the path grows, where it grows: as many as make it likely that so many rise and so many fall. DEVIATION is how
 * far the rate of an instance on which it does not grow scatters around nothing. LEVELS are what the COUNT instances that have the path
 * hold of it: those with more grow faster, and scatter more. */
double cairn_cohort_growing(const struct cairn_cohort *cohort, size_t instances, double deviation, const double *levels, size_t count);

#endif
