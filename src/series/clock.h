/* clock.h - which dumps of a series are judged, and when they were taken.
 *
 * Dumps that follow each other much faster than the others, as those that somebody takes by hand do, are one *moment*: hardly any object
 * came or went in between, so they say nothing new, and would count as proof of what one of them shows. Of very many moments, some are left
 * out, because they would make verdicts hardly surer. Which ones varies from stretch to stretch: every tenth, exactly, would turn work that
 * repeats at about that pace into a slow rise.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_CLOCK_H
#define CAIRN_SERIES_CLOCK_H

#include "series/course.h"

/* In its first seconds a service warms up, and a job may soon be done: nothing that is seen for a shorter time is called growing, unless that
 * is so many times the longest ordinary lifetime of its objects. */
enum { CAIRN_SETTLED_SECONDS = 25, CAIRN_SETTLED_LIVES = 10 };

struct cairn_trend_clock {
	/* The moments, in order of time. */
	double hours[CAIRN_COURSE_POINTS];
	uint32_t run[CAIRN_COURSE_POINTS];
	size_t pick[CAIRN_COURSE_POINTS]; /* the dump of each; the last one is the last dump */
	size_t count;
	/* All dumps; borrowed. */
	const double *all_hours;
	const uint32_t *all_run;
	size_t all_count;
};

/* Chooses from COUNT dumps. Borrows HOURS and RUN. */
void cairn_trend_clock_make(struct cairn_trend_clock *clock, const double *hours, const uint32_t *run, size_t count);

/* About how many dumps stand behind one moment. */
double cairn_trend_clock_dumps(const struct cairn_trend_clock *clock);

#endif
