/* tally.h - how readers of heaps write down what they find, page by page.
 *
 * Addresses that are not there have no record, and are skipped: they cost nothing. Calls usually come in the order of addresses, which is
 * fast. Counts stay within a page's size, whatever is claimed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_TALLY_H
#define CAIRN_HEAP_TALLY_H

#include "heap/walk.h"

struct cairn_tally {
	struct cairn_image *image;
	uint64_t page_size;
	uint64_t page; /* address of the page whose record is known */
	struct cairn_image_page *record; /* NULL if that page is not there */
};

struct cairn_tally cairn_tally(struct cairn_image *image);

/* [START, END) is one object, handed out or, with CACHED, in a cache. */
void cairn_tally_object(struct cairn_tally *tally, uint64_t start, uint64_t end, bool cached);

/* The page of ADDRESS is kept for an object beside it. */
void cairn_tally_keep(struct cairn_tally *tally, uint64_t address);

/* What was written down as an object handed out, with all pages from START to END that are kept for it, is in a cache. */
void cairn_tally_recache(struct cairn_tally *tally, uint64_t start, uint64_t end);

/* [START, END) is free. */
void cairn_tally_free(struct cairn_tally *tally, uint64_t start, uint64_t end);

/* Sets FLAGS on the pages of [START, END), which begins and ends at pages. */
void cairn_tally_flag(struct cairn_tally *tally, uint64_t start, uint64_t end, uint16_t flags);

/* The pages of [START, END) are one unit with LIVE objects handed out and CACHED objects in caches, of USED bytes together, which are taken
 * to be spread evenly over the pages that are there; the rest of these is free. */
void cairn_tally_unit(struct cairn_tally *tally, uint64_t start, uint64_t end, uint64_t used, uint64_t live, uint64_t cached);

/* [START, END) are the allocator's own records, or what it set aside for them. Adds what is there of them to SUM, each page once. */
void cairn_tally_records(struct cairn_tally *tally, uint64_t start, uint64_t end, struct cairn_walk_sum *sum);

/* Adds the pages of [START, END) to SUM: everything in it that counts resident memory. */
void cairn_tally_sum(struct cairn_image *image, uint64_t start, uint64_t end, struct cairn_walk_sum *sum);

#endif
