/* traces.c - lists stacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/traces.h"

#include "base/array.h"
#include "report/head.h"
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

static void write_text(struct cairn_view *view, size_t sample, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	struct cairn_view_label label;
	char text[256];
	cairn_buffer_text(out, rule);
	for (size_t i = 0; cairn_view_label(view, sample, i, &label); i++) {
		struct cairn_view_label key = {.text = label.key};
		cairn_buffer_format(out, "%12s:  ", cairn_label_text(&key, false, text, 64));
		cairn_buffer_format(out, "%s\n", cairn_label_text(&label, shape->bytes, text, sizeof text));
	}
	size_t depth;
	const uint32_t *stack = cairn_view_stack(view, sample, &depth);
	const bool *inlined = cairn_view_inlined(view);
	cairn_buffer_format(out, "%12s   ", cairn_head_number(view, shape, cairn_view_value(view, sample), text));
	if (view->options.errors)
		cairn_buffer_format(
			out, "95 %%: %s\n               ",
			cairn_head_interval(view, shape, cairn_view_value(view, sample), cairn_view_spread(view, sample), text));
	for (size_t d = 0; d < depth; d++) {
		struct cairn_bytes name = cairn_view_name(view, stack[d]);
		if (d)
			cairn_buffer_text(out, "               ");
		cairn_buffer_append(out, name.data, name.length);
		cairn_buffer_text(out, inlined[d] ? " (inline)\n" : "\n");
	}
	if (depth == 0)
		cairn_buffer_text(out, "[no stack]\n");
}

void cairn_traces_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	size_t count;
	uint32_t *order = choose_samples(view, shape, &count);
	for (size_t i = 0; i < count; i++)
		write_text(view, order[i], shape, out);
	cairn_buffer_text(out, rule);
	free(order);
}

static void write_json(struct cairn_view *view, size_t sample, struct cairn_json *json)
{
	struct cairn_view_label label;
	cairn_json_open(json, NULL, '{');
	cairn_json_number(json, "value", round(cairn_view_value(view, sample)));
	cairn_head_interval_json(view, json, "value", cairn_view_value(view, sample), cairn_view_spread(view, sample));
	cairn_json_open(json, "labels", '[');
	for (size_t i = 0; cairn_view_label(view, sample, i, &label); i++) {
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "key", label.key);
		cairn_label_json(&label, json);
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
	size_t depth;
	const uint32_t *stack = cairn_view_stack(view, sample, &depth);
	const bool *inlined = cairn_view_inlined(view);
	cairn_json_open(json, "stack", '[');
	for (size_t d = 0; d < depth; d++) {
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", cairn_view_name(view, stack[d]));
		cairn_json_bool(json, "inlined", inlined[d]);
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

void cairn_traces_json(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_json *json)
{
	size_t count;
	uint32_t *order = choose_samples(view, shape, &count);
	cairn_json_open(json, "traces", '[');
	for (size_t i = 0; i < count; i++)
		write_json(view, order[i], json);
	cairn_json_close(json, ']');
	free(order);
}
