/* thin.h - which of very many points a picture needs.
 *
 * A picture has some hundreds of columns of pixels, a long series has thousands of dumps. What is drawn within one column is a vertical
 * stroke from the lowest to the highest value, however many points it has: the first, the lowest, the highest and the last of them give the
 * same stroke, and connect to the neighbouring columns as all of them do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_THIN_H
#define CAIRN_SERIES_THIN_H

#include <stddef.h>
#include <stdint.h>

/* Puts into KEPT the points from START up to END that a line through their VALUES needs, in order, and returns how many they are: at most
 * four for each of the COLUMNS, which do not descend. */
size_t cairn_thin(const uint32_t *columns, const double *values, size_t start, size_t end, size_t *kept);

/* Points from START up to END that are connected by a line. */
struct cairn_stretch {
	size_t start, end;
	double peak; /* its highest value; cairn_thin_stretch fills it in */
};

/* Adds STRETCH, which follows the COUNT STRETCHES, and returns the new count. Of stretches that lie in one and the same column, only the one
 * with the highest value stays. */
size_t cairn_thin_stretch(struct cairn_stretch *stretches, size_t count, struct cairn_stretch stretch, const uint32_t *columns,
			  const double *values);

/* Finds for each point from START up to END the largest of VALUES (with SIGN -1: the smallest) among the points whose X is at most REACH
 * away, and puts it into MOST. X does not descend. QUEUE has room for END - START numbers. */
void cairn_thin_window(const double *x, const double *values, double sign, double reach, struct cairn_stretch stretch, size_t *queue,
		       double *most);

#endif
