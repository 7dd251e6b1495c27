/* mimalloc_map.c - version 3 of mimalloc: a map of two levels leads from the address of a slice to the record of its page.
 *
 * The upper level is an array with an entry for each 512 MiB of the address space; right behind it lies the part for the first of them. So
 * a variable that points to an array whose first entry points behind its end leads to it. Pages are made of the slices of *arenas*, which
 * begin with their records.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "heap/mimalloc.h"
#include "heap/search.h"
#include "heap/version.h"

#include <stdio.h>
#include <stdlib.h>

struct map_layout {
	const char *versions;
	uint8_t header;        /* bytes before the upper level of the map: its length and its own address are there */
	bool has_start;        /* a pointer to the first block; else only its distance from the record */
	uint8_t unit;          /* of that distance */
	uint8_t start, memory; /* offsets: of that, and of where the page's memory comes from */
	uint8_t thread;        /* of the thread that owns the page */
	uint8_t arena_start;   /* in the record of an arena: where its slices begin; 0: with the record itself */
	bool keeps;            /* mi_collect returns nothing */
	struct cairn_mimalloc_page_layout page;
};
static const struct map_layout layouts[] = {
	{"3.0.1 to 3.3.2", 0, true, 0, 48, 96, 0, 0, false, {18, 16, 2, 8, 24, 32, 40, 8, 64}},
	{"3.4", 0, false, 8, 48, 88, 0, 0, false, {18, 16, 2, 8, 24, 32, 40, 8, 56}},
	{"3.6 and later", 80, false, 1, 48, 104, 8, 40, true, {56, 40, 2, 16, 24, 64, 32, 8, 72}},
};

enum { part_bits = 13, upper_least = 13, upper_most = 24, tried_most = 100, arenas_most = 1024, tags_most = 1 << 16 };

static const uint64_t abandoned_mask = ~(uint64_t)15; /* of a page's thread: the rest are flags */

struct visit {
	struct cairn_mimalloc *mimalloc;
	const struct map_layout *layout;
	uint64_t main_thread;
	bool counts;
	size_t good, bad;
	uint64_t owner_thread;
	uint64_t last; /* record of the page visited before */
	uint64_t arenas[arenas_most];
	size_t arena_count;
};

static uint64_t word_at(const unsigned char *data, size_t offset)
{
	uint64_t word;
	memcpy(&word, data + offset, sizeof word);
	return word;
}

static void add_arena(struct visit *visit, uint64_t arena)
{
	for (size_t i = visit->arena_count; i > 0; i--)
		if (visit->arenas[i - 1] == arena)
			return;
	if (visit->arena_count < arenas_most)
		visit->arenas[visit->arena_count++] = arena;
}

/* The memory of the page whose RECORD lies at ADDRESS: slices of an arena, or from the system. */
static bool find_memory(struct visit *visit, const unsigned char *record, uint64_t address, uint64_t size, uint64_t *start, uint64_t *end)
{
	const struct map_layout *layout = visit->layout;
	uint64_t first = layout->has_start ? word_at(record, layout->start)
					   : address + layout->unit * (word_at(record, layout->start) & UINT32_MAX);
	uint64_t arena = word_at(record, layout->memory), where = word_at(record, layout->memory + 8u), base = arena;
	if (!cairn_image_region(visit->mimalloc->image, first))
		return false;
	if (layout->arena_start && !cairn_image_word(visit->mimalloc->image, arena + layout->arena_start, &base))
		base = 1; /* not of an arena */
	uint64_t slice = first & ~(uint64_t)(CAIRN_MIMALLOC_SLICE - 1), index = where & UINT32_MAX, count = where >> 32;
	if (base % CAIRN_MIMALLOC_SLICE == 0 && count && base + index * CAIRN_MIMALLOC_SLICE <= first &&
	    first - base - index * CAIRN_MIMALLOC_SLICE < count * CAIRN_MIMALLOC_SLICE && count < (uint64_t)1 << 24) {
		*start = base + index * CAIRN_MIMALLOC_SLICE;
		*end = *start + count * CAIRN_MIMALLOC_SLICE;
		if (visit->counts)
			add_arena(visit, arena);
		return true;
	}
	*start = slice;
	*end = first + size;
	return *end > first;
}

