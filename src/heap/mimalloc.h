/* mimalloc.h - mimalloc 2 and 3: what their readers consist of.
 *
 * Both divide memory into *slices* of 64 KiB and make *pages* of one or more of them, each full of *blocks* of one size. A page goes back
 * to the system as a whole, after its last block was freed: so it is a unit (walk.h). Every page belongs to the heap of a thread, which
 * alone can give it up; so what mi_collect returns depends on who calls it. The prediction is for the program's first thread; which part of
 * it no other thread's call returns is kept apart.
 *
 * A page counts its blocks: those in use, with those that other threads have freed meanwhile, and those on two free lists add up to its
 * capacity. By that sum a reader tells whether it has the right layout.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_MIMALLOC_H
#define CAIRN_HEAP_MIMALLOC_H

#include "heap/tally.h"

enum { CAIRN_MIMALLOC_SLICE = 1 << 16, CAIRN_MIMALLOC_PAGE = 128 /* bytes of a page's record, at most */ };

/* Offsets in the record of a page. */
struct cairn_mimalloc_page_layout {
	uint8_t capacity, used, used_size, free, local_free, thread_free, block_size, block_size_size, owner;
};

/* What its record says of a page. */
struct cairn_mimalloc_page {
	uint64_t block_size, capacity, used, owner /* address of its heap */, thread_free;
	uint64_t free, local_free; /* first blocks */
};

struct cairn_mimalloc {
	struct cairn_walk_heap *heap;
	struct cairn_image *image;
	struct cairn_tally tally;
	uint64_t list_steps_left;
};

struct cairn_mimalloc_page cairn_mimalloc_page(const struct cairn_mimalloc_page_layout *layout,
					       const unsigned char record[CAIRN_MIMALLOC_PAGE]);

/* Whether PAGE, whose memory is [START, END), counts its blocks as it should. */
bool cairn_mimalloc_adds_up(struct cairn_mimalloc *mimalloc, const struct cairn_mimalloc_page *page, uint64_t start, uint64_t end);

/* For whom mi_collect returns memory. */
enum cairn_mimalloc_return {
	CAIRN_MIMALLOC_STAYS, /* for neither of these: another thread owns it, or this version returns nothing */
	CAIRN_MIMALLOC_FIRST, /* the program's first thread, which owns it */
	CAIRN_MIMALLOC_ANY,   /* whichever thread calls it: nobody owns it */
};

/* Writes down PAGE, whose memory is [START, END), and which mi_collect returns as HOW says if no block of it is in use. */
void cairn_mimalloc_count(struct cairn_mimalloc *mimalloc, const struct cairn_mimalloc_page *page, uint64_t start, uint64_t end,
			  enum cairn_mimalloc_return how);

/* [START, END) belongs to no page. */
void cairn_mimalloc_free(struct cairn_mimalloc *mimalloc, uint64_t start, uint64_t end, enum cairn_mimalloc_return how);

/* Reads the segments of version 2. Returns false if there are none. */
bool cairn_mimalloc_read_segments(struct cairn_mimalloc *mimalloc);

/* Reads what the page map of version 3 leads to, and sets the version and the module of the heap. Returns false if there is none. */
bool cairn_mimalloc_read_map(struct cairn_mimalloc *mimalloc);

/* Reads all of mimalloc in the image into WALK. */
void cairn_mimalloc_read(struct cairn_walk *walk);

#endif
