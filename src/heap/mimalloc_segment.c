/* mimalloc_segment.c - version 2 of mimalloc: segments, which begin with an array of their slices.
 *
 * A segment is 32 MiB long and aligned to that (64 MiB in older versions). Its cookie is its address XORed with a random number of the
 * process, which is therefore the one that most aligned addresses agree on. SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/sort.h"
#include "heap/mimalloc.h"

#include <stdio.h>
#include <stdlib.h>

struct segment_layout {
	const char *versions;
	uint16_t cookie, slices, records, entries, thread, first; /* offsets; the last of the array */
	uint8_t record, bits; /* size of an entry; of a segment */
	uint16_t
		mask; /* offset of the slices that wait to be returned, a bit each, behind the time for that; 0: mi_collect does not wait */
	struct cairn_mimalloc_page_layout page;
};
static const struct segment_layout layouts[] = {
	{"2.0.3 to 2.0.7", 320, 328, 336, 360, 352, 368, 80, 26, 24, {10, 24, 4, 16, 32, 40, 28, 4, 48}},
	{"2.0.9 to 2.1.2", 216, 224, 232, 248, 256, 264, 80, 25, 48, {10, 24, 4, 16, 32, 40, 28, 4, 48}},
	{"2.1.4 to 2.1.7", 216, 224, 232, 248, 256, 264, 96, 25, 0, {10, 32, 2, 16, 24, 56, 40, 8, 64}},
	{"2.1.8 and later", 224, 248, 256, 272, 280, 288, 96, 25, 0, {10, 32, 2, 16, 24, 56, 40, 8, 64}},
};

enum { header_most = 512, segments_most = 1 << 20, entries_most = 2048, tried_most = 100, long_segment = 1 << 30, waiting_words = 16 };

struct segment {
	uint64_t start, constant, slices, records, entries, thread;
	bool waits;        /* some of its slices wait to be returned: */
	uint64_t waiting[waiting_words];
	/* Known after the first visit: */
	size_t live_pages;
	uint64_t empty, empty_size; /* the slice of an empty page of the smallest size; 0 for none */
};

static bool read_segment(struct cairn_mimalloc *mimalloc, const struct segment_layout *layout, uint64_t start, struct segment *segment)
{
	unsigned char header[header_most];
	uint32_t count;
	const struct cairn_image_region *region = cairn_image_region(mimalloc->image, start);
	if (!region || !cairn_image_read(mimalloc->image, start, header, sizeof header))
		return false;
#define WORD(offset) (*(uint64_t *)memcpy(&(uint64_t){0}, header + (offset), 8))
	*segment = (struct segment){.start = start, .constant = WORD(layout->cookie) ^ start, .slices = WORD(layout->slices),
				    .records = WORD(layout->records), .entries = WORD(layout->entries),
				    .thread = WORD(layout->thread)};
	if (layout->mask) {
		segment->waits = WORD(layout->mask - 8u) != 0;
		memcpy(segment->waiting, header + layout->mask, (size_t)8 << (layout->bits - 22));
	}
#undef WORD
	memcpy(&count, header + layout->first, sizeof count);
	return segment->slices && segment->slices < long_segment && segment->records && segment->records <= segment->slices &&
	       segment->entries >= segment->records && segment->entries <= entries_most && count == segment->records &&
	       segment->slices * CAIRN_MIMALLOC_SLICE <= UINT64_MAX - start;
}

/* What to do with the slices of a segment. */
struct visit {
	struct cairn_mimalloc *mimalloc;
	const struct segment_layout *layout;
	uint64_t main_thread; /* 0 if unknown */
	bool counts;          /* else it tries only */
	size_t good, bad;
	uint64_t owner_thread; /* the thread whose heap is a variable, which is that of the first thread */
};

/* For whom mi_collect returns slice I of SEGMENT, which is free. Until 2.1.2 it does so with segments that become wholly free; of others,
 * the first page that is given up takes with it what has waited for long enough, and who takes over a segment without a thread returns
 * that at once. */
static enum cairn_mimalloc_return return_of(const struct visit *visit, const struct segment *segment, uint64_t i)
{
	if (segment->thread && segment->thread != visit->main_thread)
		return CAIRN_MIMALLOC_STAYS;
	if (!visit->layout->mask || !segment->live_pages ||
	    (segment->waits && (segment->empty || !segment->thread) &&
	     (i == segment->empty || (i / 64 < waiting_words && segment->waiting[i / 64] >> i % 64 & 1))))
		return segment->thread ? CAIRN_MIMALLOC_FIRST : CAIRN_MIMALLOC_ANY;
	return CAIRN_MIMALLOC_STAYS;
}

static void visit_page(struct visit *visit, struct segment *segment, uint64_t i, const struct cairn_mimalloc_page *page, uint64_t start,
		       uint64_t end)
{
	const struct cairn_image_region *owner = cairn_image_region(visit->mimalloc->image, page->owner);
	if (owner && owner->kind == CAIRN_IMAGE_DATA && segment->thread)
		visit->owner_thread = segment->thread;
	if (visit->counts) {
		cairn_mimalloc_count(visit->mimalloc, page, start, end, return_of(visit, segment, i));
		return;
	}
	segment->live_pages += page->used > 0;
	if (!page->used && (!segment->empty || page->block_size < segment->empty_size)) {
		segment->empty = i;
		segment->empty_size = page->block_size;
	}
	if (visit->good + visit->bad < tried_most)
		*(cairn_mimalloc_adds_up(visit->mimalloc, page, start, end) ? &visit->good : &visit->bad) += 1;
}

