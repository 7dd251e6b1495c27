/* tcmalloc.c - finds the spans of gperftools' tcmalloc through its page map.
 *
 * The map has two levels, of 2^17 and 2^18 words; the upper one is an array in the data of the library. A word of the lower one leads from
 * a page, of 8 KiB unless it was built otherwise, to the *span* that contains it, which says where it begins. Words of pages inside a free
 * span may be out of date; that of its first page is not.
 *
 * Which objects of a span are in a thread's cache or wait to be moved between caches it does not say: they count as used. Both kinds of
 * lists are found by their shape (span.h). SPDX-License-Identifier: Apache-2.0 */
#include "heap/tcmalloc.h"

#include "base/hash.h"
#include "heap/search.h"
#include "heap/span.h"
#include "heap/version.h"

#include <stdio.h>

enum {
	level_bits = 18,
	root_size = 8 << 17,
	leaf_size = 8 << level_bits,
	shift_least = 12,
	shift_most = 18,
	shift_usual = 13,
	classes_most = 128,
	data_most = 64 << 20,
	proof = 4,
	list_steps = 16 << 20,
};

enum { location_used, location_free, location_returned };

struct record {
	uint64_t start, length; /* in its own pages */
	unsigned live, class, location;
};

struct reader {
	struct cairn_image *image;
	struct cairn_spans spans;
	struct cairn_walk_heap heap;
	struct cairn_tally tally;
	uint32_t sizes[classes_most];
	unsigned shift;
	uint64_t steps_left;
};

static bool read_record(struct cairn_image *image, uint64_t address, struct record *record)
{
	uint64_t words[6];
	if (address % 8 || !cairn_image_is_heap(image, address) || !cairn_image_read(image, address, words, sizeof words))
		return false;
	*record = (struct record){words[0], words[1], words[5] & 0xffff, words[5] >> 16 & 255, words[5] >> 24 & 3};
	return record->start && record->start < (uint64_t)1 << 35 && record->length && record->length < (uint64_t)1 << 35;
}

/* Whether LEAF is a leaf of the map: sets the upper bits of its pages. */
static bool is_leaf(struct cairn_image *image, uint64_t leaf, uint64_t *upper)
{
	enum { words_most = 16 };
	uint64_t words[CAIRN_SEARCH_WORDS], mask = ((uint64_t)1 << level_bits) - 1, at = leaf;
	unsigned good = 0, seen = 0;
	for (size_t count; seen < words_most && (count = cairn_search_words(image, &at, leaf + leaf_size, words)); at += 8 * count)
		for (size_t i = 0; i < count && seen < words_most; i++) {
			struct record record;
			uint64_t index = (at - leaf) / 8 + i;
			if (!words[i])
				continue;
			seen++;
			if (!read_record(image, words[i], &record)) {
				if (!good) /* most candidates end here */
					return false;
				continue;
			}
			uint64_t page = (record.start & ~mask) | index;
			page += page < record.start ? mask + 1 : 0;
			if (page - record.start >= record.length || (good && page >> level_bits != *upper))
				continue;
			*upper = page >> level_bits;
			good++;
		}
	return good >= proof || (good && good == seen);
}

/* The sizes of classes are an array of increasing numbers: 0, 8, 16, and so on. */
static bool find_sizes(struct reader *reader, const struct cairn_image_module *module)
{
	enum { room = 1 << 16, least = 40, array = 4 * classes_most };
	struct cairn_image *image = reader->image;
	struct cairn_image_window window = cairn_image_window(image, room);
	bool found = false;
	for (size_t i = 0; i < image->region_count && !found; i++) {
		const struct cairn_image_region *region = &image->regions[i];
		if (region->kind != CAIRN_IMAGE_DATA || region->module == CAIRN_NONE || &image->modules[region->module] != module)
			continue;
		for (uint64_t at = region->start; at + array <= region->end && at - region->start < data_most && !found; at += 4) {
			const unsigned char *data = cairn_image_window_at(&window, at, array);
			const struct cairn_image_run *run = data ? NULL : cairn_image_run(image, at);
			if (!data && (!run || run->start >= region->end))
				break;
			if (!data) {
				at = run->start > at ? run->start - 4 : run->end - at < array ? run->end - 4 : at;
				continue;
			}
			uint32_t *sizes = reader->sizes, count = 3;
			memcpy(sizes, data, array);
			if (sizes[0] || sizes[1] != 8 || sizes[2] != 16)
				continue;
			while (count < classes_most && sizes[count] > sizes[count - 1] && sizes[count] <= 1 << 20)
				count++;
			for (uint32_t k = count; k < classes_most; k++)
				sizes[k] = 0;
			found = count >= least;
		}
	}
	cairn_image_window_free(&window);
	return found;
}

