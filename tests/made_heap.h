/* made_heap.h - the memory of a process that never ran, for tests of readers of heaps: one small sound heap of each allocator.
 *
 * A page is there once a word was put on it. There is a program with data, memory from brk, and two large mappings: objects lie in one,
 * records in the other. SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_MADE_HEAP_H
#define CAIRN_TESTS_MADE_HEAP_H

#include "heap/walk.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

enum { made_page = 4096, made_regions = 4 };

static const struct made_region {
	uint64_t start, size;
} made_region[made_regions] = {
	{0x10001000, 0x410000},   /* data and the zeroed memory behind it */
	{0x20000000, 0x21000},    /* brk */
	{0x4000000000, 0x400000}, /* objects */
	{0x5000000000, 0x400000}, /* records */
};
enum { made_data, made_break, made_objects, made_records };

struct made_heap {
	char *pages[made_regions][0x410];
	char maps[600];
	uint64_t auxv[4];
	struct cairn_image image;
};

static inline char *made_find(struct made_heap *heap, uint64_t address, bool make)
{
	for (int i = 0; i < made_regions; i++) {
		uint64_t offset = address - made_region[i].start;
		if (offset >= made_region[i].size)
			continue;
		char **page = &heap->pages[i][offset / made_page];
		if (!*page && make)
			*page = calloc(1, made_page);
		return *page ? *page + offset % made_page : NULL;
	}
	return NULL;
}

static inline void made_put(struct made_heap *heap, uint64_t address, uint64_t word)
{
	char *place = made_find(heap, address & ~(uint64_t)7, true);
	if (place)
		memcpy(place, &word, sizeof word);
}

static inline void made_touch(struct made_heap *heap, uint64_t start, uint64_t end)
{
	for (; start < end; start += made_page)
		made_find(heap, start, true);
}

static size_t made_read(void *context, uint64_t address, void *out, size_t length)
{
	size_t done = 0;
	for (char *from; done < length && (from = made_find(context, address + done, false));) {
		size_t part = made_page - (address + done) % made_page;
		part = part < length - done ? part : length - done;
		memcpy((char *)out + done, from, part);
		done += part;
	}
	return done;
}

static bool made_find_pages(void *context, struct cairn_image *image, uint64_t start, uint64_t end)
{
	for (; start < end; start += made_page)
		if (made_find(context, start, false))
			cairn_image_add(image, start, start + made_page, 0);
	return true;
}

/* Walks it. Free it with made_free. */
static inline bool made_walk(struct made_heap *heap, struct cairn_walk *walk)
{
	int length =
		snprintf(heap->maps, sizeof heap->maps,
			 "10000000-10001000 r-xp 00000000 08:01 42 /bin/program\n10001000-10011000 rw-p 00001000 08:01 42 /bin/program\n"
			 "10011000-10411000 rw-p 00000000 00:00 0\n20000000-20021000 rw-p 00000000 00:00 0 [heap]\n"
			 "3fff000000-4000000000 rw-s 00000000 00:01 7 /memfd:shared (deleted)\n"
			 "4000000000-4000400000 rw-p 00000000 00:00 0\n5000000000-5000400000 rw-p 00000000 00:00 0\n");
	struct cairn_image_source source = {
		.context = heap,
		.maps = {heap->maps, (size_t)length},
		.auxv = {(char *)heap->auxv, sizeof heap->auxv},
		.start_break = made_region[made_break].start,
		.page_size = made_page,
		.read = made_read,
		.find_pages = made_find_pages,
	};
	*walk = (struct cairn_walk){0};
	if (!cairn_image_open_source(&heap->image, &source, &(struct cairn_image_limits){.time_ns = (int64_t)5000000000}, NULL))
		return false;
	cairn_walk_image(walk, &heap->image);
	return true;
}

static inline void made_free(struct made_heap *heap, struct cairn_walk *walk)
{
	cairn_walk_free(walk);
	cairn_image_close(&heap->image);
	for (int i = 0; i < made_regions; i++)
		for (size_t k = 0; k < sizeof heap->pages[i] / sizeof *heap->pages[i]; k++)
			free(heap->pages[i][k]);
	*heap = (struct made_heap){0};
}

/* The record of an arena of glibc's 2.27 to 2.42, whose bins are empty. */
static inline void made_arena(struct made_heap *heap, uint64_t arena, uint64_t top, uint64_t next, uint64_t mapped)
{
	for (unsigned i = 0; i < 254; i += 2)
		for (unsigned k = 0; k < 2; k++)
			made_put(heap, arena + 112 + 8 * (i + k), arena + 112 + 8 * i - 16);
	made_put(heap, arena + 96, top);
	made_put(heap, arena + 2160, next);
	made_put(heap, arena + 2176, 1);
	made_put(heap, arena + 2184, mapped);
	made_put(heap, arena + 2192, mapped);
}

enum { made_main_arena = 0x10002000 };

/* 1,000 bytes live in chunks of 80 and 920, 0x1000 free, the rest up to 0x21000 is the top. */
static inline void made_glibc(struct made_heap *heap)
{
	uint64_t chunk = made_region[made_break].start, top = chunk + 0x50 + 0x3a0 + 0x1000 + 0x20;
	made_arena(heap, made_main_arena, top, made_main_arena, 0x21000);
	uint64_t parameters = 0x10003000;
	made_put(heap, parameters, 128 << 10);
	made_put(heap, parameters + 8, 128 << 10);
	made_put(heap, parameters + 16, 128 << 10);
	made_put(heap, parameters + 40, (uint64_t)65536 << 32);
	made_put(heap, parameters + 72, chunk);
	made_put(heap, chunk + 8, 0x51);
	made_put(heap, chunk + 0x50 + 8, 0x3a1);
	made_put(heap, chunk + 0x3f0 + 8, 0x1001);
	made_put(heap, chunk + 0x13f0, 0x1000);
	made_put(heap, chunk + 0x13f0 + 8, 0x20);
	made_put(heap, top + 8, (0x21000 - (top - chunk)) | 1);
	made_touch(heap, chunk, chunk + 0x21000);
}

