/* scenario.h - simulated services with known truth, for the benchmark of verdicts.
 *
 * Two simulators make series of dumps and say what is true of their paths: scenarios.c and weak.c with populations that hold so much and
 * die by chance, objects.c with single objects of known birth and death. statistics.c judges the series and counts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_BENCH_SCENARIO_H
#define CAIRN_TESTS_BENCH_SCENARIO_H

#include "series/series.h"

enum { SCENARIO_PATHS = 5100, SCENARIO_DUMPS_PER_HOUR = 6 };

struct scenario_truth;

struct scenario {
	const char *name;   /* a * in front: beyond what was asked for */
	const char *wanted; /* "found >= 87 %, alarms <= 1 %": what is measured, with its bounds; the first is shown */
	int dumps; /* 0 where it is drawn for each series */
	size_t number;
	/* One SERIES, which the caller frees, and its truth. The same SEED makes the same. */
	void (*make)(size_t number, uint64_t seed, struct cairn_series *series, struct scenario_truth *truth);
};

/* The truth of a path at the end of its series. Its leaf is called by a letter and its number. */
struct scenario_path {
	bool grows;
	double per_hour;
	double since; /* the dump at which it began to grow; -1 where it always did, or does not */
	double level; /* that it fills up to; 0 for none */
};

struct scenario_truth {
	struct scenario_path paths[SCENARIO_PATHS];
	size_t special;  /* the first so many paths are what the scenario is about */
	bool spread;     /* they are one leak together, below the frame "parent1" */
	double per_hour; /* that the service grows by */
};

/* The scenario of that NUMBER, counted from 0; false where there are no more. */
bool scenario_of_populations(size_t number, struct scenario *scenario);
bool scenario_of_objects(size_t number, struct scenario *scenario);
bool scenario_of_weak_leaks(size_t number, struct scenario *scenario);

#endif
