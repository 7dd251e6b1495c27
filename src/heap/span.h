/* span.h - heaps that consist of spans: runs of pages that hold objects of one size, or one large object, or are free.
 *
 * Readers collect the spans first, then look for the caches of threads, then write everything down. Where such a cache lies depends on the
 * version; but each list in one proves itself, because every object in it is in a span of the same size. So caches are searched for in all
 * memory that is in no span.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_SPAN_H
#define CAIRN_HEAP_SPAN_H

#include "heap/tally.h"

enum cairn_span_state { CAIRN_SPAN_USED, CAIRN_SPAN_RETURNABLE, CAIRN_SPAN_RETURNED };

struct cairn_span {
	uint64_t start;
	uint32_t pages;  /* of the system */
	uint32_t size;   /* of an object; 0 for one large object */
	uint16_t live;   /* objects that are not in the span's own free list */
	uint16_t cached; /* of them */
	uint8_t state, class; /* of size */
};

struct cairn_spans {
	struct cairn_image *image;
	struct cairn_span *spans; /* sorted by address, without overlaps */
	size_t count, capacity;
};

/* Adds SPAN, which a reader has checked. */
void cairn_spans_add(struct cairn_spans *spans, const struct cairn_span *span);

/* Call it when all have been added: only then can they be found. Drops spans that overlap others. */
void cairn_spans_sort(struct cairn_spans *spans);

/* The span that contains ADDRESS, or NULL. */
struct cairn_span *cairn_spans_find(const struct cairn_spans *spans, uint64_t address);

/* The span in use in which an object may begin at ADDRESS, or NULL. */
struct cairn_span *cairn_spans_object(const struct cairn_spans *spans, uint64_t address);

/* Calls VISIT for each word of resident memory in no span: its address, and LENGTH bytes there. */
enum { CAIRN_SPANS_LENGTH = 32 };
void cairn_spans_search(const struct cairn_spans *spans,
			void (*visit)(void *context, uint64_t address, const unsigned char data[CAIRN_SPANS_LENGTH]), void *context);

/* Writes all of them down in HEAP. Large objects have the size of their spans. */
void cairn_spans_count(const struct cairn_spans *spans, struct cairn_walk_heap *heap);

void cairn_spans_free(struct cairn_spans *spans);

#endif
