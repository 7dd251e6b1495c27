/* mimalloc.c - what versions 2 and 3 of mimalloc have in common: pages of blocks of one size.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/mimalloc.h"

#include "base/hash.h"

enum { list_steps = 16 << 20 };

static uint64_t number_at(const unsigned char *record, size_t offset, size_t size)
{
	uint64_t number = 0;
	memcpy(&number, record + offset, size);
	return number;
}

struct cairn_mimalloc_page cairn_mimalloc_page(const struct cairn_mimalloc_page_layout *layout,
					       const unsigned char record[CAIRN_MIMALLOC_PAGE])
{
	return (struct cairn_mimalloc_page){
		.block_size = number_at(record, layout->block_size, layout->block_size_size),
		.capacity = number_at(record, layout->capacity, 2),
		.used = number_at(record, layout->used, layout->used_size),
		.owner = number_at(record, layout->owner, 8),
		.thread_free = number_at(record, layout->thread_free, 8),
		.free = number_at(record, layout->free, 8),
		.local_free = number_at(record, layout->local_free, 8),
	};
}

/* The length of the list that begins at BLOCK, all of it within [START, END); MOST + 1 if it is no such list. */
static uint64_t length_of(struct cairn_mimalloc *mimalloc, uint64_t block, uint64_t start, uint64_t end, uint64_t most)
{
	uint64_t length = 0;
	for (; block; length++, mimalloc->list_steps_left--)
		if (length == most || block % 8 || block < start || block >= end || !mimalloc->list_steps_left ||
		    !cairn_image_word(mimalloc->image, block, &block))
			return most + 1;
	return length;
}

bool cairn_mimalloc_adds_up(struct cairn_mimalloc *mimalloc, const struct cairn_mimalloc_page *page, uint64_t start, uint64_t end)
{
	if (page->block_size < 8 || page->used > page->capacity || page->capacity > (end - start) / page->block_size)
		return false;
	uint64_t free = length_of(mimalloc, page->free, start, end, page->capacity),
		 local = length_of(mimalloc, page->local_free, start, end, page->capacity);
	return page->used + free + local == page->capacity;
}

/* Adds [START, END), which was written down, to the sums. HOW it returns if it is free as a whole. */
static void add(struct cairn_mimalloc *mimalloc, uint64_t start, uint64_t end, bool is_free, enum cairn_mimalloc_return how)
{
	struct cairn_walk_heap *heap = mimalloc->heap;
	struct cairn_walk_sum before = heap->sum;
	if (is_free)
		cairn_tally_flag(&mimalloc->tally, start, end, how == CAIRN_MIMALLOC_STAYS ? CAIRN_PAGE_RESERVE : CAIRN_PAGE_RETURNABLE);
	cairn_tally_sum(mimalloc->image, start, end, &heap->sum);
	if (how == CAIRN_MIMALLOC_FIRST) {
		heap->of_first_thread += heap->sum.returnable - before.returnable;
		heap->of_first_thread_group += heap->sum.returnable_group - before.returnable_group;
	}
}

void cairn_mimalloc_count(struct cairn_mimalloc *mimalloc, const struct cairn_mimalloc_page *page, uint64_t start, uint64_t end,
			  enum cairn_mimalloc_return how)
{
	enum { flags = 3 };
	struct cairn_walk_sum *sum = &mimalloc->heap->sum;
	uint64_t freed = length_of(mimalloc, page->thread_free & ~(uint64_t)flags, start, end, page->used);
	uint64_t live = freed <= page->used ? page->used - freed : page->used, bytes;
	if (__builtin_mul_overflow(live, page->block_size, &bytes) || bytes > end - start)
		bytes = end - start;
	sum->live += bytes;
	sum->live_objects += live;
	sum->free += end - start - bytes;
	if (live)
		cairn_tally_unit(&mimalloc->tally, start, end, bytes, live, 0);
	else
		cairn_tally_free(&mimalloc->tally, start, end);
	add(mimalloc, start, end, !live, how);
}

void cairn_mimalloc_free(struct cairn_mimalloc *mimalloc, uint64_t start, uint64_t end, enum cairn_mimalloc_return how)
{
	cairn_tally_free(&mimalloc->tally, start, end);
	mimalloc->heap->sum.free += end - start;
	add(mimalloc, start, end, true, how);
}

void cairn_mimalloc_read(struct cairn_walk *walk)
{
	struct cairn_image *image = walk->image;
	struct cairn_walk_heap heap = {.kind = CAIRN_WALK_MIMALLOC, .module = "", .is_read = true};
	struct cairn_mimalloc mimalloc = {.heap = &heap, .image = image, .tally = cairn_tally(image), .list_steps_left = list_steps};
	if (cairn_mimalloc_read_map(&mimalloc) || cairn_mimalloc_read_segments(&mimalloc))
		cairn_walk_add_heap(walk, &heap);
}
