/* churn.c - merges stacks with the same names, and evaluates their lifetimes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/churn.h"

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

struct writing {
	const struct cairn_view *view;
	double seconds; /* that the profile covers; 0 if that is not known */
	const struct row *row;
};

static bool frame_at(const void *context, size_t depth, struct cairn_bytes *name)
{
	const struct writing *writing = context;
	if (depth < writing->row->depth)
		*name = name_of(writing->view, writing->row, depth);
	return depth < writing->row->depth;
}

static void columns(struct cairn_table *table, void *context, const void *item)
{
	struct writing *writing = context;
	const struct row *row = writing->row = item;
	const struct cairn_freed *freed = &row->freed;
	double seconds = writing->seconds > 0 ? writing->seconds : NAN, median = median_lifetime(freed);
	char objects[32], life[32];
	snprintf(objects, sizeof objects, "%.1f", (double)freed->objects / seconds);
	cairn_table_rate(table, "bytes_per_second", isnan(seconds) ? NULL : "Freed again", 13, (double)freed->bytes / seconds);
	cairn_table_bytes(table, "bytes", isnan(seconds) ? "Freed in all" : NULL, 13, (double)freed->bytes);
	cairn_table_number(table, "objects_per_second", "Objects/s", 12, (double)freed->objects / seconds, objects);
	cairn_table_count(table, "objects", NULL, 0, (double)freed->objects);
	cairn_table_count(table, "samples", NULL, 0, (double)freed->samples);
	cairn_table_seconds(table, "median_seconds", "Median life", 12, median, lifetime(median, life, sizeof life));
	cairn_table_share(table, "within_1ms", "<1 ms", 7, 1, share_below(freed, 1e-3));
	cairn_table_share(table, "other_thread", "Other thread", 13, 1, elsewhere(freed));
	cairn_table_stack(table, "Call path", shown_callers, frame_at, writing);
}

void cairn_churn_write(struct cairn_report *report)
{
	struct rows rows;
	struct writing writing = {report->view, cairn_profile_sampled_seconds(report->view->profile), NULL};
	gather(&rows, report->view);
	if (report->json)
		cairn_json_number(report->json, "seconds", writing.seconds > 0 ? writing.seconds : NAN);
	cairn_table_rows(&report->table, "rows", columns, &writing, rows.items, cairn_report_shown(report, rows.count), sizeof *rows.items);
	if (!rows.count && !report->json)
		cairn_buffer_text(report->out, "nothing that was sampled has been freed\n");
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
		struct writing writing = {view, cairn_profile_sampled_seconds(view->profile), NULL};
		struct cairn_table table = cairn_table(NULL, &json, false);
		size_t start = out->length;
		cairn_json_open(&json, NULL, '{');
		cairn_json_integer(&json, "version", 1);
		cairn_json_number(&json, "seconds", writing.seconds > 0 ? writing.seconds : NAN);
		cairn_table_list(&table, columns, &writing, sizeof *rows.items);
		cairn_json_open(&json, "rows", '[');
		for (size_t i = 0; i < rows.count && i < row_most; i++) {
			struct cairn_json before = json;
			size_t length = out->length;
			cairn_table_row(&table, columns, &writing, &rows.items[i]);
			if (out->length - start > byte_most) {
				out->length = length;
				json = before;
				break;
			}
		}
		cairn_json_close(&json, ']');
		cairn_json_close(&json, '}');
	}
	release(&rows);
	return any;
}
