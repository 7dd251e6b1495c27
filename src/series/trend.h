/* trend.h - one call path over time: what it does now, since when, how fast, how sure.
 *
 * course.h weighs what the path may have done. The verdict follows in two steps, because two mistakes have different costs. Calling a path
 * growing that does not move wakes people up for nothing, so the probability of that is held at one in a hundred over *all* call paths of a
 * series together, by a test (chance.h): Student's t of the rate under each noise, times the number of paths and of positions where a
 * beginning was searched for. If it passes, the evidence decides between going on (*growing*), slowing down towards a level (*filling*),
 * having *stopped*, and having wandered there; the confidence is the share of the evidence. Otherwise the path is *steady*, *wandering*, a
 * *sawtooth*, or it is *too early* to tell.
 *
 * If the dumps also record what was ever allocated (prof_accum), the number of samples that came and went is known, and their balance is a
 * second test, which needs no guess of the noise.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_TREND_H
#define CAIRN_SERIES_TREND_H

#include "series/clock.h"
#include "series/swing.h"

enum cairn_verdict {
	CAIRN_GROWING,
	CAIRN_FILLING,   /* grows more and more slowly, towards a level */
	CAIRN_STOPPED,   /* grew, or made a step, and now rests */
	CAIRN_STEADY,
	CAIRN_WANDERING, /* goes up and down without direction */
	CAIRN_SAWTOOTH,  /* rises and falls repeatedly */
	CAIRN_SHRINKING,
	CAIRN_TOO_EARLY,
};

struct cairn_trend {
	enum cairn_verdict verdict;
	double per_hour;   /* now; 0 if it does not move */
	double error;      /* standard deviation of that */
	double confidence; /* in the verdict, from 0 to 1 */
	bool warmed_up;    /* it filled up or made a step at first, and grows apart from that */
	bool refilling;    /* it only grows back to what it held before the service was restarted */
	double since;      /* in hours: where it began or stopped; the first point if it was always so */
	double level, level_low, level_high; /* filling: where it levels off, with its 95 % confidence interval */
	double period_hours; /* sawtooth: from peak to peak; growing: of the rhythm that it grows under; 0 if the dumps show fewer than
			      * two */
	uint32_t more_dumps; /* too early: about how many more it takes; 0 if unknown */
	bool may_replace;    /* too early: sampling began late, and the memory of the process does not grow with it (onset.h) */
	double more_hours;   /* too early, judged by ages: about how much longer the service must be observed */
	bool rises;          /* the evidence is for growth: it is growing if the chance of noise is small enough */
	bool walks;          /* its level really wanders, more likely than not */
	double chance;     /* the probability that noise alone makes any of all paths look like this */
};

/* The state of one thread that judges paths of one clock. */
struct cairn_trend_judge {
	const struct cairn_trend_clock *clock;
	struct cairn_courses *tail[CAIRN_COURSE_POINTS]; /* courses of the points from that index on, made when needed */
	struct cairn_courses *head[CAIRN_COURSE_POINTS]; /* of those that are before the last run */
	struct cairn_evidence *evidence;
	struct cairn_swing_turn *turns; /* room for those of one path */
};

void cairn_trend_judge_open(struct cairn_trend_judge *judge, const struct cairn_trend_clock *clock); /* borrows CLOCK */
void cairn_trend_judge_close(struct cairn_trend_judge *judge);

/* Judges a path that held VALUES at the points of the clock. COMPARISONS is the number of paths judged together. */
void cairn_trend_judge(struct cairn_trend *trend, struct cairn_trend_judge *judge, const double *values, struct cairn_unit_size unit,
		       size_t comparisons);

/* The variance of the noise of a path with VALUES at the points of the clock, as a multiple of what its samples suggest (course.h); NAN if
 * the path does not show it. */
double cairn_trend_excess(struct cairn_trend_judge *judge, const double *values, struct cairn_unit_size unit);

const char *cairn_verdict_name(enum cairn_verdict verdict);

#endif
