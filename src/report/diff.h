/* diff.h - what grew, shrank, appeared and disappeared since a base.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_DIFF_H
#define CAIRN_REPORT_DIFF_H

#include "report/table.h"

enum cairn_diff_kind { CAIRN_DIFF_GROWN, CAIRN_DIFF_SHRUNK, CAIRN_DIFF_NEW, CAIRN_DIFF_GONE, CAIRN_DIFF_KINDS };

struct cairn_diff_row {
	uint32_t entry;
	double before;
	double after;
	struct cairn_spread spread; /* of the change */
	bool noise; /* the change may be due to sampling alone */
};

struct cairn_diff {
	double before, after; /* of everything that the filters kept */
	struct cairn_spread spread; /* of the change */
	struct cairn_diff_section {
		struct cairn_diff_row *rows; /* largest change first */
		size_t count, capacity;
		double total; /* the sum of the changes */
	} sections[CAIRN_DIFF_KINDS];
};

/* Compares the Self of entries or, with SHAPE's by_cum, their Total. Changes of less than a whole unit are left out. */
void cairn_diff_make(struct cairn_diff *diff, struct cairn_view *view, const struct cairn_shape *shape);
void cairn_diff_free(struct cairn_diff *diff);

/* Compares the report's view and writes "before", "after", "change" and each section. The shape's node_count limits the rows of each. */
void cairn_diff_report(struct cairn_report *report);

#endif
