/* pins.c - who keeps free memory from being returned, by function.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/sort.h"
#include "live/source.h"
#include "live/why/why.h"
#include "profile/read.h"
#include "report/view.h"

#include <math.h>
#include <stdlib.h>

struct row {
	uint32_t entry;
	double bytes, objects, largest;
	size_t sample; /* the one with the most */
	struct cairn_spread spread;
};

static int compare(const void *a, const void *b)
{
	const struct row *one = a, *other = b;
	return one->bytes < other->bytes ? 1 : one->bytes > other->bytes ? -1 : one->entry < other->entry ? -1 : one->entry > other->entry;
}

/* The rows of VIEW by the function that allocated, the largest first. */
static struct row *list(struct cairn_view *view, size_t *count)
{
	struct row *rows = cairn_array_zero(view->entry_count + 1, sizeof *rows);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		struct row *row = &rows[depth ? stack[0] : view->entry_count];
		double bytes = cairn_view_value(view, i);
		if (!(bytes > 0))
			continue;
		if (bytes > row->largest) {
			row->largest = bytes;
			row->sample = i;
		}
		row->bytes += bytes;
		row->objects += cairn_view_objects(view, i);
		cairn_spread_add(&row->spread, cairn_view_spread(view, i));
	}
	*count = 0;
	for (uint32_t i = 0; i <= view->entry_count; i++)
		if (rows[i].bytes > 0) {
			rows[i].entry = i;
			rows[(*count)++] = rows[i];
		}
	cairn_sort(rows, *count, sizeof *rows, compare);
	return rows;
}

static const char *stack_text(struct cairn_why *why, struct cairn_view *view, size_t sample)
{
	size_t depth;
	struct cairn_buffer out = cairn_buffer(1 << 20);
	const uint32_t *stack = cairn_view_stack(view, sample, &depth);
	for (size_t i = 0; i < depth; i++) {
		struct cairn_bytes name = cairn_view_name(view, stack[i]);
		cairn_buffer_append(&out, name.data, name.length);
		cairn_buffer_byte(&out, '\n');
	}
	const char *text = cairn_arena_text(&why->arena, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	return text;
}

/* The samples estimate what is known exactly as a whole. If their error allows that they stand for all of it, they do. */
static double scale_of(const struct cairn_why *why, const struct cairn_view *view, const struct row *rows, size_t count)
{
	double sum = 0, whole = (double)(why->walk.sum.pinned - why->walk.sum.pinned_by_cache);
	struct cairn_spread spread = {0};
	for (size_t i = 0; i < count; i++) {
		sum += rows[i].bytes;
		cairn_spread_add(&spread, rows[i].spread);
	}
	struct cairn_interval interval = cairn_view_interval(view, sum, spread);
	return sum > 0 && (sum > whole || interval.high >= whole) ? whole / sum : 1;
}

static void take_rows(struct cairn_why *why, struct cairn_view *view)
{
	size_t count;
	struct row *rows = list(view, &count);
	double scale = why->walk.heap_count ? scale_of(why, view, rows, count) : 1;
	for (size_t i = 0; i < count && why->facts.pin_count + 1 < CAIRN_WHY_PINS; i++) {
		struct cairn_interval interval = cairn_view_interval(view, rows[i].bytes, rows[i].spread);
		struct cairn_bytes name =
			rows[i].entry < view->entry_count ? cairn_view_name(view, rows[i].entry) : cairn_bytes_of("[no stack]");
		why->pins[why->facts.pin_count++] = (struct cairn_cause_pin){
			.name = cairn_arena_text(&why->arena, name),
			.stack = rows[i].entry < view->entry_count ? stack_text(why, view, rows[i].sample) : "",
			.bytes = rows[i].bytes * scale,
			.low = interval.low * scale,
			.high = interval.high * scale,
			.objects = rows[i].objects,
		};
	}
	free(rows);
}

static int compare_pins(const void *a, const void *b)
{
	const struct cairn_cause_pin *one = a, *other = b;
	return one->bytes < other->bytes ? 1 : one->bytes > other->bytes ? -1 : strcmp(one->name, other->name);
}

void cairn_why_pins(struct cairn_why *why, struct cairn_bytes text, const char *name)
{
	struct cairn_profile profile;
	struct cairn_view view;
	struct cairn_read_options reading = {.shown = CAIRN_SHOWN_FRAGMENTATION};
	cairn_profile_init(&profile);
	if (cairn_profile_read(&profile, text, name, &reading, NULL) && profile.facts.shows >> CAIRN_SHOWN_FRAGMENTATION & 1) {
		cairn_source_name(&profile, &(struct cairn_source_options){.quiet = true});
		if (cairn_view_make(&view, &profile, &(struct cairn_view_options){.fold_wrappers = true}, NULL)) {
			take_rows(why, &view);
			cairn_view_free(&view);
		}
	}
	cairn_profile_free(&profile);
	double cached = (double)why->walk.sum.pinned_by_cache;
	if (cached > 0 && why->walk.heap_count)
		why->pins[why->facts.pin_count++] = (struct cairn_cause_pin){
			.name = "[freed objects in the allocator's caches]", .stack = "", .bytes = cached, .low = cached, .high = cached,
			.objects = (double)why->walk.sum.cached_objects};
	cairn_sort(why->pins, why->facts.pin_count, sizeof *why->pins, compare_pins);
	why->facts.pins = why->pins;
}
