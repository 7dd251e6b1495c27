/* jemalloc.c - finds the extents of jemalloc 5 through its radix tree.
 *
 * The tree has two levels of 2^18 words each, and its upper one is an array in the data of the library. A word of the lower one stands for
 * a page of 4 KiB and leads to the record of the *extent* that begins or ends there, or, if it is a *slab* of small regions, contains it.
 * The record says where the extent begins, so that it proves the word, and with it the array.
 *
 * arena.<i>.purge returns extents that are dirty or muzzy. Which regions of a slab are in a thread's cache its record does not say: they
 * count as allocated. The caches are found by their shape (span.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/jemalloc.h"

#include "base/hash.h"
#include "heap/search.h"
#include "heap/span.h"
#include "heap/version.h"

#include <stdio.h>

enum {
	level_bits = 18,
	page_bits = 12,
	upper_bits = page_bits + level_bits, /* of an address, below those that index the upper level */
	leaf_size = 8 << level_bits,
	state_active = 0,
	state_dirty = 1,
	state_muzzy = 2,
	state_retained = 3,
	proof = 8, /* words that must lead to their extents */
};

struct extent_layout {
	const char *versions;
	uint64_t pointer; /* mask of the word of a page */
	uint8_t state, state_bits, class, free; /* bits of the first word of the record */
};
static const struct extent_layout layouts[] = {
	{"5.3 and later", 0x0000ffffffffff80, 17, 3, 20, 28},
	{"5.1 to 5.2", 0x0000fffffffffffe, 16, 2, 18, 26},
};

struct extent {
	uint64_t start, size;
	unsigned state, class, free;
	bool is_slab;
};

struct reader {
	struct cairn_image *image;
	const struct extent_layout *layout;
	struct cairn_spans spans;
	struct cairn_walk_heap heap;
	struct cairn_tally tally;
	uint64_t steps_left;
	bool new_caches;
};

/* The bytes of an object of CLASS: 8, 16, 32, 48, 64, and then four sizes for each doubling. */
static uint64_t size_of(unsigned class)
{
	if (class < 5)
		return class ? (uint64_t)16 * class : 8;
	unsigned group = (class - 5) / 4;
	return group > 40 ? UINT64_MAX / 2 : ((uint64_t)64 << group) + ((uint64_t)16 << group) * ((class - 5) % 4 + 1);
}

static bool read_extent(struct cairn_image *image, const struct extent_layout *layout, uint64_t word, struct extent *extent)
{
	uint64_t record[3], address = word & layout->pointer;
	if (address % 64 || !cairn_image_read(image, address, record, sizeof record))
		return false;
	*extent = (struct extent){
		.start = record[1] & ~(uint64_t)((1 << page_bits) - 1), /* large objects begin anywhere on their first page */
		.size = record[2] & ~(uint64_t)((1 << page_bits) - 1),
		.state = (unsigned)(record[0] >> layout->state) & ((1u << layout->state_bits) - 1),
		.class = (unsigned)(record[0] >> layout->class) & 255,
		.free = (unsigned)(record[0] >> layout->free) & 1023,
		.is_slab = record[0] >> 12 & 1,
	};
	return extent->size && extent->start && extent->start + extent->size > extent->start && extent->size < (uint64_t)1 << 47;
}

/* Whether WORD, of the page at INDEX of a leaf, leads to the extent of that page. Sets the top bits of that, and whether it is in use: then
 * more of it was checked. */
static bool is_proven(struct cairn_image *image, const struct extent_layout *layout, uint64_t word, uint64_t index, uint64_t *upper,
		      bool *used)
{
	struct extent extent;
	if (!read_extent(image, layout, word, &extent))
		return false;
	uint64_t mask = ((uint64_t)1 << level_bits) - 1, first = extent.start >> page_bits, last = first + (extent.size >> page_bits) - 1;
	uint64_t page = (first & ~mask) | index;
	page += page < first ? mask + 1 : 0;
	*upper = page >> level_bits;
	*used = extent.state == state_active && page == first;
	return page <= last && (page == first || page == last || extent.is_slab) &&
	       (!*used ||
		(word >> 48 == extent.class && !!(word & 1) == extent.is_slab)); /* what its last page has of that may be out of date */
}

