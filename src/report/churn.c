/* churn.c - merges stacks with the same names, and evaluates their lifetimes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/churn.h"

#include "base/text.h"
#include "base/utf8.h"
#include "profile/origin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { shown_callers = 5, first_class = 14 }; /* the first lifetime class is below 2^14 ns */

struct row {
	const uint32_t *entries; /* leaf first */
	size_t depth;
	struct cairn_freed freed;
};

struct rows {
	struct row *items;
	size_t count;
	struct cairn_arena arena;
};

static uint64_t count_lifetimes(const struct cairn_freed *freed)
{
	uint64_t count = 0;
	for (int i = 0; i < CAIRN_LIFETIMES; i++)
		count += freed->lifetimes[i];
	return count;
}

/* The lifetime that half of the samples of FREED did not reach, in seconds. Within a class of the histogram, lifetimes are assumed to be
 * spread evenly on a logarithmic scale. */
static double median_lifetime(const struct cairn_freed *freed)
{
	double wanted = (double)count_lifetimes(freed) / 2, before = 0;
	for (int i = 0; i < CAIRN_LIFETIMES; i++) {
		double here = (double)freed->lifetimes[i];
		if (here > 0 && before + here >= wanted)
			return ldexp(exp2((wanted - before) / here), first_class - 1 + i) / 1e9;
		before += here;
	}
	return 0;
}

/* The share of the samples of FREED that lived less than SECONDS. */
static double share_below(const struct cairn_freed *freed, double seconds)
{
	double all = (double)count_lifetimes(freed), below = 0;
	for (int i = 0; i < CAIRN_LIFETIMES; i++) {
		double part = log2(seconds * 1e9) - (first_class - 1 + i);
		below += (double)freed->lifetimes[i] * fmin(1, fmax(0, part));
	}
	return all > 0 ? below / all : 0;
}

static int by_stack(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	if (left->depth != right->depth)
		return left->depth < right->depth ? -1 : 1;
	return left->depth ? memcmp(left->entries, right->entries, left->depth * sizeof *left->entries) : 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	if (left->freed.bytes != right->freed.bytes)
		return left->freed.bytes > right->freed.bytes ? -1 : 1;
	return by_stack(a, b);
}

static void add(struct cairn_freed *to, const struct cairn_freed *from)
{
	to->samples += from->samples;
	to->objects += from->objects;
	to->bytes += from->bytes;
	to->elsewhere += from->elsewhere;
	for (int i = 0; i < CAIRN_LIFETIMES; i++)
		to->lifetimes[i] += from->lifetimes[i];
}

static void gather(struct rows *rows, struct cairn_view *view)
{
	const struct cairn_profile *profile = view->profile;
	size_t count = 0;
	*rows = (struct rows){.items = calloc(view->sample_count + 1, sizeof *rows->items)};
	if (!rows->items)
		cairn_out_of_memory(view->sample_count * sizeof *rows->items);
	for (size_t i = 0; i < view->sample_count; i++) {
		uint32_t sample = view->samples[i];
		if (sample >= profile->freed_count || !profile->freed[sample].samples)
			continue;
		struct row *row = &rows->items[count++];
		const uint32_t *entries = cairn_view_stack(view, i, &row->depth);
		uint32_t *copy = cairn_arena_alloc(&rows->arena, (row->depth + 1) * sizeof *copy);
		if (row->depth)
			memcpy(copy, entries, row->depth * sizeof *copy);
		row->entries = copy;
		row->freed = profile->freed[sample];
	}
	qsort(rows->items, count, sizeof *rows->items, by_stack);
	for (size_t i = 0; i < count; i++)
		if (rows->count && by_stack(&rows->items[rows->count - 1], &rows->items[i]) == 0)
			add(&rows->items[rows->count - 1].freed, &rows->items[i].freed);
		else
			rows->items[rows->count++] = rows->items[i];
	qsort(rows->items, rows->count, sizeof *rows->items, by_bytes);
}

static void release(struct rows *rows)
{
	free(rows->items);
	cairn_arena_free(&rows->arena);
}

static struct cairn_bytes name_of(const struct cairn_view *view, const struct row *row, size_t depth)
{
	return row->depth ? cairn_strings_bytes(&view->names, view->entries[row->entries[depth]].name) : cairn_bytes_of("[no stack]");
}

static const char *lifetime(double seconds, char *out, size_t size)
{
	const char *units[] = {"us", "ms", "s", "min", "h"};
	const double factors[] = {1e6, 1e3, 1, 1.0 / 60, 1.0 / 3600};
	int unit = seconds < 1e-3 ? 0 : seconds < 1 ? 1 : seconds < 120 ? 2 : seconds < 7200 ? 3 : 4;
	snprintf(out, size, "%.1f %s", seconds * factors[unit], units[unit]);
	return out;
}

