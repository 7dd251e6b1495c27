/* unsample.h - estimates what was there from what a sampling profiler saw, and the error of the estimate.
 *
 * Un-sampling must be applied to each line of a dump before anything is added up: the factor depends on the line's mean size.
 *
 * An object of x bytes is sampled with probability p = 1 - exp(-x / period), and a sampled one stands for x / p bytes. So each sampled
 * object adds x² (1 - p) / p² to the variance of the estimate. For a line, only the mean size m is known; its estimate v has the variance v
 * w with w = m (1 - p) / p = m / (exp(m / period) - 1), the *weight* of one sample: nearly the period for small objects, and 0 for objects
 * much larger than it, which are always sampled. Variances of different objects add up, within one dump and between dumps that were sampled
 * independently.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_UNSAMPLE_H
#define CAIRN_PROFILE_UNSAMPLE_H

#include <stdbool.h>

enum cairn_unsampling {
	CAIRN_UNSAMPLE_UNKNOWN, /* the format does not say how the values were sampled */
	CAIRN_UNSAMPLE_NONE,    /* everything was recorded */
	CAIRN_UNSAMPLE_POISSON, /* "v2": a byte is a sample with probability 1 / period */
	CAIRN_UNSAMPLE_RATIO,   /* "v1": very old tcmalloc; objects smaller than the period are scaled up to it */
};

/* Scales OBJECTS and BYTES of one line in place. A line without objects or without bytes stays as it is. */
void cairn_unsample(enum cairn_unsampling method, double period, double *objects, double *bytes);

/* The same for a line of a jemalloc dump. Since 5.3, jemalloc un-samples each object by its own size, rounds the count that one sample
 * stands for to eighths, and prints the numbers that the formula above turns into these sums. So counts of objects about as large as the
 * period are off by up to six percent. If all objects of the line have one size, the two numbers reveal it, and the count is corrected; the
 * bytes remain what jeprof makes of them. */
void cairn_unsample_jemalloc(double period, double *objects, double *bytes);

/* The number of samples behind an estimate of OBJECTS and BYTES of one line: the objects that were passed to cairn_unsample. */
double cairn_unsample_count(enum cairn_unsampling method, double period, double objects, double bytes);

/* Whether the objects of a line with a mean of MEAN bytes all have one size, as far as can be seen: sizes are integers, and the mean of
 * several sizes hardly ever is. */
bool cairn_sizes_equal(double mean);

/* Whether SIZE is one of jemalloc's size classes, which are the sizes in its dumps. */
bool cairn_size_is_class(double size);

/* The error of an estimate. All zeroes is an exact number; the spread of a sum is the sum of the spreads. */
struct cairn_spread {
	double variance;
	double unknown; /* the part of the value with an unknown error: objects of several sizes in one line */
	double skew; /* the sum of the variances times their weights: the third moment for random samples */
};

/* The weight of a sample of objects of MEAN bytes, in objects; MEAN times that is its weight in bytes. */
double cairn_sample_weight(double period, double mean);

/* The spread of VALUE, an estimate by samples of this weight. */
static inline struct cairn_spread cairn_spread_of(double value, double weight)
{
	double variance = (value < 0 ? -value : value) * weight;
	return (struct cairn_spread){.variance = variance, .skew = variance * weight};
}

static inline void cairn_spread_add(struct cairn_spread *sum, struct cairn_spread more)
{
	sum->variance += more.variance;
	sum->skew += more.skew;
	sum->unknown += more.unknown;
}

struct cairn_interval {
	double low, high;
};

/* The probability that the number of samples changes by CHANGE if as many come as go, VARIANCE in total: the Skellam distribution, or the
 * density of the normal distribution where that is close to it. */
double cairn_change_chance(double variance, double change);

/* The 95 % confidence interval of an estimate. Few samples follow a Poisson distribution, so the interval extends further up than down. */
struct cairn_interval cairn_spread_interval(double value, struct cairn_spread spread);

/* The same for the difference of two estimates with spreads that add up to SPREAD. If the interval contains 0, the change is within the
 * noise. */
struct cairn_interval cairn_spread_change(double value, struct cairn_spread spread);

#endif
