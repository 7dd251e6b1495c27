/* swing.h - what rises and falls again and again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_SWING_H
#define CAIRN_SERIES_SWING_H

#include <stddef.h>
#include <stdint.h>

struct cairn_swing {
	size_t falls;        /* swings down that are more than chance and small change */
	double period_hours; /* from top to top on average; 0 where there are less than two tops */
};

/* Looks for swings in COUNT values. UNIT is what one sample stands for. */
struct cairn_swing cairn_swing_find(const double *hours, const double *values, const uint32_t *run, size_t count, double unit);

#endif
