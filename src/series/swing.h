/* swing.h - call paths that rise and fall repeatedly.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_SWING_H
#define CAIRN_SERIES_SWING_H

#include <stddef.h>
#include <stdint.h>

struct cairn_swing {
	size_t falls;        /* falls that are larger than chance and small fluctuations */
	double period_hours; /* mean time from peak to peak; 0 with fewer than two peaks */
};

/* Looks for swings in COUNT values. UNIT is the value of one sample. */
struct cairn_swing cairn_swing_find(const double *hours, const double *values, const uint32_t *run, size_t count, double unit);

#endif
