/* swing.h - call paths that rise and fall repeatedly.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_SWING_H
#define CAIRN_SERIES_SWING_H

#include <stddef.h>
#include <stdint.h>

/* The end of a rise or a fall. */
struct cairn_swing_turn {
	double hours, value;
};

struct cairn_swing {
	size_t falls;        /* falls that are larger than chance and small fluctuations */
	double period_hours; /* median time from peak to peak; 0 with fewer than two peaks */
	size_t troughs;      /* of the last run: lows that a fall ended in, and a rise followed */
	double first_top, last_top; /* of the last run: the value before the first and the last fall */
};

/* Looks for swings in COUNT values. UNIT is the value of one sample. TURNS has room for COUNT; the first of them are the troughs. */
struct cairn_swing cairn_swing_find(const double *hours, const double *values, const uint32_t *run, size_t count, double unit,
				    struct cairn_swing_turn *turns);

#endif
