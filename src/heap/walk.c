/* walk.c - one reader for each allocator.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/walk.h"

#include "base/array.h"
#include "heap/glibc.h"
#include "heap/jemalloc.h"
#include "heap/mimalloc.h"
#include "heap/musl.h"
#include "heap/tcmalloc.h"
#include "heap/walk_unread.h"
#include "process/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
	const char *name, *versions, *remedy;
	double error;
	void (*read)(struct cairn_walk *walk);
} readers[] = {
	[CAIRN_WALK_GLIBC] = {"glibc", "2.17 and later", "malloc_trim", 0.001, cairn_glibc_read},
	[CAIRN_WALK_MIMALLOC] = {"mimalloc", "2.0.3 to 2.4, 3.0 to 3.6", "mi_collect", 0.04, cairn_mimalloc_read},
	[CAIRN_WALK_JEMALLOC] = {"jemalloc", "5.1 and later", "arena.4096.purge", 0.003, cairn_jemalloc_read},
	[CAIRN_WALK_TCMALLOC] = {"tcmalloc", "gperftools 2.8 and later", "MallocExtension_ReleaseFreeMemory", 0.001, cairn_tcmalloc_read},
	[CAIRN_WALK_MUSL] = {"musl", "1.2.1 and later", "", 0, cairn_musl_read},
};
static_assert(sizeof readers / sizeof *readers == CAIRN_WALK_KINDS, "every allocator has a reader");

static const char *const ends[] = {
	[CAIRN_IMAGE_GOES_ON] = "",
	[CAIRN_IMAGE_TIME] = "reading takes too long here; when the machine is less busy, more can be read",
	[CAIRN_IMAGE_BYTES] = "its structures lead to the same memory again and again",
	[CAIRN_IMAGE_MEMORY] = "the process has too many pages",
};

const char *cairn_walk_name(enum cairn_walk_kind kind)
{
	return readers[kind].name;
}

const char *cairn_walk_remedy(enum cairn_walk_kind kind)
{
	return readers[kind].remedy;
}

const char *cairn_walk_versions(enum cairn_walk_kind kind)
{
	return readers[kind].versions;
}

const char *cairn_walk_variable(const struct cairn_walk_heap *heap)
{
	return heap->variable[0] ? heap->variable : "MALLOC_CONF";
}

double cairn_walk_return_error(enum cairn_walk_kind kind)
{
	return readers[kind].error;
}

void cairn_walk_add(struct cairn_walk_sum *to, const struct cairn_walk_sum *sum)
{
	static_assert(sizeof *sum % sizeof(uint64_t) == 0, "a sum consists of numbers");
	uint64_t *into = (uint64_t *)to;
	const uint64_t *from = (const uint64_t *)sum;
	for (size_t i = 0; i < sizeof *sum / sizeof *from; i++)
		into[i] = from[i] > UINT64_MAX - into[i] ? UINT64_MAX : into[i] + from[i];
}

const struct cairn_walk_heap *cairn_walk_unread(const struct cairn_walk *walk)
{
	for (size_t i = 0; i < walk->heap_count; i++)
		if (!walk->heaps[i].is_read)
			return &walk->heaps[i];
	return NULL;
}

struct cairn_walk_heap *cairn_walk_add_heap(struct cairn_walk *walk, const struct cairn_walk_heap *heap)
{
	if (walk->heap_count == CAIRN_WALK_HEAPS)
		return NULL;
	walk->heaps[walk->heap_count] = *heap;
	return &walk->heaps[walk->heap_count++];
}

void cairn_walk_image(struct cairn_walk *walk, struct cairn_image *image)
{
	int64_t start = cairn_clock_ns();
	*walk = (struct cairn_walk){.image = image};
	for (int i = 0; i < CAIRN_WALK_KINDS; i++)
		readers[i].read(walk);
	for (size_t i = 0; i < walk->heap_count; i++) {
		struct cairn_walk_heap *heap = &walk->heaps[i];
		cairn_walk_add(&walk->sum, &heap->sum);
		if (image->exhausted && !heap->problem[0])
			snprintf(heap->problem, sizeof heap->problem, "it was read only in part, as %s", ends[image->exhausted]);
	}
	cairn_walk_find_unread(walk, ends[image->exhausted]);
	walk->took_ns = cairn_clock_ns() - start;
}

bool cairn_walk_process(struct cairn_walk *walk, int pid, const struct cairn_image_limits *limits, struct cairn_error *error)
{
	struct cairn_image *image = cairn_array_zero(1, sizeof *image);
	*walk = (struct cairn_walk){.image = image, .owns_image = true};
	if (!cairn_image_open(image, pid, limits, error))
		return false;
	cairn_walk_image(walk, image);
	walk->owns_image = true;
	return true;
}

void cairn_walk_free(struct cairn_walk *walk)
{
	if (walk->owns_image) {
		cairn_image_close(walk->image);
		free(walk->image);
	}
	for (size_t i = 0; i < walk->heap_count; i++)
		free(walk->heaps[i].arenas);
	*walk = (struct cairn_walk){0};
}

/* Free memory on a page that is kept for objects. */
static double kept(const struct cairn_image_page *page)
{
	bool gone = page->flags & (CAIRN_PAGE_RETURNABLE | CAIRN_PAGE_RESERVE | CAIRN_PAGE_SWAPPED);
	return gone ? 0 : (double)page->free;
}