static void visit_page(struct visit *visit, uint64_t address)
{
	struct cairn_mimalloc *mimalloc = visit->mimalloc;
	unsigned char record[CAIRN_MIMALLOC_PAGE];
	uint64_t start, end, size;
	if (address == visit->last)
		return;
	visit->last = address;
	if (address % 8 || !cairn_image_read(mimalloc->image, address, record, sizeof record)) {
		visit->bad++;
		return;
	}
	struct cairn_mimalloc_page page = cairn_mimalloc_page(&visit->layout->page, record);
	if (__builtin_mul_overflow(page.block_size, page.capacity, &size) || !find_memory(visit, record, address, size, &start, &end)) {
		visit->bad++;
		return;
	}
	/* Until 3.1 the heap stands behind a small number, later the heap of a thread in its place. */
	uint64_t owner = visit->layout->header	       ? page.owner
			 : word_at(record, 56) < tags_most ? word_at(record, 64)
							   : word_at(record, 56);
	uint64_t thread = word_at(record, visit->layout->thread) & abandoned_mask;
	const struct cairn_image_region *region = cairn_image_region(mimalloc->image, owner);
	if (region && region->kind == CAIRN_IMAGE_DATA && thread)
		visit->owner_thread = thread;
	if (visit->counts)
		cairn_mimalloc_count(mimalloc, &page, start, end,
				     visit->layout->keeps           ? CAIRN_MIMALLOC_STAYS
				     : !thread                      ? CAIRN_MIMALLOC_ANY
				     : thread == visit->main_thread ? CAIRN_MIMALLOC_FIRST
								    : CAIRN_MIMALLOC_STAYS);
	else
		*(cairn_mimalloc_adds_up(mimalloc, &page, start, end) ? &visit->good : &visit->bad) += 1;
}

/* Calls ENTRY for each word that is not 0 of the COUNT at ARRAY and lies on a page that is there. */
static void each_entry(struct visit *visit, uint64_t array, uint64_t count, void (*entry)(struct visit *visit, uint64_t value))
{
	struct cairn_image *image = visit->mimalloc->image;
	uint64_t page = (uint64_t)1 << image->page_bits, end = array + 8 * count;
	for (uint64_t at = array; at < end && !cairn_image_is_late(image) && (visit->counts || visit->good + visit->bad < tried_most);) {
		uint64_t words[512]; /* one small page */
		size_t length = sizeof words - at % sizeof words;
		const struct cairn_image_run *run = cairn_image_run(image, at);
		if (!run)
			return;
		if (run->start > at) {
			at = run->start;
			continue;
		}
		length = end - at < length ? (size_t)(end - at) : length;
		if (cairn_image_copy(image, at, words, length))
			for (size_t i = 0; i < length / 8; i++)
				if (words[i])
					entry(visit, words[i]);
		at += length;
	}
	if (visit->counts)
		cairn_tally_records(&visit->mimalloc->tally, array & ~(page - 1), end, &visit->mimalloc->heap->sum);
}

static void visit_part(struct visit *visit, uint64_t part)
{
	if (part % 8 == 0 && cairn_image_is_heap(visit->mimalloc->image, part))
		each_entry(visit, part, 1 << part_bits, visit_page);
}

/* What no page has of the arena with its record at ARENA is free: its size and that of its records stand behind each other among its first
 * words. */
static void read_arena(struct cairn_mimalloc *mimalloc, const struct map_layout *layout, uint64_t arena)
{
	enum { slices_least = 64 };
	uint64_t words[10], slices = 0, records = 0;
	if (!cairn_image_read(mimalloc->image, arena, words, sizeof words))
		return;
	uint64_t start = layout->arena_start ? words[layout->arena_start / 8] : arena;
	for (size_t i = 3; i + 1 < sizeof words / sizeof *words && !slices; i++)
		if (words[i] >= slices_least && words[i] <= (uint64_t)1 << 24 && words[i + 1] && words[i + 1] < words[i]) {
			slices = words[i];
			records = words[i + 1];
		}
	uint64_t first = start + records * CAIRN_MIMALLOC_SLICE, end = start + slices * CAIRN_MIMALLOC_SLICE,
		 page = mimalloc->tally.page_size;
	cairn_tally_records(&mimalloc->tally, start, first, &mimalloc->heap->sum);
	const struct cairn_image_run *run;
	for (uint64_t at = first; at < end && (run = cairn_image_run(mimalloc->image, at)) && run->start < end;) {
		at = run->start > at ? run->start : at;
		uint64_t next = at;
		for (const struct cairn_image_page *record; next < end && next < run->end &&
							    (record = cairn_image_page(mimalloc->image, next)) &&
							    !(record->flags & CAIRN_PAGE_WALKED);)
			next += page;
		if (next > at)
			cairn_mimalloc_free(mimalloc, at, next, layout->keeps ? CAIRN_MIMALLOC_STAYS : CAIRN_MIMALLOC_ANY);
		at = next > at ? next : at + page;
	}
}

