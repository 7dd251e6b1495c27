/* image.c - regions, records and cached contents, whatever they come from.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/image.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "process/clock.h"
#include "process/proc.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>

static const uint64_t one_page = 1;

static uint64_t page_start(const struct cairn_image *image, uint64_t address)
{
	return address >> image->page_bits << image->page_bits;
}

static uint64_t page_size(const struct cairn_image *image)
{
	return one_page << image->page_bits;
}

/* Regions and modules. */

/* The module of MAP, which has a path: that of the mapping before it, or a new one. */
static uint32_t module_of(struct cairn_image *image, const struct cairn_proc_map *map)
{
	for (size_t i = image->module_count; i > 0 && i + 8 > image->module_count; i--) /* another file may be mapped in between */
		if (cairn_bytes_equal(cairn_bytes_of(image->modules[i - 1].path), map->path))
			return (uint32_t)i - 1;
	cairn_array_room(image->modules, image->module_count, image->module_capacity);
	image->modules[image->module_count] = (struct cairn_image_module){
		.path = cairn_arena_text(&image->arena, map->path), .start = map->start, .end = map->limit, .first_end = map->limit};
	return (uint32_t)image->module_count++;
}

static void add_map(struct cairn_image *image, const struct cairn_proc_map *map, uint64_t data_end, uint32_t data_module)
{
	bool has_file = map->path.length > 0 && map->path.data[0] != '[';
	uint32_t module = has_file ? module_of(image, map) : CAIRN_NONE;
	bool is_data = has_file && map->writable;
	/* What lies behind a file without code, such as Cairn's ledger, is a mapping like any other. */
	bool is_tail = map->path.length == 0 && map->writable && map->start == data_end && data_module != CAIRN_NONE &&
		       image->modules[data_module].code;
	if (has_file) {
		struct cairn_image_module *file = &image->modules[module];
		file->end = map->limit > file->end ? map->limit : file->end;
		if (map->executable && !file->code)
			file->code = map->start;
		file->has_data |= is_data;
	}
	if (is_tail)
		image->modules[data_module].end = map->limit;
	if (!map->writable || map->shared || map->limit <= map->start)
		return;
	cairn_array_room(image->regions, image->region_count, image->region_capacity);
	image->regions[image->region_count++] = (struct cairn_image_region){
		.start = map->start,
		.end = map->limit,
		.kind = is_data || is_tail					     ? CAIRN_IMAGE_DATA
			: cairn_bytes_start_with(map->path, "[heap")		     ? CAIRN_IMAGE_BREAK
			: cairn_bytes_start_with(map->path, "[stack")		     ? CAIRN_IMAGE_STACK
								      : CAIRN_IMAGE_ANONYMOUS,
		.module = is_tail ? data_module : module,
		.is_tail = is_tail,
	};
}

static void read_maps(struct cairn_image *image, struct cairn_bytes text)
{
	struct cairn_bytes line;
	struct cairn_proc_map map;
	uint64_t data_end = 0, last = 0;
	uint32_t data_module = CAIRN_NONE;
	while (cairn_text_line(&text, &line, NULL)) {
		if (!cairn_proc_map_parse(line, &map) || map.start < last || map.start % page_size(image) || map.limit % page_size(image))
			continue; /* a mapping may be shown twice when it grows between two reads */
		last = map.limit;
		if (cairn_bytes_start_with(map.path, "[v"))
			continue;
		add_map(image, &map, data_end, data_module);
		if (map.path.length > 0 && map.path.data[0] != '[') {
			data_module = (uint32_t)module_of(image, &map);
			data_end = map.limit;
		} else if (map.start != data_end) {
			data_module = CAIRN_NONE;
		} else {
			data_module = CAIRN_NONE; /* only the mapping right behind the data is its tail */
			data_end = 0;
		}
	}
	/* A private mapping of a file without code is not a library's data: nobody's variables are in it. */
	size_t kept = 0;
	for (size_t i = 0; i < image->region_count; i++) {
		const struct cairn_image_region *region = &image->regions[i];
		if (region->kind != CAIRN_IMAGE_DATA || region->is_tail || image->modules[region->module].code)
			image->regions[kept++] = *region;
	}
	image->region_count = kept;
}

