/* search.c - goes through the data of all modules, up to four times.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/search.h"

#include "base/array.h"
#include "base/hash.h"

#include <assert.h>
#include <stdlib.h>

enum { page_words = CAIRN_SEARCH_WORDS, page_size = 8 * page_words, data_most = 64 << 20, rejected_most = 1 << 12, roots_most = 64 };

/* What all trials of a search may read, which takes a tenth of a second. */
static const uint64_t trial_bytes = 128 << 20;

/* Pointers on a page of a root beyond one for each GiB: there may be other variables, and memory that was unmapped. */
enum { strangers_most = 16 };

size_t cairn_search_words(struct cairn_image *image, uint64_t *at, uint64_t end, uint64_t words[CAIRN_SEARCH_WORDS])
{
	enum { step = 64 }; /* bytes of the budget, for the time that it takes to pass a page */
	const struct cairn_image_run *run;
	for (size_t length; *at < end && (run = cairn_image_run(image, *at)) && run->start < end; *at += length) {
		*at = run->start > *at ? run->start : *at;
		length = page_size - *at % page_size;
		length = end - *at < length ? end - *at : length; /* what follows is something else's */
		struct cairn_image_page *page = cairn_image_page(image, *at);
		if (page->flags & CAIRN_PAGE_ZERO) {
			if (!cairn_image_take(image, step))
				return 0;
			continue;
		}
		if (!cairn_image_read(image, *at, words, length))
			return 0;
		if (words[0] || memcmp(words, words + 1, length - 8) != 0)
			return length / 8;
		if (length == (size_t)1 << image->page_bits)
			page->flags |= CAIRN_PAGE_ZERO;
	}
	return 0;
}

struct state {
	const struct cairn_search *search;
	struct cairn_image *image;
	struct cairn_image_window window;
	uint64_t rejected[rejected_most]; /* candidates, by their hash */
	uint64_t roots[roots_most];
	size_t root_count;
	unsigned few; /* pointers on a page that come first */
	bool skipped_any;
};

/* The number of different GiB in which there may be a heap. */
static unsigned count_gibs(const struct cairn_image *image)
{
	enum { bits = 30 };
	uint64_t count = 0, next = 0;
	for (size_t i = 0; i < image->region_count; i++) {
		const struct cairn_image_region *region = &image->regions[i];
		uint64_t first = region->start >> bits, end = ((region->end - 1) >> bits) + 1;
		if (!cairn_image_is_heap(image, region->start))
			continue;
		first = first > next ? first : next;
		count += end > first ? end - first : 0;
		next = end > next ? end : next;
	}
	return count < page_words ? (unsigned)count : page_words;
}

static bool is_in_library(const struct cairn_image *image, const struct cairn_image_region *region, const char *library)
{
	const char *path = region->module != CAIRN_NONE ? image->modules[region->module].path : "", *name = strrchr(path, '/');
	return strstr(name ? name : path, library);
}

static bool is_candidate(const struct state *state, uint64_t word)
{
	const struct cairn_image_region *region;
	return word && word % state->search->alignment == 0 && cairn_image_is_heap(state->image, word) &&
	       (region = cairn_image_region(state->image, word)) && region->end - word >= state->search->length;
}

/* The end of the root that contains the word at AT and was read already; 0 if none does. */
static uint64_t end_of_root(const struct state *state, uint64_t at)
{
	for (size_t i = 0; i < state->root_count; i++)
		if (at >= state->roots[i] && at - state->roots[i] < state->search->root_length)
			return state->roots[i] + state->search->root_length;
	return 0;
}

static void try_word(struct state *state, uint64_t at, uint64_t word)
{
	uint64_t root, *rejected = &state->rejected[(word / 8 * 0x9e3779b97f4a7c15) >> 52];
	static_assert(rejected_most == 1 << (64 - 52), "the top bits of the hash are a place");
	if (!is_candidate(state, word) || *rejected == word || end_of_root(state, at))
		return;
	cairn_image_begin_trial(state->image);
	bool good = state->search->try(state->search->context, at, word, &root);
	cairn_image_end_trial(state->image);
	if (good && state->search->read(state->search->context, root, word)) {
		if (state->root_count < roots_most)
			state->roots[state->root_count++] = root;
	} else {
		*rejected = word;
	}
}

/* Tries the words on the pages of REGION with many pointers, or on the others. */
static void search_region(struct state *state, const struct cairn_image_region *region, bool many)
{
	struct cairn_image *image = state->image;
	uint64_t end = region->end - region->start < data_most ? region->end : region->start + data_most;
	for (uint64_t at = region->start; at < end && image->trial_left && !image->exhausted; at += page_size) {
		const struct cairn_image_run *run = cairn_image_run(image, at);
		if (!run || run->start >= end)
			break;
		at = run->start > at ? run->start : at;
		const unsigned char *data = cairn_image_window_at(&state->window, at, page_size);
		if (!data)
			continue;
		uint64_t words[page_words];
		unsigned count = 0;
		memcpy(words, data, sizeof words);
		for (size_t i = 0; i < page_words; i++)
			count += words[i] && cairn_image_is_heap(image, words[i]);
		if ((count > state->few) != many) {
			state->skipped_any = true;
			continue;
		}
		for (size_t i = 0; count && i < page_words && image->trial_left; i++)
			try_word(state, at + 8 * i, words[i]);
	}
}

void cairn_search(struct cairn_image *image, const struct cairn_search *search)
{
	enum { room = 1 << 16, passes = 4 };
	struct state *state = cairn_array_zero(1, sizeof *state);
	*state = (struct state){.search = search, .image = image, .window = cairn_image_window(image, room),
				.few = count_gibs(image) + strangers_most};
	image->trial_left = trial_bytes;
	for (int pass = 0; pass < passes; pass++) {
		bool named = pass < 2, many = pass % 2;
		if (many && !state->skipped_any)
			continue;
		state->skipped_any = false;
		for (size_t i = 0; i < image->region_count && !image->exhausted; i++)
			if (image->regions[i].kind == CAIRN_IMAGE_DATA &&
			    is_in_library(image, &image->regions[i], search->library) == named)
				search_region(state, &image->regions[i], many);
	}
	image->has_untried |= !image->trial_left;
	cairn_image_window_free(&state->window);
	free(state);
}