static double elsewhere(const struct cairn_freed *freed)
{
	return freed->samples ? fmin(1, (double)freed->elsewhere / (double)freed->samples) : 0;
}

static void write_row(const struct cairn_view *view, const struct row *row, double seconds, struct cairn_buffer *out)
{
	char rate[32], objects[32] = "-", median[32];
	const struct cairn_freed *freed = &row->freed;
	cairn_text_human((double)freed->bytes / (seconds > 0 ? seconds : 1), rate);
	if (seconds > 0)
		snprintf(objects, sizeof objects, "%.1f", (double)freed->objects / seconds);
	size_t start = out->length;
	cairn_buffer_format(out, "%11s%s %12s %12s %6.1f%% %12.1f%%  ", rate, seconds > 0 ? "/s" : "  ", objects,
			    lifetime(median_lifetime(freed), median, sizeof median), 100 * share_below(freed, 1e-3),
			    100 * elsewhere(freed));
	int indent = (int)(out->length - start);
	cairn_utf8_show(out, name_of(view, row, 0));
	cairn_buffer_byte(out, '\n');
	for (size_t d = 1; d < row->depth && d <= shown_callers; d++) {
		cairn_buffer_format(out, "%*s", indent, "");
		cairn_utf8_show(out, name_of(view, row, d));
		cairn_buffer_byte(out, '\n');
	}
	if (row->depth > shown_callers + 1)
		cairn_buffer_format(out, "%*s… %zu more\n", indent, "", row->depth - shown_callers - 1);
}

void cairn_churn_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	struct rows rows;
	double seconds = cairn_profile_sampled_seconds(view->profile);
	gather(&rows, view);
	cairn_buffer_format(out, "%13s %12s %12s %7s %13s  %s\n", seconds > 0 ? "Freed again" : "Freed in all", "Objects/s", "Median life",
			    "<1 ms", "Other thread", "Call path");
	for (size_t i = 0; i < rows.count && (!shape->node_count || i < shape->node_count); i++)
		write_row(view, &rows.items[i], seconds, out);
	if (!rows.count)
		cairn_buffer_text(out, "nothing that was sampled has been freed\n");
	release(&rows);
}

static void write_row_json(const struct cairn_view *view, const struct row *row, double seconds, struct cairn_json *json)
{
	cairn_json_open(json, NULL, '{');
	cairn_json_text(json, "name", name_of(view, row, 0));
	cairn_json_number(json, "bytes_per_second", seconds > 0 ? (double)row->freed.bytes / seconds : NAN);
	cairn_json_number(json, "objects_per_second", seconds > 0 ? (double)row->freed.objects / seconds : NAN);
	cairn_json_number(json, "bytes", (double)row->freed.bytes);
	cairn_json_number(json, "objects", (double)row->freed.objects);
	cairn_json_number(json, "samples", (double)row->freed.samples);
	cairn_json_number(json, "median_seconds", median_lifetime(&row->freed));
	cairn_json_number(json, "within_1ms", share_below(&row->freed, 1e-3));
	cairn_json_number(json, "other_thread", elsewhere(&row->freed));
	cairn_json_open(json, "stack", '[');
	for (size_t d = 0; d < row->depth; d++)
		cairn_json_text(json, NULL, name_of(view, row, d));
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

/* At most ROW_MOST rows, 0 for all, and no more than fit in BYTE_MOST bytes. */
static void write_json(const struct cairn_view *view, const struct rows *rows, uint64_t row_most, size_t byte_most, struct cairn_json *json)
{
	double seconds = cairn_profile_sampled_seconds(view->profile);
	size_t start = json->out->length;
	cairn_json_number(json, "seconds", seconds > 0 ? seconds : NAN);
	cairn_json_open(json, "rows", '[');
	for (size_t i = 0; i < rows->count && (!row_most || i < row_most); i++) {
		struct cairn_json before = *json;
		size_t length = json->out->length;
		write_row_json(view, &rows->items[i], seconds, json);
		if (json->out->length - start > byte_most) {
			json->out->length = length;
			*json = before;
			break;
		}
	}
	cairn_json_close(json, ']');
}

void cairn_churn_json(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_json *json)
{
	struct rows rows;
	gather(&rows, view);
	write_json(view, &rows, shape->node_count, SIZE_MAX, json);
	release(&rows);
}

bool cairn_churn_page(struct cairn_view *view, struct cairn_buffer *out)
{
	enum { row_most = 60, byte_most = 512 << 10 };
	if (!view->profile->freed)
		return false;
	struct rows rows;
	struct cairn_json json = cairn_json(out);
	gather(&rows, view);
	bool any = rows.count > 0;
	if (any) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_integer(&json, "version", 1);
		write_json(view, &rows, row_most, byte_most, &json);
		cairn_json_close(&json, '}');
	}
	release(&rows);
	return any;
}
