/* top.c - makes and writes the flat table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/top.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

struct order {
	const struct cairn_view *view;
	bool by_cum;
};

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct cairn_top_row *left = a, *right = b;
	const struct order *order = context;
	double l = fabs(order->by_cum ? left->cum : left->flat), r = fabs(order->by_cum ? right->cum : right->flat);
	if (l != r)
		return l > r ? -1 : 1;
	l = fabs(order->by_cum ? left->flat : left->cum);
	r = fabs(order->by_cum ? right->flat : right->cum);
	if (l != r)
		return l > r ? -1 : 1;
	struct cairn_bytes x = cairn_view_name(order->view, left->entry), y = cairn_view_name(order->view, right->entry);
	return strcmp(x.data, y.data);
}

/* Drops the rows that are too small for the shape. Returns how many of the rest it shows. */
static size_t choose_shown(struct cairn_top *top, const struct cairn_view *view, const struct cairn_shape *shape)
{
	double cutoff = fabs(view->shown * shape->node_fraction);
	size_t kept = 0;
	for (size_t i = 0; i < top->count; i++)
		if (fabs(top->rows[i].cum) >= cutoff)
			top->rows[kept++] = top->rows[i];
	return shape->node_count && shape->node_count < kept ? (size_t)shape->node_count : kept;
}

void cairn_top_groups(struct cairn_view *view, const uint32_t *groups, size_t group_count, struct cairn_top_row *rows)
{
	/* The last sample (plus one) that was counted for a group, so that recursion counts once. */
	uint32_t *last = cairn_array_zero(group_count, sizeof *last);
	memset(rows, 0, group_count * sizeof *rows);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		double value = cairn_view_value(view, i);
		struct cairn_spread spread = view->options.errors ? cairn_view_spread(view, i) : (struct cairn_spread){0};
		for (size_t d = 0; d < depth; d++) {
			uint32_t group = groups ? groups[stack[d]] : stack[d];
			if (group == CAIRN_NONE)
				continue;
			if (d == 0) {
				rows[group].flat += value;
				cairn_spread_add(&rows[group].flat_spread, spread);
			}
			if (last[group] != (uint32_t)i + 1) {
				last[group] = (uint32_t)i + 1;
				rows[group].cum += value;
				cairn_spread_add(&rows[group].cum_spread, spread);
			}
		}
	}
	free(last);
}

void cairn_top_make(struct cairn_top *top, struct cairn_view *view, const struct cairn_shape *shape)
{
	*top = (struct cairn_top){.rows = cairn_array_zero(view->entry_count, sizeof *top->rows)};
	cairn_top_groups(view, NULL, view->entry_count, top->rows);
	for (size_t e = 0; e < view->entry_count; e++)
		if (!cairn_view_is_nothing(view, top->rows[e].flat) || !cairn_view_is_nothing(view, top->rows[e].cum)) {
			top->rows[top->count] = top->rows[e];
			top->rows[top->count++].entry = (uint32_t)e;
		}
	qsort_r(top->rows, top->count, sizeof *top->rows, compare_rows, &(struct order){view, shape->by_cum});
	top->shown = choose_shown(top, view, shape);
}

void cairn_top_free(struct cairn_top *top)
{
	free(top->rows);
	*top = (struct cairn_top){0};
}

void cairn_top_columns(struct cairn_report *report, const struct cairn_top_row *row, double sum)
{
	double whole = report->view->whole;
	bool shares = !isnan(sum);
	cairn_report_value(report, "flat", "Self", 12, row->flat, row->flat_spread);
	if (shares) {
		cairn_report_percent(report, "Self%", row->flat, whole);
		cairn_report_percent(report, "Sum%", sum, whole);
	}
	cairn_report_value(report, "cum", "Total", 12, row->cum, row->cum_spread);
	if (shares)
		cairn_report_percent(report, "Total%", row->cum, whole);
}

struct running {
	struct cairn_report *report;
	double sum;
};

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct cairn_top_row *row = item;
	struct running *running = context;
	(void)table;
	running->sum += row->flat;
	cairn_top_columns(running->report, row, running->sum);
	cairn_report_name(running->report, row->entry);
}

void cairn_top_write(struct cairn_report *report)
{
	struct cairn_top top;
	struct running running = {report, 0};
	cairn_top_make(&top, report->view, &report->shape);
	cairn_table_rows(&report->table, "rows", columns, &running, top.rows, top.shown, sizeof *top.rows);
	cairn_table_more(&report->table, top.count - top.shown, cairn_report_all(report));
	cairn_top_free(&top);
}
