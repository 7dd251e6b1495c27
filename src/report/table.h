/* table.h - a report of a view: text or JSON, and the columns that reports of views have in common (base/table.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_TABLE_H
#define CAIRN_REPORT_TABLE_H

#include "base/table.h"
#include "report/head.h"

struct cairn_report {
	struct cairn_table table;
	struct cairn_view *view;
	struct cairn_shape shape;
	struct cairn_buffer *out;
	struct cairn_json *json; /* NULL for text */
	bool dots;               /* an amount of 0 is a dot in text */
};

/* A report of VIEW to OUT or, if JSON is not NULL, as members of the object that is open there. */
struct cairn_report cairn_report(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out, struct cairn_json *json);

/* Columns: an amount with its confidence interval, if the view shows errors; a share of the whole view (text only); the name of an entry,
 * which is the last column. */
void cairn_report_value(struct cairn_report *report, const char *key, const char *title, int width, double value, struct cairn_spread spread);
void cairn_report_change(struct cairn_report *report, const char *key, const char *title, int width, double value, struct cairn_spread spread);
void cairn_report_percent(struct cairn_report *report, const char *title, double part, double whole);
void cairn_report_name(struct cairn_report *report, uint32_t entry);

/* What shows all rows: for cairn_table_more. */
const char *cairn_report_all(const struct cairn_report *report);

/* How many of COUNT rows the shape shows. */
size_t cairn_report_shown(const struct cairn_report *report, size_t count);

#endif
