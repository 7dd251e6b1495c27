/* traces.c - lists stacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/traces.h"

#include "base/array.h"
#include "report/label.h"

#include <math.h>
#include <stdlib.h>

static const char rule[] = "-------------+-------------------------------------------------------\n";

static int compare_samples(const void *a, const void *b, void *context)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	double l = fabs(cairn_view_value(context, left)), r = fabs(cairn_view_value(context, right));
	return l != r ? (l > r ? -1 : 1) : left < right ? -1 : left > right;
}

/* The indices of the samples to show, in order. */
static uint32_t *choose_samples(struct cairn_view *view, const struct cairn_shape *shape, size_t *count)
{
	uint32_t *order = cairn_array_new(view->sample_count + 1, sizeof *order);
	double cutoff = fabs(view->shown * shape->node_fraction);
	*count = 0;
	for (size_t i = 0; i < view->sample_count; i++)
		if (cairn_view_value(view, i) != 0 && fabs(cairn_view_value(view, i)) >= cutoff)
			order[(*count)++] = (uint32_t)i;
	qsort_r(order, *count, sizeof *order, compare_samples, view);
	if (shape->node_count && shape->node_count < *count)
		*count = (size_t)shape->node_count;
	return order;
}

static void write_labels(const struct cairn_report *report, size_t sample)
{
	struct cairn_view_label label;
	char text[256];
	for (size_t i = 0; cairn_view_label(report->view, sample, i, &label); i++) {
		struct cairn_view_label key = {.text = label.key};
		if (report->json) {
			cairn_json_open(report->json, NULL, '{');
			cairn_json_text(report->json, "key", label.key);
			cairn_label_json(&label, report->json);
			cairn_json_close(report->json, '}');
		} else {
			cairn_buffer_format(report->out, "%12s:  ", cairn_label_text(&key, false, text, 64));
			cairn_buffer_format(report->out, "%s\n", cairn_label_text(&label, report->shape.bytes, text, sizeof text));
		}
	}
}

static void write_stack(const struct cairn_report *report, size_t sample)
{
	size_t depth;
	const uint32_t *stack = cairn_view_stack(report->view, sample, &depth);
	const bool *inlined = cairn_view_inlined(report->view);
	int indent = report->json ? 0 : cairn_table_indent(&report->table);
	for (size_t d = 0; d < depth; d++) {
		struct cairn_bytes name = cairn_view_name(report->view, stack[d]);
		if (report->json) {
			cairn_json_open(report->json, NULL, '{');
			cairn_json_text(report->json, "name", name);
			cairn_json_bool(report->json, "inlined", inlined[d]);
			cairn_json_close(report->json, '}');
		} else {
			cairn_buffer_format(report->out, "%s%*s   %.*s%s", d ? "\n" : "", d ? indent : 0, "", (int)name.length, name.data,
					    inlined[d] ? " (inline)" : "");
		}
	}
	if (depth == 0 && !report->json)
		cairn_buffer_text(report->out, "   [no stack]");
}

static void columns(struct cairn_table *table, void *context, const void *item)
{
	struct cairn_report *report = context;
	size_t sample = *(const uint32_t *)item;
	if (table->json) {
		cairn_json_open(table->json, "labels", '[');
		write_labels(report, sample);
		cairn_json_close(table->json, ']');
	}
	cairn_report_value(report, "value", "", 12, cairn_view_value(report->view, sample),
			   report->view->options.errors ? cairn_view_spread(report->view, sample) : (struct cairn_spread){0});
	cairn_table_open(table, "stack", '[');
	write_stack(report, sample);
	cairn_table_close(table, ']');
}

void cairn_traces_write(struct cairn_report *report)
{
	size_t count;
	uint32_t *order = choose_samples(report->view, &report->shape, &count);
	cairn_table_open(&report->table, "traces", '[');
	for (size_t i = 0; i < count; i++) {
		if (!report->json) {
			cairn_buffer_text(report->out, rule);
			write_labels(report, order[i]);
		}
		cairn_table_row(&report->table, columns, report, &order[i]);
	}
	if (report->json)
		cairn_json_close(report->json, ']');
	else
		cairn_buffer_text(report->out, rule);
	free(order);
}