/* The sixteen random bytes that the kernel gave the process, by its auxiliary vector. */
static void read_random(struct cairn_image *image, struct cairn_bytes auxv)
{
	uint64_t pair[2];
	for (; auxv.length >= sizeof pair; auxv = cairn_bytes_skip(auxv, sizeof pair)) {
		memcpy(pair, auxv.data, sizeof pair);
		if (pair[0] == AT_RANDOM)
			image->has_random = image->source.read(image->source.context, pair[1], image->random, sizeof image->random) ==
					    sizeof image->random;
	}
}

/* Records. */

static bool take_memory(struct cairn_image *image, uint64_t bytes)
{
	if (bytes > image->memory_left && !image->exhausted)
		image->exhausted = CAIRN_IMAGE_MEMORY;
	if (image->exhausted)
		return false;
	image->memory_left -= bytes;
	return true;
}

static struct cairn_image_page *record(const struct cairn_image *image, uint64_t number)
{
	return &image->blocks[number >> CAIRN_IMAGE_BLOCK_BITS][number & ((one_page << CAIRN_IMAGE_BLOCK_BITS) - 1)];
}

void cairn_image_add(struct cairn_image *image, uint64_t start, uint64_t end, uint16_t flags)
{
	enum { block = 1 << CAIRN_IMAGE_BLOCK_BITS };
	bool is_swapped = flags & CAIRN_PAGE_SWAPPED;
	struct cairn_image_run *last = image->run_count ? &image->runs[image->run_count - 1] : NULL;
	start = page_start(image, start);
	end = page_start(image, end);
	if (end <= start || (last && start < last->end))
		return;
	if (!last || last->end != start || last->is_swapped != is_swapped) {
		if (image->run_count == image->run_capacity && !take_memory(image, (image->run_count + 64) * sizeof *image->runs))
			return;
		cairn_array_room(image->runs, image->run_count, image->run_capacity);
		last = &image->runs[image->run_count++];
		*last = (struct cairn_image_run){start, start, image->page_count, is_swapped};
	}
	for (uint64_t at = start; at < end; at += page_size(image)) {
		if (image->page_count >> CAIRN_IMAGE_BLOCK_BITS == image->block_count) {
			if (!take_memory(image, sizeof **image->blocks * block))
				break;
			cairn_array_room(image->blocks, image->block_count, image->block_capacity);
			image->blocks[image->block_count++] = cairn_array_zero(block, sizeof **image->blocks);
		}
		record(image, image->page_count++)->flags = flags;
		last->end = at + page_size(image);
		image->resident_bytes += is_swapped ? 0 : page_size(image);
	}
}

const struct cairn_image_run *cairn_image_run(struct cairn_image *image, uint64_t address)
{
	size_t first = 0, end = image->run_count;
	if (image->run_last < end && image->runs[image->run_last].start <= address) {
		first = image->run_last; /* walks go upwards */
		if (address < image->runs[first].end)
			return &image->runs[first];
	}
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (image->runs[middle].end <= address)
			first = middle + 1;
		else
			end = middle;
	}
	if (first == image->run_count)
		return NULL;
	image->run_last = first;
	return &image->runs[first];
}

struct cairn_image_page *cairn_image_page(struct cairn_image *image, uint64_t address)
{
	const struct cairn_image_run *run = cairn_image_run(image, address);
	if (!run || address < run->start)
		return NULL;
	return record(image, run->first + ((address - run->start) >> image->page_bits));
}

uint64_t cairn_image_resident(struct cairn_image *image, uint64_t start, uint64_t end, bool swapped)
{
	uint64_t bytes = 0;
	const struct cairn_image_run *run;
	while (start < end && (run = cairn_image_run(image, start)) && run->start < end) {
		uint64_t from = run->start > start ? run->start : start, to = run->end < end ? run->end : end;
		bytes += swapped || !run->is_swapped ? to - from : 0;
		start = to;
	}
	return bytes;
}

