/* unsample.c - jeprof's two formulas, without the division by zero, and the errors of their results.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/unsample.h"

#include <math.h>
#include <stddef.h>

/* 95 % of a normal distribution are within this many standard deviations. */
static const double sigmas = 1.959964;

void cairn_unsample(enum cairn_unsampling method, double period, double *objects, double *bytes)
{
	if (!(*objects > 0) || !(*bytes > 0) || !(period > 0))
		return;
	double mean = *bytes / *objects, factor = 1;
	if (method == CAIRN_UNSAMPLE_POISSON)
		factor = -1 / expm1(-mean / period);
	else if (method == CAIRN_UNSAMPLE_RATIO && mean < period)
		factor = period / mean;
	*objects *= factor;
	*bytes *= factor;
}

double cairn_unsample_count(enum cairn_unsampling method, double period, double objects, double bytes)
{
	if (!(objects > 0) || !(bytes > 0) || !(period > 0))
		return fmax(0, objects);
	double mean = bytes / objects;
	if (method == CAIRN_UNSAMPLE_POISSON)
		return objects * -expm1(-mean / period);
	return method == CAIRN_UNSAMPLE_RATIO && mean < period ? objects * mean / period : objects;
}

/* jemalloc's size classes: four for each doubling, from 16 on; the few below are multiples of 8. */
static double next_class(double size)
{
	double group = exp2(floor(log2(size)));
	return size < 64 ? size + 8 : size + group / 4;
}

/* Whether jemalloc would print COUNT and SUM for samples of only this SIZE. *SAMPLES gets their number. */
static bool prints_as(double period, double size, double count, double sum, double *samples)
{
	static const double eighths = 8;
	double chance = -expm1(-size / period), bytes = round(size / chance), objects = round(eighths / chance) / eighths;
	double mean = bytes / objects, printed = bytes * -expm1(-mean / period);
	*samples = round(sum / printed);
	/* Both were rounded to integers. */
	return *samples >= 1 && fabs(*samples * printed - sum) <= 0.5 + 1e-9 * sum &&
	       fabs(*samples * printed / mean - count) <= 0.5 + 1e-9 * count;
}

void cairn_unsample_jemalloc(double period, double *objects, double *bytes)
{
	double count = *objects, sum = *bytes, found = 0;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, period, objects, bytes);
	static const double negligible = 1024; /* the period in objects; from here on, an eighth is less than one part in 16,000 */
	if (!(count > 0) || !(sum > 0) || !(period > 1) || sum / count * negligible < period)
		return;
	/* The count was rounded to an integer, so it is off by at most this; and rounding to an eighth may add six percent. */
	double mean = sum / count, off = 0.5 / count;
	double low = mean * (1 - fmin(0.7, off)) * 0.93, high = mean * (1 + off) * 1.07 / (1 - fmin(0.5, off));
	size_t matches = 0;
	double size = low < 64 ? fmax(8, floor(low / 8) * 8) : floor(low / (exp2(floor(log2(low))) / 4)) * (exp2(floor(log2(low))) / 4);
	for (; size <= high; size = next_class(size)) {
		double n;
		if (prints_as(period, size, count, sum, &n)) {
			matches++;
			found = size;
		}
	}
	/* Older versions print raw counts, whose mean is the size itself: the formula is right for them. */
	if (matches != 1)
		return;
	*objects = *bytes / found;
}

bool cairn_sizes_equal(double mean)
{
	return fabs(mean - round(mean)) <= 1e-9 * mean + 1e-7;
}

bool cairn_size_is_class(double size)
{
	double group = size < 64 ? 8 : exp2(floor(log2(size))) / 4;
	return size > 0 && fabs(size - round(size / group) * group) <= 1e-9 * size + 1e-7;
}

double cairn_sample_weight(double period, double mean)
{
	return mean > 0 && period > 0 ? 1 / expm1(mean / period) : 0;
}

/* The quantile of a gamma distribution that corresponds to AT standard deviations of a normal one, after Wilson and Hilferty. */
static double gamma_quantile(double shape, double at)
{
	double root = 1 - 1 / (9 * shape) + at / (3 * sqrt(shape));
	return root > 0 ? shape * root * root * root : 0;
}

/* The uncertain part of the value is treated as a number of samples of equal weight, the rest as exact. By Jeffreys' rule, the true mean of
 * a Poisson count k is within the quantiles of a gamma distribution of shape k + 1/2: on average neither too wide nor too narrow, from the
 * first sample on. */
struct cairn_interval cairn_spread_interval(double value, struct cairn_spread spread)
{
	static const double many = 1e8; /* samples; above this, numbers cancel out, and the normal distribution is as good */
	double weight = spread.variance > 0 ? spread.skew / spread.variance : 0, deviation = sqrt(spread.variance);
	double count = weight > 0 ? spread.variance / (weight * weight) : INFINITY;
	if (count > many)
		return (struct cairn_interval){value - sigmas * deviation, value + sigmas * deviation};
	return (struct cairn_interval){value + weight * (gamma_quantile(count + 0.5, -sigmas) - count),
				       value + weight * (gamma_quantile(count + 0.5, sigmas) - count)};
}

double cairn_change_chance(double variance, double change)
{
	static const double few = 6, precision = 1e-12;
	double whole = round(fabs(change));
	if (!(variance > 0))
		return whole == 0;
	if (variance >= few || whole > 60)
		return exp(-change * change / (2 * variance)) / sqrt(2 * M_PI * variance);
	/* The modified Bessel function of order WHOLE, by its series. */
	double term = exp(-variance) * pow(variance / 2, whole) / tgamma(whole + 1), sum = 0;
	for (int n = 0; n < 40 && term > precision * sum; n++) {
		sum += term;
		term *= variance * variance / 4 / ((n + 1.0) * (n + 1.0 + whole));
	}
	return sum;
}

/* The error of a change, in samples, if few came and went. Samples are whole, so exactly 95 % is impossible: this is the first reach with a
 * probability such that it is 95 % on average over all variances, plus half a sample for changes that are not a whole number of samples. */
static double few_reach(double variance)
{
	static const double enough = 0.87;
	double covered = 0;
	for (int reach = 0;; reach++) {
		double chance = cairn_change_chance(variance, reach);
		covered += reach ? 2 * chance : chance;
		if (covered >= enough || reach > 60)
			return reach + 0.5;
	}
}

/* No samples seen does not mean that there was nothing: adds one sample to those seen, with less weight the more there were. */
struct cairn_interval cairn_spread_change(double value, struct cairn_spread spread)
{
	static const double few = 6;
	double weight = spread.variance > 0 ? spread.skew / spread.variance : 0, square = weight * weight;
	double more = fmin(square, spread.variance > 0 ? square * square / spread.variance : 0);
	double reach = sigmas * sqrt(spread.variance + more);
	if (weight > 0 && spread.variance < few * square)
		reach = fmin(reach, weight * few_reach(spread.variance / square));
	return (struct cairn_interval){value - reach, value + reach};
}
