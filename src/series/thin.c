/* thin.c - thins points to columns of pixels, and finds the largest value in a window that moves.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/thin.h"

#include <stdbool.h>

/* Adds those of FOUR points that are not there yet; they are few, so they are sorted by hand. */
static size_t add_in_order(size_t four[4], size_t *kept, size_t count)
{
	for (size_t i = 1; i < 4; i++)
		for (size_t j = i; j > 0 && four[j - 1] > four[j]; j--) {
			size_t other = four[j];
			four[j] = four[j - 1];
			four[j - 1] = other;
		}
	for (size_t i = 0; i < 4; i++)
		if (i == 0 || four[i] != four[i - 1])
			kept[count++] = four[i];
	return count;
}

size_t cairn_thin(const uint32_t *columns, const double *values, size_t start, size_t end, size_t *kept)
{
	size_t count = 0;
	for (size_t i = start, after; i < end; i = after) {
		size_t lowest = i, highest = i;
		for (after = i + 1; after < end && columns[after] == columns[i]; after++) {
			lowest = values[after] < values[lowest] ? after : lowest;
			highest = values[after] > values[highest] ? after : highest;
		}
		count = add_in_order((size_t[4]){i, lowest, highest, after - 1}, kept, count);
	}
	return count;
}

static bool is_within(const uint32_t *columns, struct cairn_stretch stretch, uint32_t column)
{
	return columns[stretch.start] == column && columns[stretch.end - 1] == column;
}

size_t cairn_thin_stretch(struct cairn_stretch *stretches, size_t count, struct cairn_stretch stretch, const uint32_t *columns,
			  const double *values)
{
	uint32_t column = columns[stretch.start];
	stretch.peak = values[stretch.start];
	for (size_t i = stretch.start; i < stretch.end; i++)
		stretch.peak = values[i] > stretch.peak ? values[i] : stretch.peak;
	if (count == 0 || !is_within(columns, stretch, column) || !is_within(columns, stretches[count - 1], column))
		stretches[count++] = stretch;
	else if (stretch.peak > stretches[count - 1].peak)
		stretches[count - 1] = stretch;
	return count;
}

/* The queue has the points of the window that are larger than all that follow them in it; so its first is the largest. */
void cairn_thin_window(const double *x, const double *values, double sign, double reach, struct cairn_stretch stretch, size_t *queue,
		       double *most)
{
	size_t first = 0, last = 0, next = stretch.start;
	for (size_t i = stretch.start; i < stretch.end; i++) {
		for (; next < stretch.end && x[next] - x[i] <= reach; next++) {
			while (last > first && sign * values[queue[last - 1]] <= sign * values[next])
				last--;
			queue[last++] = next;
		}
		while (x[i] - x[queue[first]] > reach)
			first++;
		most[i] = values[queue[first]];
	}
}
