/* law.c - tails of distributions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/law.h"

#include <math.h>

double cairn_law_normal_above(double at)
{
	return 0.5 * erfc(at / M_SQRT2);
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	enum { steps_most = 400 };
	static const double tiny = 1e-300, precision = 1e-12;
	double c = 1, d = 1 - (a + b) * x / (a + 1);
	d = 1 / (fabs(d) < tiny ? tiny : d);
	double result = d;
	for (int step = 1; step <= steps_most; step++) {
		double m = step, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		result *= d * c;
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		result *= d * c;
		if (fabs(d * c - 1) < precision)
			break;
	}
	return result;
}

/* The regularized incomplete beta function of X, from 0 to 1. */
static double beta_below(double a, double b, double x)
{
	if (!(x > 0))
		return 0;
	if (x >= 1)
		return 1;
	int sign;
	double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double cairn_law_student_above(double at, double freedom)
{
	if (!(freedom > 0) || isnan(at))
		return 1;
	if (isinf(at))
		return at > 0 ? 0 : 1;
	double half = 0.5 * beta_below(freedom / 2, 0.5, freedom / (freedom + at * at));
	return at > 0 ? half : 1 - half;
}

double cairn_law_student_quantile(double chance, double freedom)
{
	double low = 0, high = 1;
	while (high < 1e9 && cairn_law_student_above(high, freedom) > chance)
		high *= 2;
	for (int step = 0; step < 60; step++) {
		double middle = (low + high) / 2;
		if (cairn_law_student_above(middle, freedom) > chance)
			low = middle;
		else
			high = middle;
	}
	return high;
}

double cairn_law_coin_above(double tosses, double hits)
{
	if (hits <= 0)
		return 1;
	return hits > tosses ? 0 : beta_below(hits, tosses - hits + 1, 0.5);
}

int cairn_law_compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;
	return (one > other) - (one < other);
}
