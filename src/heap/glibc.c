/* glibc.c - finds the arenas of glibc's malloc, and their segments.
 *
 * No symbol is needed: the main arena is a variable of libc, or of a static program, and recognizable. The headers of its empty bins point
 * to themselves, its `next` leads through all other arenas and back, and it has obtained whole pages from the system.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/glibc.h"

#include "base/array.h"
#include "base/sort.h"
#include "heap/version.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	arena_most = 2304, /* bytes of a struct malloc_state, at least */
	heap_least_bits = 20,
	heap_most_bits = 34,
	window_room = 1 << 20,
	data_most = 64 << 20, /* of one module, that is searched */
	list_steps = 32 << 20,
	segments_most = 1 << 20,
};

static const struct cairn_glibc_layout layouts[] = {
	/* versions fast  top bins  next attached system_mem size */
	{217, 222, 8, 88, 104, 2152, 0, 2168, 2184},
	{223, 226, 8, 88, 104, 2152, 2168, 2176, 2192},
	{227, 242, 16, 96, 112, 2160, 2176, 2184, 2200},
	{243, 999, 0, 8, 24, 2072, 2088, 2096, 2112},
};

/* struct malloc_par. All begin with trim_threshold, top_pad, mmap_threshold, arena_test and arena_max. */
struct parameters_layout {
	unsigned first, last; /* versions */
	uint16_t huge_page; /* 0: not there */
	uint16_t mmaps, mmaps_most, no_dynamic, mmapped, start;
};
static const struct parameters_layout parameters_layouts[] = {
	{217, 223, 0, 40, 44, 52, 56, 80},
	{224, 234, 0, 40, 44, 52, 56, 72},
	{235, 242, 40, 60, 64, 72, 80, 96},
	{243, 999, 48, 68, 72, 80, 88, 104},
};

/* A word of a struct that was copied. */
static uint64_t word_at(const unsigned char *data, size_t offset)
{
	uint64_t word;
	memcpy(&word, data + offset, sizeof word);
	return word;
}

static uint32_t half_at(const unsigned char *data, size_t offset)
{
	uint32_t half;
	memcpy(&half, data + offset, sizeof half);
	return half;
}

/* Whether DATA may be the struct malloc_state that lies at ADDRESS. */
static bool is_arena(const struct cairn_image *image, const unsigned char *data, uint64_t address, const struct cairn_glibc_layout *layout)
{
	/* Bins may all be full, but each is a list that leads into the heap. */
	uint64_t top = word_at(data, layout->top), next = word_at(data, layout->next), mapped = word_at(data, layout->system_mem),
		 mapped_most = word_at(data, layout->system_mem + 8u);
	if (mapped == 0 || mapped % 16 || mapped > mapped_most || next % 16 || !next || top % 16 || half_at(data, 0) > 2 ||
	    half_at(data, 4) > 15 || (next != address && !cairn_image_region(image, next)) || !cairn_image_may_be_heap(image, top))
		return false;
	for (unsigned i = 0; i < CAIRN_GLIBC_BINS; i++) {
		uint64_t head = address + layout->bins + 16 * i - 16;
		uint64_t forward = word_at(data, layout->bins + 16 * i), back = word_at(data, layout->bins + 16 * i + 8u);
		if (forward == head && back == head)
			continue;
		if (forward % 16 || back % 16 || forward == head || back == head || !cairn_image_may_be_heap(image, forward) ||
		    !cairn_image_may_be_heap(image, back))
			return false;
	}
	return true;
}

static bool read_arena(struct cairn_glibc *glibc, uint64_t address, unsigned char data[arena_most])
{
	return cairn_image_read(glibc->image, address, data, arena_most) && is_arena(glibc->image, data, address, glibc->layout);
}

/* Whether the arenas from ADDRESS on form a ring: an address some bytes beside that of an arena looks like one in another layout. */
static bool is_ring(struct cairn_image *image, uint64_t address, const struct cairn_glibc_layout *layout)
{
	unsigned char data[arena_most];
	uint64_t at = address;
	for (unsigned i = 0; i < CAIRN_GLIBC_ARENAS; i++) {
		if (!cairn_image_read(image, at, data, arena_most) || !is_arena(image, data, at, layout))
			return false;
		at = word_at(data, layout->next);
		if (at == address)
			return true;
	}
	return false;
}