static void add_record(struct reader *reader, const struct record *record)
{
	unsigned bits = reader->image->page_bits;
	uint64_t pages = record->length << reader->shift >> bits;
	struct cairn_span span = {.start = record->start << reader->shift, .pages = pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX,
				  .class = (uint8_t)record->class};
	if (record->location != location_used)
		span.state = record->location == location_free ? CAIRN_SPAN_RETURNABLE : CAIRN_SPAN_RETURNED;
	else if (record->class == 0)
		span.live = 1;
	else if (record->class < classes_most && reader->sizes[record->class]) {
		span.size = reader->sizes[record->class];
		span.live = (uint16_t)record->live;
	} else {
		reader->heap.skipped += record->length << reader->shift;
		return;
	}
	cairn_spans_add(&reader->spans, &span);
}

/* Reads all spans that begin on the pages of the leaf at LEAF, the first of which is FIRST. */
static void read_leaf(struct reader *reader, uint64_t leaf, uint64_t first)
{
	struct cairn_image *image = reader->image;
	const struct cairn_image_run *run;
	uint64_t words[512], end = leaf + leaf_size;
	for (uint64_t at = leaf; at < end && (run = cairn_image_run(image, at)) && run->start < end && !cairn_image_is_late(image);) {
		at = run->start > at ? run->start + (leaf - run->start) % 8 : at;
		size_t length = sizeof words - at % sizeof words;
		length = end - at < length ? (size_t)(end - at) : length;
		if (cairn_image_copy(image, at, words, length))
			for (size_t i = 0; i < length / 8; i++) {
				struct record record;
				uint64_t page = first + (at - leaf) / 8 + i, last;
				if (!words[i] || !read_record(image, words[i], &record) || record.start != page)
					continue;
				uint64_t last_word = at + 8 * (i + record.length - 1);
				if (last_word < end && cairn_image_word(image, last_word, &last) && last != words[i])
					continue;
				add_record(reader, &record);
				cairn_tally_records(&reader->tally, words[i], words[i] + 1, &reader->heap.sum);
			}
		at += length;
	}
	cairn_tally_records(&reader->tally, leaf, end, &reader->heap.sum);
}

/* The number of objects of one class in the list from FIRST to LAST, or to its end if that is 0; 0 if it is none, or longer than MOST.
 * Those objects are taken out of the live ones if REALLY. */
static uint64_t follow(struct reader *reader, uint64_t first, uint64_t last, uint64_t most, bool really)
{
	uint64_t count = 0, next;
	const struct cairn_span *kind = cairn_spans_object(&reader->spans, first);
	if (!kind || kind->class == 0)
		return 0;
	for (uint64_t object = first; object; object = next) {
		struct cairn_span *span = cairn_spans_object(&reader->spans, object);
		if (!span || span->class != kind->class || count == most || !reader->steps_left ||
		    !cairn_image_word(reader->image, object, &next))
			return 0;
		reader->steps_left--;
		count++;
		if (really)
			span->cached = (uint16_t)(span->cached + (span->cached < span->live));
		if (object == last)
			return count;
	}
	return last ? 0 : count;
}

static void find_list(void *context, uint64_t address, const unsigned char data[CAIRN_SPANS_LENGTH])
{
	enum { slots = 64, longest = 1 << 16 };
	struct reader *reader = context;
	uint64_t words[2];
	memcpy(words, data, sizeof words);
	if (!words[0] || words[0] % 8)
		return;
	/* A thread's list: its first object, its length, the lowest length of late, and its limit. */
	uint32_t length = (uint32_t)words[1], low = (uint32_t)(words[1] >> 32), limit;
	memcpy(&limit, data + 16, sizeof limit);
	if (length && length <= longest && low <= length && limit && limit <= longest) {
		if (follow(reader, words[0], 0, length, false) == length)
			follow(reader, words[0], 0, length, true);
		return;
	}
	/* Lists that wait to be moved: 64 pairs of a first and a last object, and behind them how many are in use, and two limits. */
	uint64_t pairs[2 * slots], count = 0;
	int32_t numbers[3];
	if (words[1] % 8 || !cairn_spans_object(&reader->spans, words[0]) || !cairn_spans_object(&reader->spans, words[1]) ||
	    !cairn_image_read(reader->image, address + sizeof pairs, numbers, sizeof numbers) || numbers[0] < 1 ||
	    numbers[0] > numbers[1] || numbers[1] > numbers[2] || numbers[2] > slots ||
	    !cairn_image_read(reader->image, address, pairs, 16 * (size_t)numbers[0]))
		return;
	for (int pass = 0; pass < 2; pass++)
		for (int32_t i = 0; i < numbers[0]; i++) {
			uint64_t found = follow(reader, pairs[2 * i], pairs[2 * i + 1], longest, pass == 1);
			if (!found || (count && found != count))
				return;
			count = found;
		}
}

