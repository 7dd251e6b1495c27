/* unsample.c - the two formulas jeprof applies, without its division by zero; and the errors they leave.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/unsample.h"

#include <math.h>

/* Of a normal law, 95 % lie within so many standard deviations. */
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

double cairn_sample_weight(double period, double mean)
{
	return mean > 0 && period > 0 ? 1 / expm1(mean / period) : 0;
}

/* The quantile of a gamma distribution that lies where a normal law has AT standard deviations, after Wilson and Hilferty. */
static double gamma_quantile(double shape, double at)
{
	double root = 1 - 1 / (9 * shape) + at / (3 * sqrt(shape));
	return root > 0 ? shape * root * root * root : 0;
}

/* What varies is taken for so many samples of one weight, the rest of the value for certain. The true mean of a Poisson count k
 * lies, by Jeffreys' rule, within the quantiles of a gamma distribution of the shape k + 1/2: neither too wide nor too narrow
 * on average, from the first sample on. */
struct cairn_interval cairn_spread_interval(double value, struct cairn_spread spread)
{
	static const double many = 1e8; /* samples; numbers cancel out from there on, and the normal law is as good */
	double weight = spread.variance > 0 ? spread.skew / spread.variance : 0, deviation = sqrt(spread.variance);
	double count = weight > 0 ? spread.variance / (weight * weight) : INFINITY;
	if (count > many)
		return (struct cairn_interval){value - sigmas * deviation, value + sigmas * deviation};
	return (struct cairn_interval){value + weight * (gamma_quantile(count + 0.5, -sigmas) - count),
				       value + weight * (gamma_quantile(count + 0.5, sigmas) - count)};
}

/* One sample more than were seen: none seen does not mean that there was nothing to see. */
struct cairn_interval cairn_spread_change(double value, struct cairn_spread spread)
{
	double weight = spread.variance > 0 ? spread.skew / spread.variance : 0, reach = sigmas * sqrt(spread.variance + weight * weight);
	return (struct cairn_interval){value - reach, value + reach};
}
