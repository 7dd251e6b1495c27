/* fleet.h - one verdict over many instances of a service.
 *
 * Each instance is judged by itself (leaks.h), then its rows are added here, and the instances count as repetitions in two tests. Each test
 * has half of the probability of a false alarm, and passing one is enough.
 *
 * The first test counts the instances that are sure. Of N instances that do not leak, each is called growing somewhere with a probability
 * of at most one in a hundred; the probability that G of them are, by noise alone, is a binomial tail. It is calculated for every G, and
 * the smallest probability, times the number of Gs, is the row's. So one instance of many must be much surer than a single one, and several
 * that are moderately sure are very sure together. That a path grows, rather than fills up or has stopped, is decided on each instance by
 * itself; the odds of several are multiplied.
 *
 * If many instances do the same things, all may look alike and be misjudged alike. So with many, an instance counts only if it differs from
 * the others of its release: its rate must be far above what is usual among them for what it holds.
 *
 * The second test examines the mean course of all instances of a release (cohort.h). It shows what none of them can be sure of, and
 * requires more than their common movement.
 *
 * Of very many instances, only the courses are added: judging most of them would be wasted, because only those that differ from the others
 * count. A course is judged once it does.
 *
 * Frames that sum up several paths count only if there are few instances: with many, those on which the sum does not grow have no record of
 * it, so there is nothing to compare with.
 *
 * A row's release is the first, in the order in which releases were first seen, on which it grows. If there are few instances, those on
 * which it grows are counted, by their own verdicts: in a release of which an instance is sure, one that leaves it open counts if it rose
 * by more than two standard deviations; one that is steady, or surely fills up or has stopped, does not. Of many instances, some would rise as far by chance, so
 * the number is estimated from how many rise and how many fall.
 *
 * What only comes into view, because sampling began late, does not grow: each instance's verdict is held back for that (onset.h), and so is
 * that on a release.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_FLEET_H
#define CAIRN_SERIES_FLEET_H

#include "series/cohort.h"
#include "series/leaks.h"

/* A release of the service. */
struct cairn_fleet_release {
	const char *version; /* borrowed from the caller that added it */
	int64_t first_ns;    /* when it was first seen */
	size_t instances;    /* number of instances that could be judged */
	struct cairn_cohort_cover cover;
	size_t late;         /* instances of which sampling began late (onset.h), */
	double rises;        /* and the sum over these of how fast their memory grows, in bytes an hour */
	double claims;       /* how fast the paths grow that grow on the mean over all instances, together */
};

/* The verdict of one instance on one path. */
struct cairn_fleet_record {
	uint32_t path; /* in `stacks` */
	uint32_t release;
	uint32_t instance;
	enum cairn_verdict verdict;
	double chance;     /* the probability that noise looks like this; 1 unless growing */
	double sure;       /* confidence that it grows, rather than fills up or has stopped, given that it moves; 0 unless growing */
	double per_hour, error; /* as judged; if not growing, from the first dump to the last */
	bool may_grow;     /* it leaves that open, and rose from the first dump to the last by more than two standard deviations */
	double rate, level; /* by least squares, per hour; the mean amount held */
	double now;
	int64_t since_ns;
	bool sum; /* of a frame, over the paths below it: only instances on which the sum grows have this record */
	const double *values; /* of a course that has not been judged yet; else NULL */
	struct cairn_unit_size unit;
	uint32_t clock; /* index in `clocks` for such a course */
};

/* The times of the dumps of an instance with courses that have not been judged yet. */
struct cairn_fleet_clock {
	int64_t first_ns;
	const double *hours; /* after that */
	size_t count;
	bool late; /* sampling began late, */
	double rise; /* and its memory grows so fast, in bytes an hour */
};

struct cairn_fleet_row {
	uint32_t path;
	enum cairn_verdict verdict; /* growing, or the verdict of the instances with the most bytes */
	double confidence;
	size_t growing;  /* number of instances on which it grows */
	size_t of;       /* number of instances of the releases on which it grows */
	uint32_t release; /* the release since which it grows */
	double per_hour, error; /* of one instance: the mean over those on which it grows */
	double now;             /* all instances together */
	int64_t since_ns;       /* when the first of them began to grow */
	bool new_in_release;    /* it grows on all instances of its release, as far as can be told, and on no earlier release */
};

/* Initialize with zeroes, and with `grid` if instances are to be pooled. */
struct cairn_fleet {
	struct cairn_cohort_grid grid;
	struct cairn_cohort *cohorts; /* one for each path and release */
	size_t cohort_count, cohort_capacity;
	struct cairn_map cohort_index;
	struct cairn_strings stacks; /* names from the leaf to the root, each followed by a line end */
	struct cairn_fleet_release *releases; /* after finish: in the order in which they were first seen */
	size_t release_count, release_capacity;
	struct cairn_fleet_record *records;
	size_t record_count, record_capacity;
	size_t instance_count;
	size_t path_count; /* number of paths, if not all of them were added; else 0 */
	size_t compared; /* number of paths of releases that were examined, if not all of them were added; else 0 */
	struct cairn_arena arena;
	struct cairn_fleet_clock *clocks;
	size_t clock_count, clock_capacity;
	struct cairn_fleet_row *rows; /* growing ones first; among these, first those that are new in a release */
	size_t count, capacity;
};

/* Adds the rows of one instance of release VERSION that started at START_NS; 0 if unknown. */
void cairn_fleet_add(struct cairn_fleet *fleet, const char *version, int64_t start_ns, const struct cairn_leaks *leaks,
		     const struct cairn_series *series, const struct cairn_view *view);

/* The memory of one path on one instance. */
struct cairn_fleet_course {
	uint32_t path; /* in `stacks` */
	const double *values; /* at each point */
	struct cairn_unit_size unit;
};

/* Adds an instance with COUNT courses. Only the points of SERIES are used; only VERSION is borrowed. */
void cairn_fleet_add_courses(struct cairn_fleet *fleet, const char *version, int64_t start_ns, const struct cairn_series *series,
			     const struct cairn_fleet_course *courses, size_t count);

/* Judges everything that was added. */
void cairn_fleet_judge(struct cairn_fleet *fleet);

/* The verdict on the service as a whole, with the limits of judge.h: growing if the first row grows for sure; too early if it may grow, or
 * if nothing grows and it is too early for a row with a good part of all memory, which *OPEN points to, if there is one; else steady. */
enum cairn_verdict cairn_fleet_verdict(const struct cairn_fleet *fleet, const struct cairn_fleet_row **open);
void cairn_fleet_free(struct cairn_fleet *fleet);

/* The probability that at least COUNT of TOTAL independent events happen, each with probability CHANCE. */
double cairn_fleet_tail(size_t total, size_t count, double chance);

#endif