/* Whether LEAF is a leaf of the tree: sets where its memory is. */
static bool is_leaf(struct cairn_image *image, const struct extent_layout *layout, uint64_t leaf, uint64_t *upper)
{
	uint64_t words[CAIRN_SEARCH_WORDS], at = leaf, place;
	unsigned seen = 0, found = 0;
	bool used;
	for (size_t count; found < proof && (count = cairn_search_words(image, &at, leaf + leaf_size, words)); at += 8 * count)
		for (size_t i = 0; i < count && found < proof; i++)
			if (words[i] & layout->pointer) { /* else it was cleared, but for the class */
				if (!is_proven(image, layout, words[i], (at - leaf) / 8 + i, &place, &used) || (seen++ && place != *upper))
					return false;
				*upper = place;
				found += used;
			}
	return found > 0;
}

static void add_extent(struct reader *reader, const struct extent *extent)
{
	uint64_t pages = extent->size >> reader->image->page_bits, size = size_of(extent->class);
	struct cairn_span span = {
		.start = extent->start, .pages = pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX, .class = (uint8_t)extent->class};
	if (extent->state == state_active && extent->is_slab) {
		uint64_t regions = extent->size / size;
		if (regions > UINT16_MAX || extent->free > regions || size > UINT32_MAX) {
			reader->heap.skipped += extent->size;
			return;
		}
		span.size = (uint32_t)size;
		span.live = (uint16_t)(regions - extent->free);
	} else if (extent->state == state_active) {
		span.live = 1;
	} else {
		span.state = extent->state == state_dirty || extent->state == state_muzzy ? CAIRN_SPAN_RETURNABLE : CAIRN_SPAN_RETURNED;
	}
	cairn_spans_add(&reader->spans, &span);
}

/* Reads all extents that begin on the pages of the leaf at LEAF, whose memory begins at BASE. */
static void read_leaf(struct reader *reader, uint64_t leaf, uint64_t base)
{
	struct cairn_image *image = reader->image;
	const struct cairn_image_run *run;
	uint64_t words[512], end = leaf + leaf_size;
	for (uint64_t at = leaf; at < end && (run = cairn_image_run(image, at)) && run->start < end && !cairn_image_is_late(image);) {
		at = run->start > at ? run->start : at;
		size_t length = sizeof words - at % sizeof words;
		if (cairn_image_copy(image, at, words, length))
			for (size_t i = 0; i < length / 8; i++) {
				struct extent extent;
				if (words[i] && read_extent(image, reader->layout, words[i], &extent) &&
				    extent.start == base + ((at - leaf) / 8 + i) * (1 << page_bits)) {
					uint64_t record = words[i] & reader->layout->pointer;
					add_extent(reader, &extent);
					cairn_tally_records(&reader->tally, record, record + 1, &reader->heap.sum);
				}
			}
		at += length;
	}
	cairn_tally_records(&reader->tally, leaf, end, &reader->heap.sum);
}

/* Caches of threads: for each size a stack of objects. Until 5.2 a word points behind its end, and the number stands before; since then, it
 * points to the first, and the low bits of where it ends are there. */