/* The last region that begins at ADDRESS or before, or NULL. */
static const struct cairn_image_region *region_before(const struct cairn_image *image, uint64_t address)
{
	size_t first = 0, end = image->region_count;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		if (image->regions[middle].start <= address)
			first = middle + 1;
		else
			end = middle;
	}
	return first ? &image->regions[first - 1] : NULL;
}

const struct cairn_image_region *cairn_image_region(const struct cairn_image *image, uint64_t address)
{
	const struct cairn_image_region *region = region_before(image, address);
	return region && address < region->end ? region : NULL;
}

const struct cairn_image_module *cairn_image_module(const struct cairn_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->module_count; i++)
		if (address >= image->modules[i].start && address < image->modules[i].end)
			return &image->modules[i];
	return NULL;
}

static bool holds_objects(const struct cairn_image_region *region)
{
	return region->kind == CAIRN_IMAGE_ANONYMOUS || region->kind == CAIRN_IMAGE_BREAK || region->is_tail;
}

bool cairn_image_is_heap(const struct cairn_image *image, uint64_t address)
{
	const struct cairn_image_region *region = cairn_image_region(image, address);
	return region && holds_objects(region);
}

bool cairn_image_may_be_heap(const struct cairn_image *image, uint64_t address)
{
	static const uint64_t growth_most = 64 << 20;
	const struct cairn_image_region *region = region_before(image, address);
	return region && holds_objects(region) && (address < region->end || address - region->end < growth_most);
}

/* Contents. */

bool cairn_image_is_late(struct cairn_image *image)
{
	if (!image->exhausted && cairn_clock_ns() > image->deadline_ns)
		image->exhausted = CAIRN_IMAGE_TIME;
	return image->exhausted;
}

bool cairn_image_take(struct cairn_image *image, uint64_t length)
{
	uint64_t *left = image->in_trial ? &image->trial_left : &image->bytes_left;
	if (length <= *left) {
		*left -= length;
		return true;
	}
	if (image->in_trial)
		image->trial_left = 0;
	else if (!image->exhausted)
		image->exhausted = CAIRN_IMAGE_BYTES;
	return false;
}

/* Reads LENGTH bytes at ADDRESS, on pages that are there: those of RUN. Returns how many. */
static size_t read_run(struct cairn_image *image, const struct cairn_image_run *run, uint64_t address, void *out, size_t length)
{
	if (length > run->end - address)
		length = (size_t)(run->end - address);
	if (run->is_swapped) {
		if (length > image->swapped_left)
			return 0;
		image->swapped_left -= length;
	}
	if (cairn_image_is_late(image) || !cairn_image_take(image, length))
		return 0;
	return image->source.read(image->source.context, address, out, length);
}

/* The contents of the page at START, or NULL. */
static const char *cached_page(struct cairn_image *image, uint64_t start)
{
	size_t slot = (size_t)(start >> image->page_bits) % CAIRN_IMAGE_CACHE;
	if (image->cache[slot].page == start + 1)
		return image->cache[slot].data;
	const struct cairn_image_run *run = cairn_image_run(image, start);
	if (!run || start < run->start)
		return NULL;
	if (!image->cache[slot].data)
		image->cache[slot].data = cairn_arena_alloc(&image->arena, page_size(image));
	image->cache[slot].page = 0;
	if (read_run(image, run, start, image->cache[slot].data, page_size(image)) < page_size(image))
		return NULL;
	image->cache[slot].page = start + 1;
	return image->cache[slot].data;
}

bool cairn_image_read(struct cairn_image *image, uint64_t address, void *out, size_t length)
{
	char *to = out;
	if (image->in_trial && !cairn_image_take(image, length)) /* pages that were read already cost time as well */
		return false;
	while (length > 0) {
		uint64_t start = page_start(image, address), offset = address - start;
		size_t part = page_size(image) - offset < length ? (size_t)(page_size(image) - offset) : length;
		const char *data = cached_page(image, start);
		if (!data || address + part < address)
			return false;
		memcpy(to, data + offset, part);
		to += part;
		address += part;
		length -= part;
	}
	return true;
}