/* Adds all arenas, from the one at FIRST on, round the ring. */
static void add_arenas(struct cairn_glibc *glibc, uint64_t first)
{
	unsigned char data[arena_most];
	uint64_t address = first;
	struct cairn_walk_heap *heap = glibc->heap;
	do {
		if (!read_arena(glibc, address, data)) {
			snprintf(heap->problem, sizeof heap->problem, "its list of arenas changed while it was read");
			return;
		}
		for (size_t i = 0; i < heap->arena_count; i++)
			if (heap->arenas[i].address == address)
				return;
		cairn_array_room(heap->arenas, heap->arena_count, heap->arena_capacity);
		heap->arenas[heap->arena_count++] = (struct cairn_walk_arena){
			.address = address,
			.is_main = address == first,
			.threads = glibc->layout->attached ? half_at(data, glibc->layout->attached) : UINT32_MAX,
			.mapped = word_at(data, glibc->layout->system_mem),
		};
		address = word_at(data, glibc->layout->next);
	} while (address != first && heap->arena_count < CAIRN_GLIBC_ARENAS);
}

/* Segments. */

static void add_segment(struct cairn_glibc *glibc, uint64_t start, uint64_t end, size_t arena)
{
	if (start >= end || glibc->segment_count >= segments_most)
		return;
	cairn_array_room(glibc->segments, glibc->segment_count, glibc->segment_capacity);
	glibc->segments[glibc->segment_count++] = (struct cairn_glibc_segment){start, end, arena};
}

static int compare_segments(const void *a, const void *b)
{
	const struct cairn_glibc_segment *one = a, *other = b;
	return one->start < other->start ? -1 : one->start > other->start;
}

const struct cairn_glibc_segment *cairn_glibc_segment(const struct cairn_glibc *glibc, uint64_t address)
{
	size_t first = 0, end = glibc->segment_count;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (glibc->segments[middle].end <= address)
			first = middle + 1;
		else
			end = middle;
	}
	return first < glibc->segment_count && glibc->segments[first].start <= address ? &glibc->segments[first] : NULL;
}

/* The address behind the regions from START on that follow each other without a gap. */
static uint64_t end_of_regions(const struct cairn_image *image, uint64_t start)
{
	uint64_t end = start;
	for (const struct cairn_image_region *region; (region = cairn_image_region(image, end));)
		end = region->end;
	return end;
}

/* The heaps of an arena that is not the main one: the newest contains the top. */
static void add_heaps(struct cairn_glibc *glibc, size_t index)
{
	struct cairn_walk_arena *arena = &glibc->heap->arenas[index];
	uint64_t top = 0, words[4];
	if (!cairn_image_word(glibc->image, arena->address + glibc->layout->top, &top))
		return;
	unsigned bits = heap_least_bits;
	for (; bits <= heap_most_bits; bits++) { /* 64 MiB; more with huge pages */
		uint64_t start = top >> bits << bits;
		if (cairn_image_read(glibc->image, start, words, sizeof words) && words[0] == arena->address &&
		    words[2] <= (uint64_t)1 << bits && words[2] > top - start &&
		    (!words[1] || (words[1] & (((uint64_t)1 << bits) - 1)) == 0))
			break;
	}
	uint64_t heap = bits <= heap_most_bits ? top >> bits << bits : 0, header = 0;
	for (size_t count = 0; heap && count < segments_most; count++) {
		/* The newest may be small yet, so its size says little of those before. */
		if (!cairn_image_read(glibc->image, heap, words, sizeof words) || words[0] != arena->address ||
		    words[2] > (uint64_t)1 << heap_most_bits)
			break;
		uint64_t end = heap + words[2], mapped = end_of_regions(glibc->image, heap);
		bool first = arena->address > heap && arena->address < end;
		/* What is before the arena in its own heap is the header of every heap. */
		if (first)
			header = arena->address - heap;
		add_segment(glibc, heap, end < mapped ? end : mapped, index);
		if (words[1] == heap)
			break;
		heap = words[1];
	}
	if (header != 32 && header != 48)
		snprintf(glibc->heap->problem, sizeof glibc->heap->problem, "the heaps of one of its arenas changed while they were read");
}

