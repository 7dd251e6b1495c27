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
	static const double odd[] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1};
	double s = (mantissa - 1) / (mantissa + 1), square = s * s, sum = 0;
	for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++)
		sum = sum * square + odd[i];
	return 2 * s * sum + exponent * ln2;
}

double cairn_exponential_chance(double value)
{
	if (!(value < 45)) /* also where it is not a number: everything is seen */
		return 1;
	if (value < 0x1p-10) /* as most are: objects much smaller than the period */
		return value * (1 - value * (0.5 - value * (1.0 / 6 - value * (1.0 / 24 - value / 120))));
	/* value = k ln 2 - r with |r| at most ln 2 / 2; exp(r) - 1 by its series, so that small values lose no digits. */
	static const double parts[] = {1.0 / 14, 1.0 / 13, 1.0 / 12, 1.0 / 11, 1.0 / 10, 1.0 / 9, 1.0 / 8, 1.0 / 7,
				       1.0 / 6, 1.0 / 5, 1.0 / 4, 1.0 / 3, 1.0 / 2, 1};
	int k = (int)(value / ln2 + 0.5);
	double r = k * ln2 - value, sum = 0;
	for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
		sum = (sum + 1) * r * parts[i];
	double scale = power_of_two(-k);
	return 1 - scale - scale * sum;
}
