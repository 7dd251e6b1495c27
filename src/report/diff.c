/* diff.c - compares a view with its base, entry by entry.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/diff.h"

#include "base/array.h"
#include "report/head.h"

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

static size_t shown(const struct cairn_diff_section *section, const struct cairn_shape *shape)
{
	return shape->node_count && shape->node_count < section->count ? (size_t)shape->node_count : section->count;
}

/* VALUE with its sign, even if that is a plus. */
static char *signed_number(const struct cairn_view *view, const struct cairn_shape *shape, double value, char *out)
{
	out[0] = '+';
	cairn_head_number(view, shape, value, out + (value > 0));
	return out;
}

/* A change within the noise is marked with a ~ and, on a terminal, shown in grey. */
static void row_text(const struct cairn_diff_row *row, const struct cairn_view *view, const struct cairn_shape *shape,
		     struct cairn_buffer *out)
{
	char before[32], after[32], difference[33], errors[CAIRN_INTERVAL_TEXT];
	bool grey = row->noise && shape->colour;
	cairn_buffer_format(out, "%s%13s", grey ? "\033[90m" : "", signed_number(view, shape, change(row), difference));
	if (view->options.errors)
		cairn_buffer_text(out, cairn_head_interval_column(view, shape, change(row), row->spread, errors));
	cairn_buffer_format(out, "%c%12s %12s  ", row->noise ? '~' : ' ', cairn_head_number(view, shape, row->before, before),
			    cairn_head_number(view, shape, row->after, after));
	struct cairn_bytes name = cairn_view_name(view, row->entry);
	cairn_buffer_append(out, name.data, name.length);
	cairn_buffer_text(out, grey ? "\033[0m\n" : "\n");
}

static void section_text(const struct cairn_diff_section *section, const struct cairn_view *view, const struct cairn_shape *shape,
			 struct cairn_buffer *out)
{
	for (size_t i = 0; i < shown(section, shape); i++)
		row_text(&section->rows[i], view, shape, out);
	if (shown(section, shape) < section->count)
		cairn_buffer_format(out, "%13s and %zu more; -n 0 shows all\n", "…", section->count - shown(section, shape));
}

void cairn_diff_text(const struct cairn_diff *diff, const struct cairn_view *view, const struct cairn_shape *shape,
		     struct cairn_buffer *out)
{
	char before[32], after[32], difference[33];
	bool any_noise = false;
	cairn_buffer_format(out, "%s before, %s after: %s\n", cairn_head_number(view, shape, diff->before, before),
			    cairn_head_number(view, shape, diff->after, after),
			    signed_number(view, shape, diff->after - diff->before, difference));
	cairn_buffer_format(out, "\n%13s%s %12s %12s  %s\n", "Change", cairn_head_interval_title(view), "Before", "After", "Name");
	for (size_t s = 0; s < CAIRN_DIFF_KINDS; s++) {
		const struct cairn_diff_section *section = &diff->sections[s];
		for (size_t i = 0; i < shown(section, shape); i++)
			any_noise |= section->rows[i].noise;
		cairn_buffer_format(out, "%s: %zu", titles[s], section->count);
		if (!shape->by_cum) /* a caller has what its callees have */
			cairn_buffer_format(out, ", %s in total", signed_number(view, shape, section->total, difference));
		cairn_buffer_byte(out, '\n');
		section_text(section, view, shape, out);
	}
	if (any_noise)
		cairn_buffer_text(out, "\n~ marks changes within the 95 % sampling error\n");
}

void cairn_diff_json(const struct cairn_diff *diff, const struct cairn_view *view, const struct cairn_shape *shape, struct cairn_json *json)
{
	cairn_json_number(json, "before", round(diff->before));
	cairn_json_number(json, "after", round(diff->after));
	cairn_json_number(json, "change", round(diff->after - diff->before));
	cairn_head_interval_json(view, json, "change", diff->after - diff->before, diff->spread);
	for (size_t s = 0; s < CAIRN_DIFF_KINDS; s++) {
		const struct cairn_diff_section *section = &diff->sections[s];
		cairn_json_open(json, titles[s], '{');
		cairn_json_integer(json, "count", (int64_t)section->count);
		if (!shape->by_cum)
			cairn_json_number(json, "total", round(section->total));
		cairn_json_open(json, "rows", '[');
		for (size_t i = 0; i < shown(section, shape); i++) {
			cairn_json_open(json, NULL, '{');
			cairn_json_text(json, "name", cairn_view_name(view, section->rows[i].entry));
			cairn_json_number(json, "before", round(section->rows[i].before));
			cairn_json_number(json, "after", round(section->rows[i].after));
			cairn_json_number(json, "change", round(change(&section->rows[i])));
			cairn_head_interval_json(view, json, "change", change(&section->rows[i]), section->rows[i].spread);
			if (view->knows_errors)
				cairn_json_bool(json, "noise", section->rows[i].noise);
			else
				cairn_json_null(json, "noise");
			cairn_json_close(json, '}');
		}
		cairn_json_close(json, ']');
		cairn_json_close(json, '}');
	}
}