/* A slab of 256 regions of 80 bytes, of which 56 are free; an object of 16 KiB with a page behind it; eight dirty pages. The leaf begins
 * and ends within a page, and behind it lies something else. */
enum { made_leaf = 192 };
static inline void made_jemalloc(struct made_heap *heap)
{
	uint64_t root = 0x10012000, leaf = made_region[made_records].start + made_leaf, end = leaf + 0x200000,
		 record = made_region[made_records].start + 0x201000, page = made_region[made_objects].start;
	const struct {
		uint64_t pages, class, state, slab, free;
	} extents[] = {{5, 5, 0, 1, 56}, {5, 36, 0, 0, 0}, {8, 232, 1, 0, 0}};
	made_put(heap, root + 8 * (page >> 30), leaf);
	made_put(heap, end, 0x8e823000);
	for (size_t i = 0, at = 0; i < 3; at += extents[i].pages, i++, record += 128) {
		made_put(heap, record, extents[i].slab << 12 | extents[i].state << 17 | extents[i].class << 20 | extents[i].free << 28);
		made_put(heap, record + 8, page + at * made_page);
		made_put(heap, record + 16, extents[i].pages * made_page);
		for (size_t k = 0; k < extents[i].pages; k++)
			if (extents[i].slab || k == 0 || k == extents[i].pages - 1)
				made_put(heap, leaf + 8 * (at + k), extents[i].class << 48 | record | extents[i].slab);
	}
	made_touch(heap, page, page + 18 * made_page);
}

/* 10 blocks of 64 bytes in use on a page of 64 KiB; the next three slices are free. */
static inline void made_mimalloc(struct made_heap *heap)
{
	uint64_t segment = made_region[made_objects].start, slice = segment + 288, thread = 0x7000;
	made_put(heap, segment + 224, segment ^ 0x123456789abcdef0);
	made_put(heap, segment + 248, 5);
	made_put(heap, segment + 256, 1);
	made_put(heap, segment + 272, 5);
	made_put(heap, segment + 280, thread);
	made_put(heap, slice, 1);
	made_put(heap, slice + 96, 1);
	made_put(heap, slice + 96 + 8, (uint64_t)10 << 16 | (uint64_t)10 << 32);
	made_put(heap, slice + 96 + 32, 10);
	made_put(heap, slice + 96 + 40, 64);
	made_put(heap, slice + 96 + 64, 0x10002000); /* its heap is a variable: that of the first thread */
	made_put(heap, slice + 192, 3);
	made_touch(heap, segment, segment + 5 * (64 << 10));
}

/* Four spans of a page with 100 objects of 32 bytes each, of which seven are in a thread's list; a free span of four pages. */
static inline void made_tcmalloc(struct made_heap *heap)
{
	uint64_t root = 0x10012000, leaf = made_region[made_records].start, record = leaf + 0x200000,
		 address = made_region[made_objects].start, page = address >> 13, list = leaf + 0x300000;
	for (uint32_t i = 0; i < 44; i += 2) { /* 0, 8, 16, 32, 48, … */
		uint64_t low = i < 2 ? 0 : i == 2 ? 16 : 16 * i - 16, high = i < 2 ? 8 : i == 2 ? 32 : 16 * i;
		made_put(heap, 0x10003000 + 4 * i, low | high << 32);
	}
	made_put(heap, root + 8 * (page >> 18), leaf);
	for (uint64_t i = 0; i < 5; i++, record += 48) {
		made_put(heap, record, page + i);
		made_put(heap, record + 8, i < 4 ? 1 : 4);
		made_put(heap, record + 40, i < 4 ? 100 | 3 << 16 : (uint64_t)1 << 24);
		made_put(heap, leaf + 8 * i, record);
	}
	made_put(heap, leaf + 8 * 7, record - 48);
	made_put(heap, list, address);
	made_put(heap, list + 8, 7);
	made_put(heap, list + 16, 64);
	for (uint64_t i = 0; i < 7; i++)
		made_put(heap, address + 32 * i, i < 6 ? address + 32 * (i + 1) : 0);
	made_touch(heap, address, address + (8 << 13));
}

/* A group of 10 slots of 64 bytes on a page, of which three are free. */
static inline void made_musl(struct made_heap *heap)
{
	uint64_t secret = 0x1122334455667788, area = made_region[made_records].start, slot = area + 24,
		 group = made_region[made_objects].start;
	heap->auxv[0] = AT_RANDOM;
	heap->auxv[1] = area + 0x10000;
	made_put(heap, area + 0x10008, secret);
	made_put(heap, 0x10003000, secret);
	made_put(heap, 0x10003040, area);
	made_put(heap, area, secret);
	made_put(heap, area + 16, 1);
	made_put(heap, slot + 16, group);
	made_put(heap, slot + 24, 0x3 | (uint64_t)0x4 << 32);
	made_put(heap, slot + 32, 9 | 3 << 6 | 1 << 12);
	made_put(heap, group, slot);
}

static void (*const made_makers[CAIRN_WALK_KINDS])(struct made_heap *heap) = {
	[CAIRN_WALK_GLIBC] = made_glibc,       [CAIRN_WALK_JEMALLOC] = made_jemalloc, [CAIRN_WALK_MIMALLOC] = made_mimalloc,
	[CAIRN_WALK_TCMALLOC] = made_tcmalloc, [CAIRN_WALK_MUSL] = made_musl,
};

#endif