/* Where the first chunk of SEGMENT is. */
static uint64_t first_chunk(struct cairn_glibc *glibc, const struct cairn_glibc_segment *segment)
{
	const struct cairn_walk_arena *arena = &glibc->heap->arenas[segment->arena];
	uint64_t start = segment->start;
	if (arena->is_main)
		return (start + 15) & ~(uint64_t)15;
	if (arena->address > start && arena->address < segment->end)
		return (arena->address + glibc->layout->size + 15) & ~(uint64_t)15;
	/* Since 2.35 the header has 48 bytes. */
	bool is_short = cairn_glibc_is_chain(glibc, start + 32, segment->end, true),
	     is_long = cairn_glibc_is_chain(glibc, start + 48, segment->end, true);
	return start + (is_short && !is_long ? 32 : is_long && !is_short ? 48 : glibc->last < 235 ? 32 : 48);
}

/* Where the main arena's memory from brk begins, as struct malloc_par in the libc at ADDRESS says, whose settings are read as well. */
static uint64_t read_parameters(struct cairn_glibc *glibc, uint64_t address)
{
	enum { room = 4096, least = 136, break_most = 1 << 20 };
	const struct cairn_image_region *region = cairn_image_region(glibc->image, address);
	uint64_t first = glibc->image->source.start_break;
	struct cairn_walk_settings *settings = &glibc->heap->settings;
	if (!region)
		return 0;
	/* It lies in the same data as the arena, before or behind it. */
	for (const struct cairn_image_region *end = glibc->image->regions + glibc->image->region_count;
	     region > glibc->image->regions && region[-1].module == region->module && region != end; region--)
		;
	for (uint32_t module = region->module; region < glibc->image->regions + glibc->image->region_count && region->module == module;
	     region++)
		for (uint64_t at = region->start; at + least <= region->end && at - region->start < data_most; at += room - least) {
			unsigned char data[room];
			size_t length = region->end - at < room ? (size_t)(region->end - at) : room;
			if (!cairn_image_read(glibc->image, at, data, length))
				continue;
			for (size_t offset = 0; offset + least <= length; offset += 8)
				for (size_t i = 0; i < sizeof parameters_layouts / sizeof *parameters_layouts; i++) {
					const struct parameters_layout *layout = &parameters_layouts[i];
					const unsigned char *p = data + offset;
					uint64_t start = word_at(p, layout->start), threshold = word_at(p, 16), huge;
					if (glibc->last < layout->first || glibc->first > layout->last ||
					    half_at(p, layout->mmaps_most) != 65536 || word_at(p, 8) > (uint64_t)1 << 32 ||
					    threshold > (uint64_t)1 << 40 || half_at(p, layout->mmaps) > 65536 ||
					    !(start == 0 || (start >= first && start - first <= break_most)))
						continue;
					huge = layout->huge_page ? word_at(p, layout->huge_page) : 0;
					*settings = (struct cairn_walk_settings){
						.known = true,
						.trim_threshold = word_at(p, 0),
						.top_pad = word_at(p, 8),
						.mmap_threshold = threshold,
						.arena_max = word_at(p, 32),
						.fixed_thresholds = half_at(p, layout->no_dynamic) != 0,
						.huge_page = huge && huge < (uint64_t)1 << 34 && !(huge & (huge - 1)) ? huge : 0,
						.mmapped = word_at(p, layout->mmapped),
						.mmapped_objects = half_at(p, layout->mmaps),
					};
					if (!start)
						continue;
					glibc->first = glibc->first > layout->first ? glibc->first : layout->first;
					glibc->last = glibc->last < layout->last ? glibc->last : layout->last;
					return start;
				}
		}
	return 0;
}

/* The main arena: what it has from brk, and mappings that it made where brk failed. */
static void add_main(struct cairn_glibc *glibc)
{
	struct cairn_image *image = glibc->image;
	const struct cairn_walk_arena *arena = &glibc->heap->arenas[0];
	uint64_t start = read_parameters(glibc, arena->address), end;
	const struct cairn_image_region *region;
	if (!start) /* unknown: chunks begin somewhere behind the start of the break */
		for (start = image->source.start_break; start && (region = cairn_image_region(image, start)) && start < region->end &&
							start - image->source.start_break < 1 << 16;
		     start += 16)
			if (cairn_glibc_is_chain(glibc, start, end_of_regions(image, start), false))
				break;
	region = start ? cairn_image_region(image, start) : NULL;
	if (region && region->kind == CAIRN_IMAGE_BREAK) {
		end = end_of_regions(image, start);
		for (const struct cairn_image_region *last; (last = cairn_image_region(image, end - 1)) && last->kind != CAIRN_IMAGE_BREAK;)
			end = last->start;
		glibc->break_end = end;
		add_segment(glibc, start, end, 0);
	}
	cairn_sort(glibc->segments, glibc->segment_count, sizeof *glibc->segments, compare_segments);
}

