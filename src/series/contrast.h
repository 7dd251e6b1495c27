/* contrast.h - compares two groups of instances row by row, with the scatter of the instances as the error.
 *
 * A row is anything to be compared, such as a function, and every instance has a value for it, 0 if none was added. The means of two groups
 * differ by chance as far as instances within a group differ: Welch's test and interval require neither equal sizes nor equal scatter of
 * the groups. If a group has a single instance, the scatter is unknown, and there is no interval.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_CONTRAST_H
#define CAIRN_SERIES_CONTRAST_H

#include "base/hash.h"
#include "base/strings.h"

struct cairn_contrast_row {
	uint32_t name; /* in `names` */
	double sums[2], squares[2]; /* over the instances of each group */
	/* After finish: */
	double before, after; /* the mean of each group */
	double change;
	double low, high; /* the 95 % confidence interval of the change; NAN if unknown */
	double chance;    /* the probability of this change, over all rows together, if the groups do not differ; 1 if unknown */
};

struct cairn_contrast {
	struct cairn_strings names;
	size_t instances[2];
	struct cairn_contrast_row *rows; /* after finish: rows that differ first, then by size of the change */
	size_t count, capacity;
	struct cairn_contrast_row total; /* of each instance's total */
	struct cairn_map index;
};

/* Adds an instance with a total of TOTAL to GROUP, 0 or 1. The calls that follow are about this instance. */
void cairn_contrast_instance(struct cairn_contrast *contrast, int group, double total);

/* Adds its VALUE of the row NAME; once for each row. */
void cairn_contrast_add(struct cairn_contrast *contrast, int group, struct cairn_bytes name, double value);

void cairn_contrast_finish(struct cairn_contrast *contrast);
void cairn_contrast_free(struct cairn_contrast *contrast);

/* Whether a row's change is more than chance, considering all rows. */
bool cairn_contrast_differs(const struct cairn_contrast_row *row);

#endif
