/* clock.c - gathers dumps into moments.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/clock.h"

#include <math.h>

/* Dumps within this share of the mean time between two of them are one moment. */
static const double moment_share = 1 / 8.0;
/* Multiples of it are spread evenly, and never repeat. */
static const double golden = 0.6180339887498949;

/* The mean time between two dumps of one run. */
static double mean_interval(const struct cairn_trend_clock *clock)
{
	double hours = 0, steps = 0;
	for (size_t i = 1; i < clock->all_count; i++)
		if (clock->all_run[i] == clock->all_run[i - 1]) {
			hours += clock->all_hours[i] - clock->all_hours[i - 1];
			steps++;
		}
	return steps > 0 ? hours / steps : 0;
}

/* The first dump of the moment that LAST ends. */
static size_t moment_start(const struct cairn_trend_clock *clock, size_t last, double width)
{
	size_t start = last;
	while (start > 0 && clock->all_run[start - 1] == clock->all_run[last] &&
	       clock->all_hours[last] - clock->all_hours[start - 1] <= width)
		start--;
	return start;
}

static size_t count_moments(const struct cairn_trend_clock *clock, double width)
{
	size_t count = 0;
	for (size_t end = clock->all_count; end > 0; count++)
		end = moment_start(clock, end - 1, width);
	return count;
}

void cairn_trend_clock_make(struct cairn_trend_clock *clock, const double *hours, const uint32_t *run, size_t count)
{
	*clock = (struct cairn_trend_clock){.all_hours = hours, .all_run = run, .all_count = count};
	double width = moment_share * mean_interval(clock);
	size_t moments = count_moments(clock, width), stride = (moments + CAIRN_COURSE_POINTS - 1) / CAIRN_COURSE_POINTS, end = count;
	clock->count = stride ? (moments + stride - 1) / stride : 0;
	for (size_t i = 0; i < clock->count; i++) {
		size_t last = end - 1, place = clock->count - 1 - i;
		for (size_t moment = 0; moment < stride && end > 0; moment++)
			end = moment_start(clock, end - 1, width);
		double turn = golden * (double)i;
		size_t at = last - (size_t)((turn - floor(turn)) * (double)(last - end + 1));
		clock->pick[place] = at;
		clock->hours[place] = hours[at];
		clock->run[place] = run[at];
	}
}

double cairn_trend_clock_dumps(const struct cairn_trend_clock *clock)
{
	return clock->count > 0 ? (double)clock->all_count / (double)clock->count : 1;
}