/* The free slices from I to END. */
static void count_free(struct visit *visit, const struct segment *segment, uint64_t i, uint64_t end)
{
	while (i < end) {
		uint64_t next = i + 1;
		enum cairn_mimalloc_return how = return_of(visit, segment, i);
		while (next < end && return_of(visit, segment, next) == how)
			next++;
		cairn_mimalloc_free(visit->mimalloc, segment->start + i * CAIRN_MIMALLOC_SLICE,
				    segment->start + next * CAIRN_MIMALLOC_SLICE, how);
		i = next;
	}
}

static void visit_segment(struct visit *visit, struct segment *segment)
{
	const struct segment_layout *layout = visit->layout;
	struct cairn_image *image = visit->mimalloc->image;
	uint64_t limit = segment->start + segment->slices * CAIRN_MIMALLOC_SLICE;
	if (visit->counts)
		cairn_tally_records(&visit->mimalloc->tally, segment->start, segment->start + segment->records * CAIRN_MIMALLOC_SLICE,
				    &visit->mimalloc->heap->sum);
	for (uint64_t i = segment->records; i < segment->entries && !cairn_image_is_late(image);) {
		unsigned char record[CAIRN_MIMALLOC_PAGE] = {0};
		uint32_t count;
		uint64_t start = segment->start + i * CAIRN_MIMALLOC_SLICE;
		if (!cairn_image_read(image, segment->start + layout->first + i * layout->record, record, layout->record))
			break;
		memcpy(&count, record, sizeof count);
		if (count == 0 && i == segment->records && !segment->thread) {
			if (visit->counts) /* it was freed as a whole and waits to be used again */
				count_free(visit, segment, i, segment->slices);
			break;
		}
		if (count == 0 || count > segment->slices - i) {
			visit->bad += !visit->counts;
			if (visit->counts)
				visit->mimalloc->heap->skipped += cairn_image_resident(image, start, limit, false);
			break;
		}
		uint64_t end = start + (uint64_t)count * CAIRN_MIMALLOC_SLICE;
		struct cairn_mimalloc_page page = cairn_mimalloc_page(&layout->page, record);
		if (layout->page.block_size_size == 4 && page.block_size >= (uint64_t)1 << 31) /* too large for the field */
			page.block_size = end - start;
		if (page.block_size > 1) /* 1 is what a page has that was given up last */
			visit_page(visit, segment, i, &page, start, end);
		else if (visit->counts)
			count_free(visit, segment, i, i + count);
		i += count;
	}
}

static int compare(const void *a, const void *b)
{
	const struct segment *one = a, *other = b;
	return one->constant < other->constant ? -1 : one->constant > other->constant;
}

/* All segments by LAYOUT that agree on the constant; sets their number. Owned by the caller. */
static struct segment *find_segments(struct cairn_mimalloc *mimalloc, const struct segment_layout *layout, size_t *count)
{
	struct cairn_image *image = mimalloc->image;
	struct segment *segments = NULL;
	size_t found = 0, capacity = 0, first = 0, most = 0;
	uint64_t size = (uint64_t)1 << layout->bits;
	const struct cairn_image_run *run;
	for (uint64_t at = 0; (run = cairn_image_run(image, at)) && found < segments_most && !cairn_image_is_late(image); at++) {
		struct segment segment;
		at = ((run->start > at ? run->start : at) + size - 1) & ~(size - 1);
		if (read_segment(mimalloc, layout, at, &segment)) {
			cairn_array_room(segments, found, capacity);
			segments[found++] = segment;
		}
	}
	if (found)
		cairn_sort(segments, found, sizeof *segments, compare);
	for (size_t i = 0, next; i < found; i = next) {
		for (next = i + 1; next < found && segments[next].constant == segments[i].constant; next++)
			;
		if (next - i > most) {
			most = next - i;
			first = i;
		}
	}
	if (first)
		memmove(segments, segments + first, most * sizeof *segments);
	*count = most;
	return segments;
}

bool cairn_mimalloc_read_segments(struct cairn_mimalloc *mimalloc)
{
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		size_t count;
		struct segment *segments = find_segments(mimalloc, &layouts[i], &count);
		struct visit visit = {.mimalloc = mimalloc, .layout = &layouts[i]};
		for (size_t k = 0; k < count; k++)
			visit_segment(&visit, &segments[k]);
		/* One list or the other may change just now. */
		bool good = visit.good > 0 && visit.bad <= visit.good / 8;
		visit = (struct visit){.mimalloc = mimalloc, .layout = &layouts[i], .counts = true, .main_thread = visit.owner_thread};
		for (size_t k = 0; good && k < count; k++)
			visit_segment(&visit, &segments[k]);
		free(segments);
		if (good) {
			snprintf(mimalloc->heap->version, sizeof mimalloc->heap->version, "%s", layouts[i].versions);
			return true;
		}
	}
	return false;
}
