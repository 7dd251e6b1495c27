/* whole.h - whole numbers from doubles that may be too large for them, or none at all: a dump may say what it likes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_WHOLE_H
#define CAIRN_BASE_WHOLE_H

#include <math.h>
#include <stdint.h>

/* VALUE without its fraction; the nearest there is where it is too large, and 0 for what is no number. */
static inline int64_t cairn_whole(double value)
{
	if (value >= 0x1p63)
		return INT64_MAX;
	if (value <= -0x1p63)
		return INT64_MIN;
	return value == value ? (int64_t)value : 0;
}

/* VALUE rounded, with what the numbers before it left in REST, which begins with 0: so the sum of many stays right. */
static inline int64_t cairn_whole_carry(double value, double *rest)
{
	if (!(fabs(value) < 0x1p63) || value == floor(value))
		return cairn_whole(value);
	double exact = value + *rest, rounded = floor(exact + 0.5);
	*rest = exact - rounded;
	return (int64_t)rounded;
}

#endif
