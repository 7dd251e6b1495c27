/* flamebearer.h - a call tree as Pyroscope's clients draw it: rows of boxes, from the root down.
 *
 * A box is a few numbers: its start, as the distance from the end of the previous box in its row, its total, its self, and the number of
 * its name. In a comparison, a box has the first three twice, for the base and for now. The children of a box begin where its self ends. All
 * numbers are integers: selfs are rounded, and totals are their sums, so that no box extends beyond its parent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FLAMEBEARER_H
#define CAIRN_REPORT_FLAMEBEARER_H

#include "report/tree.h"

struct cairn_flamebearer {
	struct cairn_strings names; /* the first is "total"; boxes count from 0, the table from 1 */
	bool compares;
	struct cairn_flamebearer_row {
		int64_t *values; /* 4 for each box, or 7 */
		size_t count, capacity;
	} *rows;
	size_t row_count, row_capacity;
	int64_t totals[2]; /* of the base (0 without one), and of now */
	int64_t most_self;
};

/* Makes the rows of TREE with at most NODE_MOST boxes (0 for all), the largest; those left out are summed up in their parent, as
 * "other". With COMPARES, boxes have both sides, also where TREE has no base: then nothing was there before. */
void cairn_flamebearer_make(struct cairn_flamebearer *flame, const struct cairn_tree *tree, size_t node_most, bool compares);
void cairn_flamebearer_free(struct cairn_flamebearer *flame);

#endif
