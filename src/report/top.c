/* top.c - makes and writes the flat table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/top.h"

#include "base/array.h"
#include "report/head.h"
#include "report/number.h"

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

void cairn_top_text(const struct cairn_top *top, const struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	double sum = 0;
	const char *errors = cairn_head_interval_title(view);
	cairn_buffer_format(out, "%12s%s %7s %7s %12s%s %7s  %s\n", "Self", errors, "Self%", "Sum%", "Total", errors, "Total%", "Name");
	for (size_t i = 0; i < top->shown; i++) {
		const struct cairn_top_row *row = &top->rows[i];
		sum += row->flat;
		char flat[32], cum[32], flat_errors[CAIRN_INTERVAL_TEXT], cum_errors[CAIRN_INTERVAL_TEXT];
		cairn_buffer_format(out, "%12s%s %6.2f%% %6.2f%% %12s%s %6.2f%%  ", cairn_head_number(view, shape, row->flat, flat),
				    cairn_head_interval_column(view, shape, row->flat, row->flat_spread, flat_errors),
				    cairn_number_percent(row->flat, view->whole), cairn_number_percent(sum, view->whole),
				    cairn_head_number(view, shape, row->cum, cum),
				    cairn_head_interval_column(view, shape, row->cum, row->cum_spread, cum_errors),
				    cairn_number_percent(row->cum, view->whole));
		struct cairn_bytes name = cairn_view_name(view, row->entry);
		cairn_buffer_append(out, name.data, name.length);
		cairn_buffer_byte(out, '\n');
	}
	if (top->shown < top->count)
		cairn_buffer_format(out, "%12s and %zu more; -n 0%s shows all\n", "…", top->count - top->shown,
				    shape->node_fraction > 0 ? " --nodefraction 0" : "");
}

void cairn_top_row_json(const struct cairn_top_row *row, const struct cairn_view *view, struct cairn_json *json)
{
	cairn_json_number(json, "flat", round(row->flat));
	cairn_json_number(json, "cum", round(row->cum));
	cairn_head_interval_json(view, json, "flat", row->flat, row->flat_spread);
	cairn_head_interval_json(view, json, "cum", row->cum, row->cum_spread);
}

static void code_column(const struct cairn_view *view, const struct cairn_shape *shape, bool dots, double value, struct cairn_spread spread,
			struct cairn_buffer *out)
{
	char number[32], errors[CAIRN_INTERVAL_TEXT];
	if (value == 0 && dots)
		cairn_buffer_format(out, "%12s%*s ", ".", view->options.errors ? CAIRN_INTERVAL_WIDTH + 1 : 0, "");
	else
		cairn_buffer_format(out, "%12s%s ", cairn_head_number(view, shape, value, number),
				    cairn_head_interval_column(view, shape, value, spread, errors));
}

void cairn_top_row_code(const struct cairn_top_row *row, const struct cairn_view *view, const struct cairn_shape *shape,
			bool dots, struct cairn_buffer *out)
{
	code_column(view, shape, dots, row->flat, row->flat_spread, out);
	code_column(view, shape, dots, row->cum, row->cum_spread, out);
}

void cairn_top_json(const struct cairn_top *top, const struct cairn_view *view, struct cairn_json *json)
{
	cairn_json_open(json, "rows", '[');
	for (size_t i = 0; i < top->shown; i++) {
		const struct cairn_top_row *row = &top->rows[i];
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", cairn_view_name(view, row->entry));
		cairn_top_row_json(row, view, json);
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}