/* A mapping without a header that contains the chunk at POINTER, if the chunks from its start on lead there. */
static void add_bare_mapping(struct cairn_glibc *glibc, uint64_t pointer)
{
	const struct cairn_image_region *region = cairn_image_region(glibc->image, pointer);
	if (!region || region->kind != CAIRN_IMAGE_ANONYMOUS || cairn_glibc_segment(glibc, pointer) ||
	    !cairn_glibc_leads_to(glibc, region->start, region->end, pointer))
		return;
	add_segment(glibc, region->start, region->end, 0);
	cairn_sort(glibc->segments, glibc->segment_count, sizeof *glibc->segments, compare_segments);
}

static void add_bare_mappings(struct cairn_glibc *glibc)
{
	uint64_t address = glibc->heap->arenas[0].address, words[2 * CAIRN_GLIBC_BINS], top = 0;
	cairn_image_word(glibc->image, address + glibc->layout->top, &top);
	if (top)
		add_bare_mapping(glibc, top);
	for (unsigned i = 0; i < CAIRN_GLIBC_BINS; i++)
		if (cairn_image_read(glibc->image, address + glibc->layout->bins + 16 * i, words, 16)) {
			add_bare_mapping(glibc, words[0]);
			add_bare_mapping(glibc, words[1]);
		}
}

/* Single large objects have mappings of their own, which the kernel may have joined. */
static void read_mapped(struct cairn_glibc *glibc)
{
	struct cairn_image *image = glibc->image;
	struct cairn_walk_heap *heap = glibc->heap;
	uint64_t page = glibc->tally.page_size;
	bool padded = !glibc->layout->fast; /* since 2.43 a header more, and a flag for huge pages */
	uint64_t found = 0, objects = 0;
	for (size_t i = 0; i < image->region_count; i++) {
		const struct cairn_image_region *region = &image->regions[i];
		if (region->kind != CAIRN_IMAGE_ANONYMOUS && !region->is_tail)
			continue;
		for (uint64_t at = region->start; at < region->end && !image->exhausted;) {
			uint64_t words[2];
			if (cairn_glibc_segment(glibc, at) || !cairn_image_read(image, at, words, sizeof words)) {
				const struct cairn_glibc_segment *segment = cairn_glibc_segment(glibc, at);
				if (!segment)
					break;
				at = (segment->end + page - 1) & ~(page - 1);
				continue;
			}
			uint64_t before = padded ? words[0] & ~(uint64_t)1 : words[0], size = words[1] & ~(uint64_t)CAIRN_GLIBC_FLAGS;
			uint64_t length = size + before + (padded ? 16 : 0);
			if ((words[1] & CAIRN_GLIBC_FLAGS) != CAIRN_GLIBC_MAPPED || before >= page || length < page || length % page ||
			    length > region->end - at)
				break;
			cairn_tally_object(&glibc->tally, at, at + length, false);
			cairn_tally_sum(image, at, at + length, &heap->sum);
			heap->sum.live += length;
			heap->sum.live_objects++;
			found += length;
			objects++;
			at += length;
		}
	}
	if (heap->settings.known)
		heap->difference += found > heap->settings.mmapped ? found - heap->settings.mmapped : heap->settings.mmapped - found;
	heap->settings.mmapped = found;
	heap->settings.mmapped_objects = objects;
}

static void read_segments(struct cairn_glibc *glibc)
{
	struct cairn_walk_heap *heap = glibc->heap;
	uint64_t *known = cairn_array_zero(heap->arena_count, sizeof *known);
	for (size_t i = 0; i < glibc->segment_count; i++) {
		const struct cairn_glibc_segment *segment = &glibc->segments[i];
		const struct cairn_walk_arena *arena = &heap->arenas[segment->arena];
		uint64_t top = 0, first = first_chunk(glibc, segment);
		cairn_image_word(glibc->image, arena->address + glibc->layout->top, &top);
		if (top < segment->start || top >= segment->end)
			top = 0;
		known[segment->arena] += first - segment->start + cairn_glibc_walk(glibc, segment->arena, first, segment->end, top);
	}
	cairn_glibc_read_caches(glibc);
	for (size_t i = 0; i < glibc->segment_count; i++)
		cairn_tally_sum(glibc->image, glibc->segments[i].start, glibc->segments[i].end,
				&heap->arenas[glibc->segments[i].arena].sum);
	for (size_t i = 0; i < heap->arena_count; i++) {
		struct cairn_walk_arena *arena = &heap->arenas[i];
		arena->difference = known[i] > arena->mapped ? known[i] - arena->mapped : arena->mapped - known[i];
		heap->difference += arena->difference;
		cairn_walk_add(&heap->sum, &arena->sum);
		if (!arena->is_main)
			cairn_walk_add(&heap->others, &arena->sum);
	}
	free(known);
}

