/* exponential.c - series over a reduced range.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/exponential.h"

#include <stdint.h>
#include <string.h>

static const double ln2 = 0.693147180559945309417;

static double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + 1023) << 52;
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

/* With value = m 2^e and m between sqrt(1/2) and sqrt(2), log m = 2 artanh((m - 1) / (m + 1)). */
double cairn_exponential_log(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	int exponent = (int)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
	double mantissa;
	memcpy(&mantissa, &bits, sizeof mantissa);
	if (mantissa > 1.41421356237309505) {
		mantissa /= 2;
		exponent++;
	}
	double s = (mantissa - 1) / (mantissa + 1), square = s * s, sum = 0;
	for (int k = 19; k > 0; k -= 2)
		sum = sum * square + 1.0 / k;
	return 2 * s * sum + exponent * ln2;
}

double cairn_exponential_chance(double value)
{
	if (!(value < 45)) /* also where it is not a number: everything is seen */
		return 1;
	/* value = k ln 2 - r with |r| at most ln 2 / 2; exp(r) - 1 by its series, so that small values lose no digits. */
	int k = (int)(value / ln2 + 0.5);
	double r = k * ln2 - value, sum = 0;
	for (int n = 14; n > 0; n--)
		sum = (sum + 1) * r / n;
	double scale = power_of_two(-k);
	return 1 - scale - scale * sum;
}
