/* diff.c - compares a view with its base, entry by entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/diff.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

static const char *const titles[] = {"grown", "shrunk", "new", "gone"};

static double change(const struct cairn_diff_row *row)
{
	return row->after - row->before;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct cairn_diff_row *left = a, *right = b;
	double l = fabs(change(left)), r = fabs(change(right));
	if (l != r)
		return l > r ? -1 : 1;
	return strcmp(cairn_view_name(context, left->entry).data, cairn_view_name(context, right->entry).data);
}

static void add_sample(struct cairn_diff_row *rows, uint32_t *last, struct cairn_view *view, size_t sample, bool by_cum)
{
	size_t depth;
	const uint32_t *stack = cairn_view_stack(view, sample, &depth);
	double base = cairn_view_base(view, sample), now = cairn_view_value(view, sample) + base;
	struct cairn_spread spread = cairn_view_spread(view, sample);
	for (size_t d = 0; d < depth && (d == 0 || by_cum); d++) {
		if (last[stack[d]] == (uint32_t)sample + 1)
			continue;
		last[stack[d]] = (uint32_t)sample + 1;
		rows[stack[d]].before += base;
		rows[stack[d]].after += now;
		cairn_spread_add(&rows[stack[d]].spread, spread);
	}
}

/* Estimates are fractions: less than one unit counts as nothing. */
static enum cairn_diff_kind classify(const struct cairn_diff_row *row)
{
	if (fabs(row->before) < 1)
		return CAIRN_DIFF_NEW;
	if (fabs(row->after) < 1)
		return CAIRN_DIFF_GONE;
	return change(row) > 0 ? CAIRN_DIFF_GROWN : CAIRN_DIFF_SHRUNK;
}

void cairn_diff_make(struct cairn_diff *diff, struct cairn_view *view, const struct cairn_shape *shape)
{
	*diff = (struct cairn_diff){0};
	struct cairn_diff_row *rows = cairn_array_zero(view->entry_count, sizeof *rows);
	uint32_t *last = cairn_array_zero(view->entry_count, sizeof *last);
	for (size_t i = 0; i < view->sample_count; i++) {
		diff->before += cairn_view_base(view, i);
		diff->after += cairn_view_value(view, i) + cairn_view_base(view, i);
		cairn_spread_add(&diff->spread, cairn_view_spread(view, i));
		add_sample(rows, last, view, i, shape->by_cum);
	}
	double cutoff = fmax(1, fabs(diff->before * shape->node_fraction));
	for (uint32_t e = 0; e < view->entry_count; e++) {
		rows[e].entry = e;
		rows[e].noise = cairn_view_is_noise(view, change(&rows[e]), rows[e].spread);
		if (fabs(change(&rows[e])) < cutoff)
			continue;
		struct cairn_diff_section *section = &diff->sections[classify(&rows[e])];
		cairn_array_room(section->rows, section->count, section->capacity);
		section->rows[section->count++] = rows[e];
		section->total += change(&rows[e]);
	}
	for (size_t s = 0; s < CAIRN_DIFF_KINDS; s++)
		if (diff->sections[s].count > 0)
			qsort_r(diff->sections[s].rows, diff->sections[s].count, sizeof *rows, compare_rows, view);
	free(rows);
	free(last);
}

void cairn_diff_free(struct cairn_diff *diff)
{
	for (size_t s = 0; s < CAIRN_DIFF_KINDS; s++)
		free(diff->sections[s].rows);
	*diff = (struct cairn_diff){0};
}

/* A change within the noise is marked with a ~ and, on a terminal, shown in grey. */
static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct cairn_diff_row *row = item;
	struct cairn_report *report = context;
	const struct cairn_spread none = {0};
	bool grey = row->noise && report->shape.colour && !table->json;
	if (grey) {
		cairn_buffer_text(table->out, "\033[90m");
		table->start = table->out->length;
	}
	cairn_report_change(report, "change", "Change", 13, change(row), row->spread);
	if (!table->json && !table->head) { /* the mark is what separates the columns */
		cairn_buffer_byte(table->out, row->noise ? '~' : ' ');
		table->start = table->out->length;
	}
	cairn_report_value(report, "before", "Before", 12, row->before, none);
	cairn_report_value(report, "after", "After", 12, row->after, none);
	cairn_report_name(report, row->entry);
	if (table->json && report->view->knows_errors)
		cairn_json_bool(table->json, "noise", row->noise);
	else if (table->json)
		cairn_json_null(table->json, "noise");
	if (grey)
		cairn_buffer_text(table->out, "\033[0m");
}

static void write_section(struct cairn_report *report, const struct cairn_diff_section *section, const char *title)
{
	size_t shown = cairn_report_shown(report, section->count);
	const struct cairn_spread none = {0};
	if (report->json) {
		cairn_json_open(report->json, title, '{');
		cairn_json_integer(report->json, "count", (int64_t)section->count);
		if (!report->shape.by_cum) /* a caller has what its callees have */
			cairn_json_number(report->json, "total", round(section->total));
		cairn_json_open(report->json, "rows", '[');
	} else {
		cairn_buffer_format(report->out, "%s: %zu%s", title, section->count, report->shape.by_cum ? "\n" : ", ");
		report->table.start = report->out->length;
		if (!report->shape.by_cum) {
			cairn_report_change(report, NULL, "", 0, section->total, none);
			cairn_buffer_text(report->out, " in total\n");
		}
	}
	for (size_t i = 0; i < shown; i++)
		cairn_table_row(&report->table, columns, report, &section->rows[i]);
	cairn_table_close(&report->table, ']');
	cairn_table_close(&report->table, '}');
	cairn_table_more(&report->table, section->count - shown, "-n 0 shows all");
}

void cairn_diff_report(struct cairn_report *report)
{
	struct cairn_diff diff;
	bool any_noise = false;
	char before[32], after[32], difference[32];
	cairn_diff_make(&diff, report->view, &report->shape);
	double grown = diff.after - diff.before;
	if (report->json) {
		cairn_json_number(report->json, "before", round(diff.before));
		cairn_json_number(report->json, "after", round(diff.after));
		cairn_report_change(report, "change", NULL, 0, grown, diff.spread);
	} else {
		cairn_buffer_format(report->out, "%s before, %s after: %s%s\n\n",
				    cairn_head_number(report->view, &report->shape, diff.before, before),
				    cairn_head_number(report->view, &report->shape, diff.after, after), grown > 0 ? "+" : "",
				    cairn_head_number(report->view, &report->shape, grown, difference));
	}
	cairn_table_head(&report->table, columns, report, sizeof *diff.sections->rows);
	for (size_t s = 0; s < CAIRN_DIFF_KINDS; s++) {
		const struct cairn_diff_section *section = &diff.sections[s];
		for (size_t i = 0; i < cairn_report_shown(report, section->count); i++)
			any_noise |= section->rows[i].noise;
		write_section(report, section, titles[s]);
	}
	if (any_noise && !report->json)
		cairn_buffer_text(report->out, "\n~ marks changes within the 95 % sampling error\n");
	cairn_diff_free(&diff);
}
