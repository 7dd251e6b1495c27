/* swing.c - counts swings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/swing.h"

#include "base/array.h"
#include "series/law.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* A swing must exceed this share of the largest value, and this many standard deviations of a population of that size in which every object
 * comes by chance: five, because four occur among hundreds of paths and dozens of dumps. */
static const double least_share = 0.1, least_sigmas = 5;
/* The number of dumps that this is for. More of them span more standard deviations by chance. */
static const double usual_count = 64;

static double least_swing(const double *values, size_t count, double unit)
{
	double largest = 0, wider = 2 * (sqrt(2 * log(fmax(usual_count, (double)count))) - sqrt(2 * log(usual_count)));
	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, fabs(values[i]));
	return fmax((least_sigmas + wider) * sqrt(largest * unit), least_share * largest);
}

/* A path as it is followed from dump to dump. */
struct stretch {
	int direction;                      /* of the last swing: 1 up, -1 down, 0 for none yet */
	struct cairn_swing_turn low, high; /* since that swing began */
};

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof *values, cairn_law_compare);
	return values[count / 2];
}

/* From the hours of the tops of all runs, which are overwritten. A gap between two runs is no swing, but hardly changes the median. */
static double find_period(double *tops, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++)
		tops[i] = tops[i + 1] - tops[i];
	return count > 1 ? median(tops, count - 1) : 0;
}

struct cairn_swing cairn_swing_find(const double *hours, const double *values, const uint32_t *run, size_t count, double unit,
				    struct cairn_swing_turn *turns)
{
	struct cairn_swing swing = {0};
	double threshold = least_swing(values, count, unit), *tops = cairn_array_new(count, sizeof *tops);
	struct stretch stretch = {0};
	bool topped = false;
	for (size_t i = 0; i < count; i++) {
		struct cairn_swing_turn now = {hours[i], values[i]};
		if (i == 0 || run[i] != run[i - 1]) {
			stretch = (struct stretch){0, now, now};
			swing.troughs = 0;
			topped = false;
			continue;
		}
		stretch.low = now.value < stretch.low.value ? now : stretch.low;
		stretch.high = now.value > stretch.high.value ? now : stretch.high;
		if (stretch.direction >= 0 && stretch.high.value - now.value > threshold) {
			tops[swing.falls++] = stretch.high.hours;
			swing.first_top = topped ? swing.first_top : stretch.high.value;
			swing.last_top = stretch.high.value;
			topped = true;
			stretch.direction = -1;
			stretch.low = now;
		} else if (stretch.direction <= 0 && now.value - stretch.low.value > threshold) {
			if (stretch.direction < 0)
				turns[swing.troughs++] = stretch.low;
			stretch.direction = 1;
			stretch.high = now;
		}
	}
	swing.period_hours = find_period(tops, swing.falls);
	free(tops);
	return swing;
}
