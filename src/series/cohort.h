/* cohort.h - one call path on all instances of a release, as one mean course.
 *
 * A leak too slow to be certain on any single instance is plain in the mean over a thousand. But instances come and go, and the mean of
 * those present jumps with them. So increments are averaged instead: between two instants of a grid, over the instances that were seen at
 * both. Their sum is the *index* of the path, as a price index is chained from years with different goods. An instance without the path
 * counts with an increment of 0.
 *
 * The index is made twice. By the clock, it shows what all instances do at the same time, for example when their load rises and falls
 * together: that is not growth of each, however many agree, and the noise models of trend.h see it as wandering. By age, it shows what each
 * instance does after its start, such as filling caches: when instances are restarted one after another, some cache is always filling. A
 * path grows only if it does so by both.
 *
 * The instances also count as repetitions: by Student's test, the mean of their own rates must differ from 0, so that a few of them cannot
 * speak for all. But they are repetitions only of what each does by itself. The load of all instances rises and falls together, and a
 * thousand instances that follow it are one observation, not a thousand. Counting cannot distinguish their common movement from growth;
 * that takes something that has the same load and does not grow. There are two such things, and a path must stand out from one of them:
 *
 * - Its *peers*, the paths of the release that were largest at first. Memory that follows the load, at once or with a delay, moves by no
 * larger share of itself than the load does. So for each peer, the movement is the difference between the four quarters of the time, as a
 * share of the smallest. A path stands out if it rises by half as much again as one peer in five moves, and if it would still be called
 * growing after the load, the median course of the peers that move about that far, is taken out.
 * - The same path on another release, over the same time, which has the same load and the same delay. By Student's test, the rates of all
 * instances, as shares of what they hold, must differ between the two releases, and by a good part of the rate.
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
	size_t steps; /* number of instants, from 3 to CAIRN_COHORT_STEPS; 0 if nothing is pooled */
};

/* How many instances of a release have an increment that ends at each instant; the first is not used. */
struct cairn_cohort_cover {
	double instances[CAIRN_COHORT_AXES][CAIRN_COHORT_STEPS];
};

struct cairn_cohort {
	uint32_t path, release;
	double increments[CAIRN_COHORT_AXES]
			 [CAIRN_COHORT_STEPS]; /* sums over instances; at the first instant, what they held then */
	double rates, squares;  /* sums over instances: bytes per hour, and its square */
	double levels, level_squares, products; /* sums over instances: the mean amount held, its square, and its product with the rate */
	double middles, spans;  /* sums over instances, in hours of the grid: the middle of the points, and their span */
	double noise;           /* the sum of the variances of the rates, as the dumps of each instance show them */
	size_t rising, falling; /* instances */
	double unit;            /* the sum over instances of what one sample stands for */
	bool unit_known;
	size_t present;         /* instances that have the path */
};

/* The grid for instances with snapshots between FROM_NS and TO_NS, at ages between YOUNGEST_NS and OLDEST_NS, and about POINTS snapshots
 * each. */
struct cairn_cohort_grid cairn_cohort_grid_make(int64_t from_ns, int64_t to_ns, int64_t youngest_ns, int64_t oldest_ns, size_t points);

/* Counts an instance that started at START_NS, with the points of SERIES. */
void cairn_cohort_cover_add(struct cairn_cohort_cover *cover, const struct cairn_cohort_grid *grid, const struct cairn_series *series,
			    int64_t start_ns);

/* Adds the VALUES of a path on that instance at each point, and the amount that one sample stands for. */
void cairn_cohort_add(struct cairn_cohort *cohort, const struct cairn_cohort_grid *grid, const struct cairn_series *series,
		      int64_t start_ns, const double *values, struct cairn_unit_size unit);

/* The state for judging the cohorts of one release. */
struct cairn_cohort_judge {
	const struct cairn_cohort_grid *grid; /* borrowed, like COVER */
	const struct cairn_cohort_cover *cover;
	size_t instances;
	size_t first[CAIRN_COHORT_AXES], count[CAIRN_COHORT_AXES]; /* the instants that enough instances cover */
	bool same; /* both axes are the same */
	bool compares; /* there are peers */
	double usual; /* one in five of them moves at least this far, as a share of itself */
	double load[CAIRN_COHORT_STEPS]; /* the course of peers that move about that far, as a multiple of its mean; by the clock */
	double hours[CAIRN_COHORT_AXES][CAIRN_COHORT_STEPS]; /* of those instants, after the first */
	uint32_t runs[CAIRN_COHORT_STEPS]; /* they are all of one */
	struct cairn_trend_clock clock[CAIRN_COHORT_AXES];
	struct cairn_trend_judge judge[CAIRN_COHORT_AXES];
};

void cairn_cohort_judge_open(struct cairn_cohort_judge *judge, const struct cairn_cohort_grid *grid, const struct cairn_cohort_cover *cover,
			     size_t instances);
void cairn_cohort_judge_close(struct cairn_cohort_judge *judge);

/* Finds the peers among the COUNT COHORTS of the judge's release. Without this call, there are none. */
void cairn_cohort_find_peers(struct cairn_cohort_judge *judge, const struct cairn_cohort *const *cohorts, size_t count);

/* The rate of a path on one instance in bytes per hour, by least squares; *LEVEL is the mean amount held. */
double cairn_cohort_rate(const struct cairn_series *series, const double *values, double *level);

struct cairn_cohort_verdict {
	bool grows;
	bool common;            /* it moves no further than its peers: this may only be what all instances do together */
	enum cairn_verdict verdict; /* on the mean course; steady if it does not rise */
	double chance;          /* the probability that noise looks like this */
	double confidence;
	double per_hour, error; /* the mean over all instances of the release, including those on which it does not grow */
	int64_t since_ns;
};

/* COMPARISONS is the number of cohorts judged together. */
struct cairn_cohort_verdict cairn_cohort_judge(struct cairn_cohort_judge *judge, const struct cairn_cohort *cohort, size_t comparisons);

/* Whether the rate of COHORT, as a share of what it holds, differs from that of OTHER, the same path on another release. */
bool cairn_cohort_differs(const struct cairn_cohort *cohort, const struct cairn_cohort *other, size_t comparisons);

/* The number of INSTANCES on which the path grows, if it grows at all: the number that best explains how many rise and how many fall.
 * DEVIATION is the standard deviation of the rate on an instance where it does not grow. LEVELS are the amounts on the COUNT instances that
 * have the path: those with more grow faster, and scatter more. */
double cairn_cohort_growing(const struct cairn_cohort *cohort, size_t instances, double deviation, const double *levels, size_t count);

#endif
