/* fleet.h - one verdict over many instances of a service.
 *
 * Each instance is judged for itself (leaks.h), then its rows are added here, and the instances count as repetitions, in two ways. Each
 * is asked to leave half of the chance of a false alarm, and either is enough.
 *
 * The first counts who is sure. Of N instances that do not leak, each is called growing somewhere with a chance of at most one in a
 * hundred; that G of them are, by noise alone, has the chance of a binomial tail. It is looked at for every G, and the smallest chance,
 * times how many were looked at, is the row's. So one instance of many has to be much surer than one that is alone, and several that are
 * moderately sure together are very sure. That a path grows, rather than fills up or has stopped, each instance is sure of by itself; the
 * odds of several are multiplied.
 *
 * Of many instances that share what they do, all may look alike and be misjudged alike. So with many, an instance counts only where it
 * differs from the others of its release: its rate lies far above what is usual among them for what it holds.
 *
 * The second looks at the mean course of all instances of a release (cohort.h), which shows what none of them can be sure of, and demands
 * more than what all of them do together.
 *
 * Of very many instances each is added by its courses alone: most of them would be judged for nothing, since only those count that differ
 * from the others. A course is judged once it does.
 *
 * Frames that sum several paths up count only where instances are few: of many, those on which the sum does not grow say nothing about it,
 * so that nothing is left to compare with.
 *
 * A row's release is the first, in the order in which releases were first seen, on which it grows. On how many instances it grows is
 * counted where they are few: once growth is established, an instance that is not sure by itself counts if it rose by more than two
 * standard deviations. Of many, some would rise so far by chance, so there it is estimated from how many rise and how many fall.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_FLEET_H
#define CAIRN_SERIES_FLEET_H

#include "series/leaks.h"
#include "series/cohort.h"

/* A release of the service. */
struct cairn_fleet_release {
	const char *version; /* borrowed from whoever added it */
	int64_t first_ns;    /* when it was first seen */
	size_t instances;    /* that could be judged */
	struct cairn_cohort_cover cover;
};

/* What one instance says about one path. */
struct cairn_fleet_record {
	uint32_t path; /* in `stacks` */
	uint32_t release;
	uint32_t instance;
	enum cairn_verdict verdict;
	double chance;     /* of noise looking like this; 1 unless growing */
	double sure;       /* that it grows rather than fills up or has stopped, given that it moves; 0 unless growing */
	double per_hour, error; /* as judged; where not growing, from the first dump to the last */
	bool risen;        /* from the first dump to the last, by more than two standard deviations */
	double rate, level; /* by least squares, per hour; and what it holds on average */
	double now;
	int64_t since_ns;
	bool sum; /* of a frame, over the paths below it: only instances on which that grows have one */
	const double *values; /* of a course that is not judged yet; else NULL */
	struct cairn_unit_size unit;
	uint32_t clock; /* in `clocks`, of such a course */
};

/* When an instance was looked at whose courses are not judged yet. */
struct cairn_fleet_clock {
	int64_t first_ns;
	const double *hours; /* after that */
	size_t count;
};

struct cairn_fleet_row {
	uint32_t path;
	enum cairn_verdict verdict; /* growing, or what the instances with the most bytes say */
	double confidence;
	size_t growing;  /* instances on which it grows, */
	size_t of;       /* of how many of the releases on which it grows */
	uint32_t release; /* since which it grows */
	double per_hour, error; /* of one instance, the mean over those on which it grows */
	double now;             /* all instances together */
	int64_t since_ns;       /* when the first of them began to grow */
	bool new_in_release;    /* it grows on all instances of its release, as far as can be told, and on no release before */
};

/* All zeroes, and `grid` where instances are to be pooled, to begin with. */
struct cairn_fleet {
	struct cairn_cohort_grid grid;
	struct cairn_cohort *cohorts; /* one for each path and release */
	size_t cohort_count, cohort_capacity;
	struct cairn_map cohort_index;
	struct cairn_strings stacks; /* names from the leaf to the root, each with its line end */
	struct cairn_fleet_release *releases; /* after finish: in the order in which they were first seen */
	size_t release_count, release_capacity;
	struct cairn_fleet_record *records;
	size_t record_count, record_capacity;
	size_t instance_count;
	size_t path_count; /* how many there are, where not all of them were added; else 0 */
	size_t compared; /* paths of releases that were looked at, where not all of them were added; else 0 */
	struct cairn_arena arena;
	struct cairn_fleet_clock *clocks;
	size_t clock_count, clock_capacity;
	struct cairn_fleet_row *rows; /* growing ones first, those that are new in a release before them all */
	size_t count, capacity;
};

/* Adds the rows of one instance of release VERSION, which started at START_NS; 0 where that is not known. */
void cairn_fleet_add(struct cairn_fleet *fleet, const char *version, int64_t start_ns, const struct cairn_leaks *leaks,
		     const struct cairn_series *series, const struct cairn_view *view);

/* What one instance held of one path. */
struct cairn_fleet_course {
	uint32_t path; /* in `stacks` */
	const double *values; /* at each point */
	struct cairn_unit_size unit;
};

/* Adds an instance by COUNT courses. Of SERIES only the points count; nothing is borrowed but VERSION. */
void cairn_fleet_add_courses(struct cairn_fleet *fleet, const char *version, int64_t start_ns, const struct cairn_series *series,
			     const struct cairn_fleet_course *courses, size_t count);

/* Judges what was added. */
void cairn_fleet_judge(struct cairn_fleet *fleet);
void cairn_fleet_free(struct cairn_fleet *fleet);

/* The chance that at least COUNT of TOTAL happen, each by itself with CHANCE. */
double cairn_fleet_tail(size_t total, size_t count, double chance);

#endif
