/* top.h - which functions hold the memory: one row for each entry, with its Self and Total.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_TOP_H
#define CAIRN_REPORT_TOP_H

#include "report/table.h"

struct cairn_top_row {
	uint32_t entry;
	double flat; /* of samples that end here */
	double cum;  /* of samples that pass through here, each counted once */
	struct cairn_spread flat_spread, cum_spread; /* all zero unless the view shows errors */
};

/* Adds MORE's Self and Total to SUM. */
static inline void cairn_top_add(struct cairn_top_row *sum, const struct cairn_top_row *more)
{
	sum->flat += more->flat;
	sum->cum += more->cum;
	cairn_spread_add(&sum->flat_spread, more->flat_spread);
	cairn_spread_add(&sum->cum_spread, more->cum_spread);
}

/* The columns of ROW: Self and Total, as "flat" and "cum". In text, with SUM, what Self adds up to, also as shares; in a code listing,
 * without (SUM is NAN). */
void cairn_top_columns(struct cairn_report *report, const struct cairn_top_row *row, double sum);

struct cairn_top {
	struct cairn_top_row *rows; /* largest first */
	size_t shown;               /* the number of rows to show, by the shape */
	size_t count;               /* the number of all rows */
};

/* Adds up the samples, sorted by flat or cum; equal rows by name. Entries with the value 0 have no row. */
void cairn_top_make(struct cairn_top *top, struct cairn_view *view, const struct cairn_shape *shape);
void cairn_top_free(struct cairn_top *top);

/* Adds up the samples by groups of entries: GROUPS has the group of each entry, or CAIRN_NONE; if it is NULL, each entry is a group. ROWS
 * has room for GROUP_COUNT; their `entry` is not used. */
void cairn_top_groups(struct cairn_view *view, const uint32_t *groups, size_t group_count, struct cairn_top_row *rows);

/* Makes and writes the table, "rows". */
void cairn_top_write(struct cairn_report *report);

#endif
