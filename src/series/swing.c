/* swing.c - counts swings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/swing.h"

#include <math.h>
#include <stdbool.h>

/* A swing must exceed this share of the largest value, and this many standard deviations of a population of that size in which every object
 * comes by chance: five, because four occur among hundreds of paths and dumps. */
static const double least_share = 0.1, least_sigmas = 5;

struct cairn_swing cairn_swing_find(const double *hours, const double *values, const uint32_t *run, size_t count, double unit)
{
	struct cairn_swing swing = {0};
	double largest = 0;
	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, fabs(values[i]));
	double threshold = fmax(least_sigmas * sqrt(largest * unit), least_share * largest);
	double low = 0, high = 0, top = 0, first_top = 0, last_top = 0;
	size_t tops = 0;
	int direction = 0;
	for (size_t i = 0; i < count; i++) {
		double value = values[i];
		if (i == 0 || run[i] != run[i - 1]) {
			low = high = value;
			top = hours[i];
			direction = 0;
			continue;
		}
		low = fmin(low, value);
		if (value > high) {
			high = value;
			top = hours[i];
		}
		if (direction >= 0 && high - value > threshold) {
			first_top = tops++ == 0 ? top : first_top;
			last_top = top;
			direction = -1;
			low = value;
			swing.falls++;
		} else if (direction <= 0 && value - low > threshold) {
			direction = 1;
			high = value;
			top = hours[i];
		}
	}
	swing.period_hours = tops > 1 ? (last_top - first_top) / (double)(tops - 1) : 0;
	return swing;
}
