/* whole.h - whole numbers from doubles that may be too large for them, or none at all: a dump may say what it likes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_WHOLE_H
#define CAIRN_BASE_WHOLE_H

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

#endif
