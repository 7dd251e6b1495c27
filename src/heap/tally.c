/* tally.c - counts on pages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/tally.h"

struct cairn_tally cairn_tally(struct cairn_image *image)
{
	return (struct cairn_tally){.image = image, .page_size = (uint64_t)1 << image->page_bits, .page = UINT64_MAX};
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The record of the page of ADDRESS, or NULL. */
static inline struct cairn_image_page *record_of(struct cairn_tally *tally, uint64_t address)
{
	uint64_t page = address & ~(tally->page_size - 1);
	if (page != tally->page) {
		tally->page = page;
		tally->record = cairn_image_page(tally->image, page);
	}
	return tally->record;
}

/* The first address from START on that is there, at most END. Long gaps are passed in one step. */
static uint64_t skip_gap(struct cairn_tally *tally, uint64_t start, uint64_t end)
{
	const struct cairn_image_run *run = cairn_image_run(tally->image, start);
	return !run || run->start >= end ? end : run->start > start ? run->start : start;
}

static void add(const struct cairn_tally *tally, struct cairn_image_page *record, uint16_t *amount, uint64_t bytes)
{
	uint64_t left = least_of(tally->page_size, UINT16_MAX), used = (uint64_t)record->used + record->free;
	left -= least_of(left, used);
	*amount = (uint16_t)(*amount + least_of(bytes, left));
	record->flags |= CAIRN_PAGE_WALKED;
}

static void keep(struct cairn_image_page *record, bool cached)
{
	if (cached)
		record->cached = (uint16_t)(record->cached + (record->cached < UINT16_MAX));
	else
		record->keepers = (uint16_t)(record->keepers + (record->keepers < UINT16_MAX));
}

void cairn_tally_object(struct cairn_tally *tally, uint64_t start, uint64_t end, bool cached)
{
	struct cairn_image_page *record = record_of(tally, start);
	if (record && end - start <= tally->page_size - (start & (tally->page_size - 1))) { /* most objects are on one page */
		add(tally, record, &record->used, end - start);
		keep(record, cached);
		return;
	}
	while (start < end) {
		uint64_t next = least_of(end, (start & ~(tally->page_size - 1)) + tally->page_size);
		record = record_of(tally, start);
		if (record) {
			add(tally, record, &record->used, next - start);
			keep(record, cached);
		} else {
			next = skip_gap(tally, start, end);
		}
		start = next;
	}
}

void cairn_tally_keep(struct cairn_tally *tally, uint64_t address)
{
	struct cairn_image_page *record = record_of(tally, address);
	if (record)
		keep(record, false);
}

void cairn_tally_recache(struct cairn_tally *tally, uint64_t start, uint64_t end)
{
	while (start < end) {
		uint64_t next = least_of(end, (start & ~(tally->page_size - 1)) + tally->page_size);
		struct cairn_image_page *record = record_of(tally, start);
		if (record && record->keepers) {
			record->keepers = (uint16_t)(record->keepers - (record->keepers < UINT16_MAX));
			keep(record, true);
		} else if (!record) {
			next = skip_gap(tally, start, end);
		}
		start = next;
	}
}

void cairn_tally_free(struct cairn_tally *tally, uint64_t start, uint64_t end)
{
	while (start < end) {
		uint64_t next = least_of(end, (start & ~(tally->page_size - 1)) + tally->page_size);
		struct cairn_image_page *record = record_of(tally, start);
		if (record)
			add(tally, record, &record->free, next - start);
		else
			next = skip_gap(tally, start, end);
		start = next;
	}
}

void cairn_tally_flag(struct cairn_tally *tally, uint64_t start, uint64_t end, uint16_t flags)
{
	while (start < end) {
		struct cairn_image_page *record = record_of(tally, start);
		if (record) {
			record->flags |= flags;
			start += tally->page_size;
		} else {
			start = skip_gap(tally, start, end);
		}
	}
}

