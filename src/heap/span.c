/* span.c - a sorted array of spans.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/span.h"

#include "base/array.h"
#include "base/sort.h"

#include <stdlib.h>

static uint64_t end_of(const struct cairn_spans *spans, const struct cairn_span *span)
{
	return span->start + ((uint64_t)span->pages << spans->image->page_bits);
}

void cairn_spans_add(struct cairn_spans *spans, const struct cairn_span *span)
{
	if (span->pages == 0 || end_of(spans, span) <= span->start || spans->count > spans->image->page_count)
		return;
	cairn_array_room(spans->spans, spans->count, spans->capacity);
	spans->spans[spans->count++] = *span;
}

static int compare(const void *a, const void *b)
{
	const struct cairn_span *one = a, *other = b;
	return one->start < other->start ? -1 : one->start > other->start;
}

void cairn_spans_sort(struct cairn_spans *spans)
{
	size_t kept = 0;
	if (spans->count)
		cairn_sort(spans->spans, spans->count, sizeof *spans->spans, compare);
	for (size_t i = 0; i < spans->count; i++)
		if (!kept || spans->spans[i].start >= end_of(spans, &spans->spans[kept - 1]))
			spans->spans[kept++] = spans->spans[i];
	spans->count = kept;
}

/* The first span that ends behind ADDRESS. */
static size_t find_next(const struct cairn_spans *spans, uint64_t address)
{
	size_t first = 0, end = spans->count;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (end_of(spans, &spans->spans[middle]) <= address)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

struct cairn_span *cairn_spans_find(const struct cairn_spans *spans, uint64_t address)
{
	size_t i = find_next(spans, address);
	return i < spans->count && spans->spans[i].start <= address ? &spans->spans[i] : NULL;
}

struct cairn_span *cairn_spans_object(const struct cairn_spans *spans, uint64_t address)
{
	struct cairn_span *span = cairn_spans_find(spans, address);
	if (!span || span->state != CAIRN_SPAN_USED)
		return NULL;
	/* A large object may begin anywhere on its first page. */
	return (span->size ? (address - span->start) % span->size : (address - span->start) >> spans->image->page_bits) == 0 ? span : NULL;
}

void cairn_spans_search(const struct cairn_spans *spans,
			void (*visit)(void *context, uint64_t address, const unsigned char data[CAIRN_SPANS_LENGTH]), void *context)
{
	enum { room = 1 << 16 };
	struct cairn_image *image = spans->image;
	struct cairn_image_window window = cairn_image_window(image, room);
	const struct cairn_image_run *run;
	for (uint64_t at = 0; (run = cairn_image_run(image, at)) && !cairn_image_is_late(image);) {
		at = run->start > at ? run->start : at;
		size_t next = find_next(spans, at);
		uint64_t end = run->end;
		if (next < spans->count && spans->spans[next].start < end)
			end = spans->spans[next].start;
		for (; at + CAIRN_SPANS_LENGTH <= end; at += 8) {
			const unsigned char *data = cairn_image_window_at(&window, at, CAIRN_SPANS_LENGTH);
			if (!data)
				break;
			visit(context, at, data);
		}
		at = next < spans->count && end == spans->spans[next].start ? end_of(spans, &spans->spans[next]) : end;
	}
	cairn_image_window_free(&window);
}

static void count_used(struct cairn_tally *tally, const struct cairn_span *span, uint64_t end, struct cairn_walk_sum *sum)
{
	uint64_t cached = span->cached < span->live ? span->cached : span->live, live = span->live - cached;
	uint64_t size = span->size ? span->size : end - span->start, most = (end - span->start) / size;
	live = live < most ? live : most;
	cached = cached < most - live ? cached : most - live;
	sum->live += live * size;
	sum->live_objects += live;
	sum->cached += cached * size;
	sum->cached_objects += cached;
	sum->free += end - span->start - (live + cached) * size;
	cairn_tally_unit(tally, span->start, end, (live + cached) * size, live, cached);
	if (live + cached == 0) /* it waits for its next object */
		cairn_tally_flag(tally, span->start, end, CAIRN_PAGE_RESERVE);
}

void cairn_spans_count(const struct cairn_spans *spans, struct cairn_walk_heap *heap)
{
	struct cairn_tally tally = cairn_tally(spans->image);
	for (size_t i = 0; i < spans->count; i++) {
		const struct cairn_span *span = &spans->spans[i];
		uint64_t end = end_of(spans, span);
		if (span->state == CAIRN_SPAN_USED) {
			count_used(&tally, span, end, &heap->sum);
		} else {
			cairn_tally_free(&tally, span->start, end);
			cairn_tally_flag(&tally, span->start, end,
					 span->state == CAIRN_SPAN_RETURNABLE ? CAIRN_PAGE_RETURNABLE : CAIRN_PAGE_RESERVE);
			heap->sum.free += end - span->start;
		}
		cairn_tally_sum(spans->image, span->start, end, &heap->sum);
	}
}

void cairn_spans_free(struct cairn_spans *spans)
{
	free(spans->spans);
	*spans = (struct cairn_spans){0};
}
