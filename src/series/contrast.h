/* contrast.h - two groups of instances compared, row by row, with the scatter of the instances as the error.
 *
 * A row is what somebody wants to compare, as a function, and every instance has a value of it; what an instance was not said to have is
 * nothing. The means of two groups differ by chance as far as instances within a group differ: Welch's test and interval, which ask for
 * neither equal sizes nor equal scatter of the groups. With a single instance in a group nothing is known of the scatter, and there is no
 * interval.
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
	double low, high; /* the 95 % confidence interval of the change; NAN where it is not known */
	double chance;    /* that instances which do not differ look like this, over all rows together; 1 where it is not known */
};

struct cairn_contrast {
	struct cairn_strings names;
	size_t instances[2];
	struct cairn_contrast_row *rows; /* after finish: what differs first, then the largest change */
	size_t count, capacity;
	struct cairn_contrast_row total; /* of what an instance has in all */
	struct cairn_map index;
};

/* Another instance of GROUP, 0 or 1, that has TOTAL in all. What follows is of it. */
void cairn_contrast_instance(struct cairn_contrast *contrast, int group, double total);

/* It has VALUE of the row NAME, once. */
void cairn_contrast_add(struct cairn_contrast *contrast, int group, struct cairn_bytes name, double value);

void cairn_contrast_finish(struct cairn_contrast *contrast);
void cairn_contrast_free(struct cairn_contrast *contrast);

/* Whether a row's change is more than chance, all rows considered. */
bool cairn_contrast_differs(const struct cairn_contrast_row *row);

#endif