/* How many entries the map has that may begin at ADDRESS, by LAYOUT; 0 if none does. */
static uint64_t entries_of(struct cairn_image *image, const struct map_layout *layout, uint64_t address)
{
	uint64_t words[3], array = address + layout->header, first;
	if (!cairn_image_word(image, array, &first) || first <= array || (first - array) % 8)
		return 0;
	uint64_t entries = (first - array) / 8;
	if (entries < (uint64_t)1 << upper_least || entries >= (uint64_t)2 << upper_most)
		return 0;
	if (!layout->header)
		return (entries & (entries - 1)) == 0 ? entries : 0;
	if (!cairn_image_read(image, address, words, sizeof words) || words[2] != address || words[1] != first - address)
		return 0;
	return (uint64_t)1 << (63 - __builtin_clzll(entries));
}

struct trial {
	struct cairn_mimalloc *mimalloc;
	const struct map_layout *layout; /* of the map that was tried last */
	uint64_t owner_thread;
	bool found;
};

/* Whether the map that CANDIDATE points to has pages whose blocks add up. */
static bool try(void *context, uint64_t at, uint64_t candidate, uint64_t *root)
{
	struct trial *trial = context;
	bool good = false;
	struct visit *visit = NULL;
	for (size_t i = 0; i < sizeof layouts / sizeof *layouts && !good && !trial->found; i++) {
		uint64_t entries = entries_of(trial->mimalloc->image, &layouts[i], candidate);
		if (!entries)
			continue;
		visit = visit ? visit : cairn_array_zero(1, sizeof *visit);
		*visit = (struct visit){.mimalloc = trial->mimalloc, .layout = &layouts[i]};
		each_entry(visit, candidate + layouts[i].header + 8, entries - 1, visit_part);
		good = visit->good > 0 && visit->bad <= visit->good / 8;
		trial->layout = &layouts[i];
		trial->owner_thread = visit->owner_thread;
	}
	free(visit);
	*root = at;
	return good;
}

static bool read_map(void *context, uint64_t root, uint64_t map)
{
	struct trial *trial = context;
	struct cairn_walk_heap *heap = trial->mimalloc->heap;
	struct cairn_image *image = trial->mimalloc->image;
	const struct cairn_image_module *module = cairn_image_module(image, root);
	struct visit *visit = cairn_array_zero(1, sizeof *visit);
	*visit = (struct visit){.mimalloc = trial->mimalloc, .layout = trial->layout, .counts = true, .main_thread = trial->owner_thread};
	each_entry(visit, map + trial->layout->header, entries_of(image, trial->layout, map), visit_part);
	for (size_t k = 0; k < visit->arena_count; k++)
		read_arena(trial->mimalloc, trial->layout, visit->arenas[k]);
	free(visit);
	heap->module = module ? module->path : "";
	if (!module || !cairn_version_of_mimalloc(image, module, heap->version, sizeof heap->version))
		snprintf(heap->version, sizeof heap->version, "%s", trial->layout->versions);
	trial->found = true;
	return true;
}

bool cairn_mimalloc_read_map(struct cairn_mimalloc *mimalloc)
{
	struct trial trial = {.mimalloc = mimalloc};
	struct cairn_search search = {.library = "mimalloc", .alignment = 4096, .length = 8 << upper_least, .root_length = 8,
				      .context = &trial, .try = try, .read = read_map};
	cairn_search(mimalloc->image, &search);
	return trial.found;
}
