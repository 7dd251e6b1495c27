/* trend.h - one call path over time: is it growing, how fast, how sure.
 *
 * The rate is a robust slope (the median of the slopes of all pairs of points, after Theil and Sen). How sure it is follows
 * from the noise, which is the larger of what sampling alone explains and what the series itself scatters: in a real
 * series the same samples persist from dump to dump, so either may be the larger. Where objects come and go, so do the samples, a few
 * from dump to dump, and what is estimated of a steady path wanders: noise that stays for a while looks like a slope, and counts for
 * as much more as it stays. A call path is *growing* when its slope is above all that, corrected for the number of paths looked at,
 * it still grows after its first quarter, and in its later half; that it came after the first dump is no growth. What grew only at
 * first, or fills ever more slowly, was warming up and has *plateaued*. What rises and falls again and again is a *sawtooth*.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_TREND_H
#define CAIRN_SERIES_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cairn_verdict { CAIRN_GROWING, CAIRN_SHRINKING, CAIRN_SAWTOOTH, CAIRN_PLATEAUED };

struct cairn_trend_point {
	double hours;
	double value;
	double error; /* standard deviation by sampling; 0 when everything was recorded */
	uint32_t run; /* points of different runs of the service are not compared with each other */
};

struct cairn_trend {
	enum cairn_verdict verdict;
	double per_hour;   /* of the part after warming up */
	double error;      /* standard deviation of that */
	double confidence; /* 0 to 1, in the verdict */
	bool warmed_up;    /* it grew faster at first */
};

/* Judges COUNT points in the order of time, of which there should be at least three. COMPARISONS is how many call paths are
 * judged together. SCRATCH has room for cairn_trend_scratch(count) doubles. */
void cairn_trend_judge(struct cairn_trend *trend, const struct cairn_trend_point *points, size_t count, size_t comparisons,
		       double *scratch);
size_t cairn_trend_scratch(size_t count);

const char *cairn_verdict_name(enum cairn_verdict verdict);

#endif
