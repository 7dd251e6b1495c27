/* search.h - searches the variables of a process for an array of pointers by which an allocator finds its records: the *root*.
 *
 * Any variable may point into the heap, and programs have tables with millions of such pointers. Each is a *candidate* that a reader tries:
 * it looks at what is there. So that a large table can neither take long nor use up what may be read of the heap, trials have a budget
 * of their own, and the likely candidates come first: those in libraries that are named after the allocator, then those on pages with few
 * pointers, for a root has at most one for each GiB of the heap.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_SEARCH_H
#define CAIRN_HEAP_SEARCH_H

#include "heap/image.h"

struct cairn_search {
	const char *library;   /* a part of the name of the allocator's libraries */
	uint64_t alignment;    /* of what a root points to */
	uint64_t length;       /* of that, all in one region */
	uint64_t root_length;
	void *context;
	/* Whether the word at AT, which is CANDIDATE, belongs to a root: sets the address of that. */
	bool (*try)(void *context, uint64_t at, uint64_t candidate, uint64_t *root);
	/* Reads the heap of ROOT. Returns false if it is none after all. */
	bool (*read)(void *context, uint64_t root, uint64_t candidate);
};

/* For trials: copies the words from AT on to the end of a page. Moves AT to the next page that is there if it has to, and past pages of
 * zeroes. Returns how many words; 0 if there are none before END. */
enum { CAIRN_SEARCH_WORDS = 512 };
size_t cairn_search_words(struct cairn_image *image, uint64_t *at, uint64_t end, uint64_t words[CAIRN_SEARCH_WORDS]);

/* Reads the heaps of all roots in the data of IMAGE. If not all candidates could be tried, IMAGE says so. */
void cairn_search(struct cairn_image *image, const struct cairn_search *search);

#endif