/* How large a page is: spans in use must be memory that is there. */
static unsigned find_shift(struct cairn_image *image, uint64_t leaf, uint64_t first)
{
	unsigned best = shift_usual, most = 0;
	for (unsigned shift = shift_least; shift <= shift_most; shift++) {
		unsigned good = 0;
		const struct cairn_image_run *run = cairn_image_run(image, leaf);
		uint64_t word, at = run && run->start > leaf ? run->start : leaf;
		for (unsigned i = 0; i < 4096 && at < leaf + leaf_size; i++, at += 8) {
			struct record record;
			if (!cairn_image_word(image, at, &word) || !word || !read_record(image, word, &record) ||
			    record.start != first + (at - leaf) / 8)
				continue;
			const struct cairn_image_region *region = cairn_image_region(image, record.start << shift);
			good += region && cairn_image_is_heap(image, record.start << shift) &&
				cairn_image_page(image, record.start << shift) && record.location == location_used;
		}
		if (good > most || (good == most && shift == shift_usual)) {
			best = shift;
			most = good;
		}
	}
	return best;
}

struct trial {
	struct cairn_walk *walk;
	uint64_t first; /* page of the candidate that was tried last */
};

/* Reads the map whose upper level is at ROOT, of which LEAF was tried. */
static bool read_map(void *context, uint64_t root, uint64_t leaf)
{
	const struct trial *trial = context;
	struct cairn_walk *walk = trial->walk;
	struct cairn_image *image = walk->image;
	const struct cairn_image_module *module = cairn_image_module(image, root);
	struct reader reader = {.image = image, .spans = {.image = image}, .tally = cairn_tally(image), .steps_left = list_steps,
				.shift = find_shift(image, leaf, trial->first),
				.heap = {.kind = CAIRN_WALK_TCMALLOC, .is_read = true, .module = module ? module->path : ""}};
	const struct cairn_image_run *run;
	uint64_t end = root + root_size;
	if (!module || !cairn_version_of_gperftools(image, module, reader.heap.version, sizeof reader.heap.version))
		snprintf(reader.heap.version, sizeof reader.heap.version, "2.8 and later");
	if (!module || reader.shift < image->page_bits || !find_sizes(&reader, module))
		return false; /* it only looked like a map */
	for (uint64_t at = root; at < end && (run = cairn_image_run(image, at)) && run->start < end;) {
		at = run->start > at ? run->start : at;
		for (uint64_t stop = run->end < end ? run->end : end; at < stop; at += 8)
			if (cairn_image_word(image, at, &leaf) && leaf && leaf % 8 == 0 && cairn_image_is_heap(image, leaf))
				read_leaf(&reader, leaf, (at - root) / 8 << level_bits);
	}
	cairn_spans_sort(&reader.spans);
	cairn_spans_search(&reader.spans, find_list, &reader);
	cairn_spans_count(&reader.spans, &reader.heap);
	if (reader.spans.count)
		cairn_walk_add_heap(walk, &reader.heap);
	cairn_spans_free(&reader.spans);
	return true;
}

static bool try(void *context, uint64_t at, uint64_t candidate, uint64_t *root)
{
	struct trial *trial = context;
	uint64_t upper;
	if (!is_leaf(trial->walk->image, candidate, &upper) || upper >= root_size / 8 || 8 * upper > at)
		return false;
	trial->first = upper << level_bits;
	*root = at - 8 * upper;
	return true;
}

void cairn_tcmalloc_read(struct cairn_walk *walk)
{
	struct trial trial = {.walk = walk};
	struct cairn_search search = {.library = "tcmalloc", .alignment = 8, .length = leaf_size, .root_length = root_size,
				      .context = &trial, .try = try, .read = read_map};
	cairn_search(walk->image, &search);
}