bool cairn_image_word(struct cairn_image *image, uint64_t address, uint64_t *word)
{
	return cairn_image_read(image, address, word, sizeof *word);
}

bool cairn_image_copy(struct cairn_image *image, uint64_t address, void *out, size_t length)
{
	char *to = out;
	uint64_t end = address + length;
	const struct cairn_image_run *run;
	memset(out, 0, length);
	while (address < end && (run = cairn_image_run(image, address)) && run->start < end) {
		uint64_t from = run->start > address ? run->start : address, until = run->end < end ? run->end : end;
		to += from - address;
		read_run(image, run, from, to, (size_t)(until - from));
		if (image->exhausted)
			return false;
		to += until - from;
		address = until;
	}
	return true;
}

void cairn_image_forget(struct cairn_image *image)
{
	for (size_t i = 0; i < CAIRN_IMAGE_CACHE; i++)
		image->cache[i].page = 0;
}

struct cairn_image_window cairn_image_window(struct cairn_image *image, size_t room)
{
	return (struct cairn_image_window){.image = image, .data = cairn_array_new(room, 1), .room = room};
}

void cairn_image_window_free(struct cairn_image_window *window)
{
	free(window->data);
	*window = (struct cairn_image_window){0};
}

const unsigned char *cairn_image_window_fill(struct cairn_image_window *window, uint64_t address, size_t length)
{
	struct cairn_image *image = window->image;
	const struct cairn_image_run *run = cairn_image_run(image, address);
	size_t got = 0, wanted = window->room;
	if (length > window->room || address + length < address || !run || address < run->start)
		return NULL;
	if (address < window->start || address > window->end + window->room) /* not the continuation of a walk */
		wanted = wanted < 1 << 16 ? wanted : 1 << 16;
	window->start = window->end = address;
	do { /* neighbouring runs differ in that one is swapped out */
		size_t part = read_run(image, run, address + got, window->data + got, wanted - got);
		got += part;
		if (part == 0 || address + got < run->end)
			break;
		run = cairn_image_run(image, address + got);
	} while (got < wanted && run && run->start <= address + got);
	window->end = address + got;
	return got >= length ? window->data : NULL;
}

/* Opening. */

bool cairn_image_open_source(struct cairn_image *image, const struct cairn_image_source *source, const struct cairn_image_limits *limits,
			     struct cairn_error *error)
{
	static const struct cairn_image_limits none;
	const struct cairn_image_limits *wanted = limits ? limits : &none;
	*image = (struct cairn_image){.source = *source};
	assert(source->page_size >= 4096 && source->page_size <= CAIRN_IMAGE_PAGE_MOST && !(source->page_size & (source->page_size - 1)));
	image->page_bits = (unsigned)__builtin_ctzll(source->page_size);
	image->deadline_ns = cairn_clock_ns() + (wanted->time_ns ? wanted->time_ns : 30 * CAIRN_SECOND_NS);
	image->memory_left = wanted->memory ? wanted->memory : (uint64_t)1 << 30;
	image->swapped_left = wanted->swapped_bytes ? wanted->swapped_bytes : (uint64_t)4 << 20;
	read_maps(image, source->maps);
	for (size_t i = 0; i < image->region_count && !image->exhausted; i++)
		if (!source->find_pages(source->context, image, image->regions[i].start, image->regions[i].end))
			return cairn_fail_errno(error, "cannot find out which pages are resident");
	/* The readers of each allocator read variables once or twice, and then one of them the heap, and what lies beside it. */
	image->bytes_left = 8 * image->resident_bytes + ((uint64_t)64 << 20);
	read_random(image, source->auxv);
	image->source.maps = image->source.auxv = (struct cairn_bytes){0};
	return true;
}