/* The share of an object in the unit of several pages that ADDRESS lies in. */
static double unit_share(struct cairn_image *image, uint64_t address)
{
	enum { unit_most = 1 << 14 };
	uint64_t size = (uint64_t)1 << image->page_bits, start = address & ~(size - 1);
	const struct cairn_image_page *page = cairn_image_page(image, start);
	double keepers = (double)page->keepers + page->cached, free = 0;
	unsigned pages = 0;
	while (page && page->flags & CAIRN_PAGE_CONTINUED && pages++ < unit_most) {
		do /* pages that are not there lie in between */
			start -= size;
		while (!(page = cairn_image_page(image, start)) && pages++ < unit_most);
	}
	for (; page && pages < 2 * unit_most; pages++) {
		free += kept(page);
		const struct cairn_image_run *run = cairn_image_run(image, start + size);
		start = run && run->start > start + size ? run->start : start + size;
		page = run ? cairn_image_page(image, start) : NULL;
		if (page && !(page->flags & CAIRN_PAGE_CONTINUED))
			break;
	}
	return keepers > 0 ? free / keepers : 0;
}

bool cairn_walk_share(const struct cairn_walk *walk, uint64_t address, uint64_t usable, double *bytes)
{
	struct cairn_image *image = walk->image;
	uint64_t size = (uint64_t)1 << image->page_bits;
	const struct cairn_image_page *page = cairn_image_page(image, address);
	*bytes = 0;
	if (!page || !(page->flags & CAIRN_PAGE_WALKED))
		return false;
	if (page->flags & CAIRN_PAGE_UNIT) {
		*bytes = unit_share(image, address);
		return true;
	}
	/* As the reader of glibc counts objects: from the chunk's header to behind that of the next one. */
	uint64_t start = address - CAIRN_GLIBC_HEADER, end = address + usable - 8 + CAIRN_GLIBC_KEPT;
	for (uint64_t at = start & ~(size - 1); at < end && at >= start - size; at += size) {
		page = cairn_image_page(image, at);
		uint64_t keepers = page ? (uint64_t)page->keepers + page->cached : 0;
		if (keepers)
			*bytes += kept(page) / (double)keepers;
		else if (!page && end - at > 64 * size) {
			const struct cairn_image_run *run = cairn_image_run(image, at);
			if (!run || run->start >= end)
				break;
			at = run->start - size;
		}
	}
	return true;
}