static void name_version(struct cairn_glibc *glibc)
{
	struct cairn_walk_heap *heap = glibc->heap;
	char last[16] = "later";
	if (glibc->last < 900)
		snprintf(last, sizeof last, "%u.%u", glibc->last / 100, glibc->last % 100);
	snprintf(heap->version, sizeof heap->version,
		 glibc->first == glibc->last ? "%u.%u"
		 : glibc->last < 900	     ? "%u.%u to %s"
					     : "%u.%u or %s",
		 glibc->first / 100, glibc->first % 100, last);
}

/* Reads the copy of glibc whose main arena is at ADDRESS. */
static void read_copy(struct cairn_walk *walk, uint64_t address, const struct cairn_glibc_layout *layout, unsigned version)
{
	struct cairn_walk_heap *heap = &walk->heaps[walk->heap_count++];
	const struct cairn_image_module *module = cairn_image_module(walk->image, address);
	struct cairn_glibc glibc = {
		.heap = heap,
		.image = walk->image,
		.layout = layout,
		.first = version ? version : layout->first,
		.last = version ? version : layout->last,
		.tally = cairn_tally(walk->image),
		.window = cairn_image_window(walk->image, window_room),
		.list_steps_left = list_steps,
	};
	*heap = (struct cairn_walk_heap){.kind = CAIRN_WALK_GLIBC, .module = module ? module->path : "", .is_read = true};
	add_arenas(&glibc, address);
	for (size_t i = 1; i < heap->arena_count; i++)
		add_heaps(&glibc, i);
	if (heap->arena_count)
		add_main(&glibc);
	glibc.huge_page = heap->settings.huge_page;
	for (size_t i = 0; i < heap->arena_count; i++)
		cairn_glibc_read_fast(&glibc, heap->arenas[i].address);
	if (heap->arena_count)
		add_bare_mappings(&glibc);
	read_segments(&glibc);
	read_mapped(&glibc);
	name_version(&glibc);
	cairn_image_window_free(&glibc.window);
	cairn_map_free(&glibc.fast.blocks);
	free(glibc.fast.bits);
	free(glibc.segments);
	free(glibc.caches);
}

/* Searches the data of REGION for main arenas. */
static void search(struct cairn_walk *walk, const struct cairn_image_region *region)
{
	enum { room = 1 << 20 };
	struct cairn_image_window window = cairn_image_window(walk->image, room);
	uint64_t length = region->end - region->start < data_most ? region->end - region->start : data_most;
	for (uint64_t at = region->start; at + arena_most <= region->start + length && walk->heap_count < CAIRN_WALK_HEAPS; at += 16) {
		const unsigned char *data = cairn_image_window_at(&window, at, arena_most);
		if (!data) { /* not there, or the end of what is */
			const struct cairn_image_run *run = cairn_image_run(walk->image, at);
			if (!run || run->start >= region->end || walk->image->exhausted)
				break;
			if (run->start > at)
				at = run->start - 16;
			else if (run->end - at < arena_most)
				at = run->end - 16;
			continue;
		}
		for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
			if (is_arena(walk->image, data, at, &layouts[i]) && is_ring(walk->image, at, &layouts[i])) {
				const struct cairn_image_module *module = cairn_image_module(walk->image, at);
				read_copy(walk, at, &layouts[i], module ? cairn_version_of_glibc(walk->image, module) : 0);
				at += arena_most - 16;
				break;
			}
	}
	cairn_image_window_free(&window);
}

void cairn_glibc_read(struct cairn_walk *walk)
{
	for (size_t i = 0; i < walk->image->region_count && !walk->image->exhausted; i++)
		if (walk->image->regions[i].kind == CAIRN_IMAGE_DATA)
			search(walk, &walk->image->regions[i]);
}