void cairn_tally_unit(struct cairn_tally *tally, uint64_t start, uint64_t end, uint64_t used, uint64_t live, uint64_t cached)
{
	uint64_t pages = cairn_image_resident(tally->image, start, end, true) / tally->page_size;
	bool first = true;
	for (uint64_t at = start; at < end && pages; at += tally->page_size) {
		struct cairn_image_page *record = record_of(tally, at);
		if (!record) {
			at = skip_gap(tally, at, end) - tally->page_size;
			continue;
		}
		uint64_t part = least_of(used / pages, tally->page_size);
		record->used = record->free = 0;
		add(tally, record, &record->used, part);
		add(tally, record, &record->free, tally->page_size - part);
		record->keepers = (uint16_t)least_of(live, UINT16_MAX);
		record->cached = (uint16_t)least_of(cached, UINT16_MAX);
		record->flags |= first ? CAIRN_PAGE_UNIT : CAIRN_PAGE_UNIT | CAIRN_PAGE_CONTINUED;
		first = false;
		used -= part;
		pages--;
	}
}

void cairn_tally_records(struct cairn_tally *tally, uint64_t start, uint64_t end, struct cairn_walk_sum *sum)
{
	for (start &= ~(tally->page_size - 1); start < end; start += tally->page_size) {
		struct cairn_image_page *record = record_of(tally, start);
		if (!record) {
			start = skip_gap(tally, start, end) - tally->page_size;
			continue;
		}
		if (record->flags & CAIRN_PAGE_WALKED)
			continue;
		record->flags |= CAIRN_PAGE_WALKED | CAIRN_PAGE_COUNTED;
		sum->resident += record->flags & CAIRN_PAGE_SWAPPED ? 0 : tally->page_size;
	}
}

/* Whether all pages of the huge page that ADDRESS lies in are there and are given back: else the kernel keeps all of it for now. */
static bool is_whole_huge_page(struct cairn_image *image, uint64_t address, uint64_t page_size)
{
	enum { huge = 2 << 20 };
	uint64_t start = address / huge * huge;
	for (uint64_t at = start; at < start + huge; at += page_size) {
		const struct cairn_image_page *record = cairn_image_page(image, at);
		if (!record || !(record->flags & CAIRN_PAGE_RETURNABLE))
			return false;
	}
	return true;
}

void cairn_tally_sum(struct cairn_image *image, uint64_t start, uint64_t end, struct cairn_walk_sum *sum)
{
	struct cairn_tally tally = cairn_tally(image);
	uint64_t huge_known = UINT64_MAX;
	bool huge_whole = false;
	for (uint64_t at = start & ~(tally.page_size - 1); at < end; at += tally.page_size) {
		struct cairn_image_page *record = record_of(&tally, at);
		if (!record) {
			at = skip_gap(&tally, at, end) - tally.page_size;
			continue;
		}
		if (!(record->flags & CAIRN_PAGE_WALKED) || record->flags & CAIRN_PAGE_COUNTED)
			continue;
		record->flags |= CAIRN_PAGE_COUNTED;
		bool resident = !(record->flags & CAIRN_PAGE_SWAPPED), shared = record->flags & CAIRN_PAGE_SHARED;
		sum->resident += resident ? tally.page_size : 0;
		if (record->flags & CAIRN_PAGE_RETURNABLE && !shared) {
			sum->returnable += tally.page_size;
			bool alone = !(record->flags & CAIRN_PAGE_COMMON);
			if (alone && record->flags & CAIRN_PAGE_HUGE) {
				if (at >> 21 != huge_known) {
					huge_known = at >> 21;
					huge_whole = is_whole_huge_page(image, at, tally.page_size);
				}
				alone = huge_whole;
			}
			sum->returnable_group += alone && resident ? tally.page_size : 0;
			sum->resident_free += resident ? tally.page_size : 0;
			continue;
		}
		if (!resident || !record->free)
			continue;
		uint64_t keepers = (uint64_t)record->keepers + record->cached;
		sum->resident_free += record->free;
		if (keepers == 0 || record->flags & CAIRN_PAGE_RESERVE) {
			sum->reserved += record->free;
			continue;
		}
		sum->pinned += record->free;
		sum->pinned_by_cache += record->free * record->cached / keepers;
	}
}