static void find_cache(void *context, uint64_t address, const unsigned char data[CAIRN_SPANS_LENGTH])
{
	enum { cached_most = 8192 };
	struct reader *reader = context;
	uint64_t words[3], count, first, object;
	memcpy(words, data, sizeof words);
	(void)address;
	if (reader->new_caches) {
		uint64_t end = words[2] >> 32 & 0xffff, full = words[2] >> 16 & 0xffff;
		first = words[0];
		count = ((end - first) & 0xffff) / 8;
		if (end == full || end % 8 || full % 8 || ((end - full) & 0xffff) / 8 < count)
			return;
	} else {
		count = words[0] >> 32;
		first = words[2] - 8 * count;
	}
	if (first % 8 || count == 0 || count > cached_most || !cairn_image_is_heap(reader->image, first) || count > reader->steps_left)
		return;
	const struct cairn_span *span, *kind = NULL;
	for (uint64_t i = 0; i < count; i++, kind = span) {
		reader->steps_left--;
		if (!cairn_image_word(reader->image, first + 8 * i, &object) || !(span = cairn_spans_object(&reader->spans, object)) ||
		    (kind && kind->class != span->class))
			return;
	}
	for (uint64_t i = 0; i < count; i++)
		if (cairn_image_word(reader->image, first + 8 * i, &object)) {
			struct cairn_span *its = cairn_spans_object(&reader->spans, object);
			its->cached = (uint16_t)(its->cached + (its->cached < its->live));
		}
}

struct trial {
	struct cairn_walk *walk;
	const struct extent_layout *layout; /* of the candidate that was tried last */
};

/* Reads the tree whose upper level is at ROOT. */
static bool read_tree(void *context, uint64_t root, uint64_t candidate)
{
	enum { steps = 16 << 20 };
	const struct trial *trial = context;
	const struct extent_layout *layout = trial->layout;
	struct cairn_walk *walk = trial->walk;
	struct cairn_image *image = walk->image;
	(void)candidate;
	const struct cairn_image_module *module = cairn_image_module(image, root);
	struct reader reader = {.image = image,
				.layout = layout,
				.spans = {.image = image},
				.tally = cairn_tally(image),
				.steps_left = steps,
				.new_caches = layout == &layouts[0],
				.heap = {.kind = CAIRN_WALK_JEMALLOC, .is_read = true, .module = module ? module->path : ""}};
	const struct cairn_image_run *run;
	uint64_t leaf, end = root + leaf_size;
	for (uint64_t at = root; at < end && (run = cairn_image_run(image, at)) && run->start < end;) {
		at = run->start > at ? run->start : at;
		for (uint64_t stop = run->end < end ? run->end : end; at < stop; at += 8)
			if (cairn_image_word(image, at, &leaf) && leaf && leaf % 64 == 0 && cairn_image_is_heap(image, leaf))
				read_leaf(&reader, leaf, (at - root) / 8 << upper_bits);
	}
	cairn_spans_sort(&reader.spans);
	cairn_spans_search(&reader.spans, find_cache, &reader);
	cairn_spans_count(&reader.spans, &reader.heap);
	if (!module || !cairn_version_of_jemalloc(image, module, reader.heap.version, sizeof reader.heap.version))
		snprintf(reader.heap.version, sizeof reader.heap.version, "%s", layout->versions);
	if (module)
		cairn_variable_of_jemalloc(image, module, reader.heap.variable, sizeof reader.heap.variable);
	/* A word elsewhere may happen to lead to the same leaf: then all has been counted already. */
	if (reader.spans.count && reader.heap.sum.resident)
		cairn_walk_add_heap(walk, &reader.heap);
	cairn_spans_free(&reader.spans);
	return true;
}

static bool try(void *context, uint64_t at, uint64_t candidate, uint64_t *root)
{
	struct trial *trial = context;
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
		uint64_t upper;
		trial->layout = &layouts[i];
		if (is_leaf(trial->walk->image, trial->layout, candidate, &upper) && upper < (uint64_t)1 << level_bits && 8 * upper <= at) {
			*root = at - 8 * upper;
			return true;
		}
	}
	return false;
}

void cairn_jemalloc_read(struct cairn_walk *walk)
{
	struct trial trial = {.walk = walk};
	struct cairn_search search = {.library = "jemalloc", .alignment = 64, .length = leaf_size, .root_length = leaf_size,
				      .context = &trial, .try = try, .read = read_tree};
	cairn_search(walk->image, &search);
}
