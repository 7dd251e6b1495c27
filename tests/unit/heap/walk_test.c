/* walk_test.c - every reader on a small heap made by hand, and on heaps that lie.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/trailer_write.h"
#include "heap/huge.h"
#include "heap/walk.h"
#include "made_heap.h"
#include "tap.h"

static struct made_heap heap;

static const struct {
	uint64_t live, objects, cached, returnable, pinned, reserved;
} expected[CAIRN_WALK_KINDS] = {
	[CAIRN_WALK_GLIBC] = {0x50 + 0x3a0 + 0x20, 3, 0, 0x1f000, 0, 0},
	[CAIRN_WALK_JEMALLOC] = {200 * 80 + 5 * 4096, 201, 0, 8 * 4096, 56 * 80, 0},
	[CAIRN_WALK_MIMALLOC] = {640, 10, 0, 3 << 16, (1 << 16) - 640, 0},
	[CAIRN_WALK_TCMALLOC] = {393 * 32, 393, 7 * 32, 4 << 13, 4 * (8192 - 3200), 0},
	[CAIRN_WALK_MUSL] = {7 * 64, 7, 0, 0, 4096 - 7 * 64, 0},
};

static void test_made(void)
{
	for (int i = 0; i < CAIRN_WALK_KINDS; i++) {
		struct cairn_walk walk;
		made_makers[i](&heap);
		ok(made_walk(&heap, &walk) && walk.heap_count == 1 && (int)walk.heaps[0].kind == i && walk.heaps[0].is_read, "%s is found",
		   cairn_walk_name((enum cairn_walk_kind)i));
		is_int(walk.sum.live, expected[i].live, "live bytes");
		is_int(walk.sum.live_objects, expected[i].objects, "live objects");
		is_int(walk.sum.cached, expected[i].cached, "bytes in caches");
		is_int(walk.sum.returnable, expected[i].returnable, "returnable");
		if (i != CAIRN_WALK_GLIBC)
			is_int(walk.sum.pinned, expected[i].pinned, "pinned");
		is_int(walk.sum.resident_free, walk.sum.returnable + walk.sum.pinned + walk.sum.reserved, "free memory adds up");
		made_free(&heap, &walk);
	}
}

static void test_regions(void)
{
	struct cairn_walk walk;
	made_glibc(&heap);
	made_walk(&heap, &walk);
	const struct cairn_image_region *data = cairn_image_region(&heap.image, 0x10012000),
					*objects = cairn_image_region(&heap.image, made_region[made_objects].start);
	ok(data->kind == CAIRN_IMAGE_DATA && data->is_tail, "zeroed memory behind a program's data is data");
	ok(objects->kind == CAIRN_IMAGE_ANONYMOUS && !objects->is_tail, "what follows a file without code is not");
	made_free(&heap, &walk);
}

/* Another variable happens to lead to jemalloc's leaf. */
static void test_twice(void)
{
	struct cairn_walk walk;
	made_jemalloc(&heap);
	made_put(&heap, 0x10004000, made_region[made_records].start + made_leaf);
	made_walk(&heap, &walk);
	is_int(walk.heap_count, 1, "a heap that two words lead to is one");
	is_int(walk.sum.live, expected[CAIRN_WALK_JEMALLOC].live, "and counted once");
	made_free(&heap, &walk);
}

/* mimalloc 3.6: before its map stands a header, its arena's record is not where the arena begins, and mi_collect returns nothing. On a page
 * are 10 blocks of 64 bytes, and the next is free. */
static void test_mimalloc_map(void)
{
	enum { slice = 1 << 16, length = 0x201000, part_offset = 0x300000 };
	struct cairn_walk walk;
	uint64_t map = made_region[made_records].start, start = made_region[made_objects].start, arena = start + 0x1000,
		 page = start + slice, array = map + 80, part = map + part_offset;
	const uint64_t record[] = {0, 0x7000, 0, 0, 64, 10, 0x200, 10 | 10 << 16, 1, 0x10002000, 0, 0, 0, arena, 1 | (uint64_t)1 << 32};
	made_put(&heap, 0x10003000, map);
	made_put(&heap, map + 8, length);
	made_put(&heap, map + 16, map);
	made_put(&heap, array, map + length);
	made_put(&heap, array + 8 * (start >> 29), part);
	made_put(&heap, part + 8, page);
	for (size_t i = 0; i < sizeof record / sizeof *record; i++)
		made_put(&heap, page + 8 * i, record[i]);
	made_put(&heap, arena + 40, start);
	made_put(&heap, arena + 48, 64);
	made_put(&heap, arena + 56, 1);
	made_touch(&heap, start, start + 3 * slice);
	ok(made_walk(&heap, &walk) && walk.heap_count == 1 && walk.heaps[0].kind == CAIRN_WALK_MIMALLOC,
	   "the map of mimalloc 3.6 is found");
	is_text(walk.heaps[0].version, "3.6 and later", "by its layout");
	is_int(walk.sum.live_objects, 10, "live objects");
	is_int(walk.sum.pinned, slice - 640, "pinned");
	is_int(walk.sum.reserved, slice, "a slice that waits for its next page");
	is_int(walk.sum.returnable, 0, "nothing is returned");
	made_free(&heap, &walk);
}

/* A program with a table of very many pointers into its heap, before and behind where an allocator has its own. */
static void test_tables(void)
{
	enum { first_page = 32, pages = 480, spacing = 64 };
	static const struct {
		uint64_t start, end;
	} tables[] = {{0x10005000, 0x10012000}, {0x10212000, 0x10410000}};
	for (int i = 0; i < CAIRN_WALK_KINDS; i++) {
		struct cairn_walk walk;
		uint64_t number = 0, objects = made_region[made_objects].start;
		made_makers[i](&heap);
		for (uint64_t page = first_page; page < first_page + pages; page++)
			made_put(&heap, objects + page * made_page, 1);
		for (size_t k = 0; k < sizeof tables / sizeof *tables; k++)
			for (uint64_t at = tables[k].start; at < tables[k].end; at += 8, number++)
				made_put(&heap, at, objects + (first_page + number % pages) * made_page + number / pages % 64 * spacing);
		made_walk(&heap, &walk);
		ok(walk.heap_count == 1 && (int)walk.heaps[0].kind == i && !walk.heaps[0].problem[0] && !heap.image.exhausted,
		   "%s is found in a program with many pointers: %s", cairn_walk_name((enum cairn_walk_kind)i), walk.heaps[0].problem);
		is_int(walk.sum.live, expected[i].live, "with all that is live");
		made_free(&heap, &walk);
	}
}

static void test_shares(void)
{
	struct cairn_walk walk;
	double share, sum = 0;
	int known = 0;
	made_jemalloc(&heap);
	made_walk(&heap, &walk);
	for (uint64_t i = 0; i < 200; i++) {
		known += cairn_walk_share(&walk, made_region[made_objects].start + 80 * i, 80, &share);
		sum += share;
	}
	is_int(known, 200, "objects of a slab are found");
	is_near(sum, 56 * 80, 1, "all objects of a slab together keep what is free in it");
	made_free(&heap, &walk);
}

/* The memory map is older than what is read by it: the top, and a chunk that a bin leads to, may lie where nothing was yet. */
static void test_growing(void)
{
	struct cairn_walk walk;
	uint64_t end = made_region[made_break].start + made_region[made_break].size, top = end + 0x40000, chunk = end + 0x1000;
	made_glibc(&heap);
	uint64_t old_top = made_region[made_break].start + 0x50 + 0x3a0 + 0x1000 + 0x20;
	made_put(&heap, made_main_arena + 96, top);
	made_put(&heap, made_main_arena + 112, chunk);
	made_put(&heap, made_main_arena + 120, chunk);
	made_put(&heap, old_top + 8, (end - old_top + 0x1000) | 1);
	ok(made_walk(&heap, &walk) && walk.heap_count == 1 && walk.heaps[0].is_read, "a heap that grows while it is read is found");
	is_int(walk.sum.live, expected[CAIRN_WALK_GLIBC].live, "what was there before is read");
	is_int(walk.sum.free, 0x1000, "and nothing else");
	made_free(&heap, &walk);
}

/* A thread's arena with a full heap of 2 MiB, and a small one that has just begun. */
static void test_second_heap(void)
{
	enum { header = 48, full = 2 << 20, begun = 0x21000 };
	struct cairn_walk walk;
	uint64_t older = made_region[made_objects].start, newer = made_region[made_records].start, arena = older + header,
		 first = arena + 2200, top = newer + header + 0x100;
	made_glibc(&heap);
	made_put(&heap, made_main_arena + 2160, arena);
	made_arena(&heap, arena, top, made_main_arena, full + begun);
	const struct {
		uint64_t at, before, size;
	} heaps[] = {{older, 0, full}, {newer, older, begun}};
	for (size_t i = 0; i < 2; i++) {
		made_put(&heap, heaps[i].at, arena);
		made_put(&heap, heaps[i].at + 8, heaps[i].before);
		made_put(&heap, heaps[i].at + 16, heaps[i].size);
		made_put(&heap, heaps[i].at + 24, heaps[i].size);
	}
	first = (first + 15) & ~(uint64_t)15;
	made_put(&heap, first + 8, (older + full - 32 - first) | 5);
	made_put(&heap, older + full - 32 + 8, 0x15);
	made_put(&heap, older + full - 16 + 8, 0x5);
	made_put(&heap, newer + header + 8, 0x105);
	made_put(&heap, top + 8, (newer + begun - top) | 5);
	ok(made_walk(&heap, &walk) && walk.heap_count == 1 && walk.heaps[0].arena_count == 2 && !walk.heaps[0].problem[0],
	   "an arena of two heaps: %s", walk.heaps[0].problem);
	is_int(walk.sum.live, expected[CAIRN_WALK_GLIBC].live + (older + full - 32 - first) + 0x100, "both are read");
	made_free(&heap, &walk);
}

/* Sums go into a dump, and come back. */
static void test_facts(void)
{
	struct cairn_walk walk, again;
	struct cairn_trailer trailer;
	struct cairn_buffer out = cairn_buffer(1 << 16);
	made_jemalloc(&heap);
	made_walk(&heap, &walk);
	snprintf(walk.heaps[0].variable, sizeof walk.heaps[0].variable, "_RJEM_MALLOC_CONF");
	cairn_trailer_write_first(&out);
	cairn_walk_write(&walk, &out);
	cairn_trailer_write_last(&out);
	ok(cairn_trailer_read(cairn_buffer_bytes(&out), &trailer) && cairn_walk_read(&again, &trailer) && again.heap_count == 1,
	   "a heap of a dump");
	is_int(again.sum.pinned, walk.sum.pinned, "its sums");
	is_text(again.heaps[0].version, walk.heaps[0].version, "its version");
	is_text(cairn_walk_variable(&again.heaps[0]), "_RJEM_MALLOC_CONF", "the variable that it reads");
	cairn_buffer_free(&out);
	made_free(&heap, &walk);
}

/* All of a huge page is zero: a slab of small objects of zeroes was written to, a large object may not have been. */
static void test_zeroes(void)
{
	enum { huge_size = 2 << 20, slab = 5 * made_page };
	struct cairn_walk walk;
	struct cairn_huge huge;
	uint64_t start = made_region[made_objects].start;
	made_jemalloc(&heap);
	made_touch(&heap, start, start + huge_size);
	made_walk(&heap, &walk);
	for (uint64_t at = start; at < start + huge_size; at += made_page)
		cairn_image_page(&heap.image, at)->flags |= CAIRN_PAGE_HUGE;
	cairn_huge_measure(&huge, &heap.image);
	is_int(huge.bytes, huge_size, "a huge page");
	is_near(huge.zero, huge_size - slab, 1, "zeroes in it but for those of small objects");
	made_free(&heap, &walk);
}

/* A limit is reached at any moment: then each heap that was found says that it is not whole. */
static void test_limit(void)
{
	unsigned whole = 0, parts = 0, silent = 0;
	for (int i = 0; i < CAIRN_WALK_KINDS; i++)
		for (uint64_t bytes = 0; bytes < 4 << 20; bytes += 16 << 10) {
			struct cairn_walk first, walk;
			made_makers[i](&heap);
			made_walk(&heap, &first);
			cairn_image_forget(&heap.image);
			heap.image.bytes_left = bytes;
			cairn_walk_image(&walk, &heap.image);
			whole += walk.heap_count && !heap.image.exhausted;
			parts += walk.heap_count && heap.image.exhausted;
			silent += walk.heap_count && heap.image.exhausted && !walk.heaps[0].problem[0];
			cairn_walk_free(&walk);
			made_free(&heap, &first);
		}
	ok(whole > 0 && parts > 0, "of walks with a limit, %u are whole and %u are not", whole, parts);
	is_int(silent, 0, "what is not whole says so");
}

/* Words are replaced by numbers, by pointers into the same memory, or by each other. */
static void test_lies(void)
{
	enum { rounds = 3000, words = 12 };
	uint64_t random = 42;
	unsigned wrong = 0, late = 0;
	for (unsigned round = 0; round < rounds; round++) {
		struct cairn_walk walk;
		made_makers[round % CAIRN_WALK_KINDS](&heap);
		for (unsigned i = 0; i < words; i++) {
			uint64_t numbers[4];
			for (unsigned k = 0; k < 4; k++)
				numbers[k] = (random = random * 6364136223846793005u + 1442695040888963407u) >> 20;
			unsigned r = (unsigned)numbers[0] % made_regions;
			/* Most of what is there lies at the beginnings. */
			uint64_t at = made_region[r].start + numbers[1] % (numbers[2] % 2 ? 0x3000 : made_region[r].size);
			uint64_t other = made_region[numbers[2] / 2 % made_regions].start + (numbers[3] % 0x2000) * 8;
			made_put(&heap, at,
				 numbers[3] % 3 == 0   ? other
				 : numbers[3] % 3 == 1 ? numbers[3] >> (numbers[2] % 40)
						       : UINT64_MAX << numbers[2] % 63);
		}
		made_walk(&heap, &walk);
		wrong += walk.sum.resident > heap.image.resident_bytes || walk.sum.resident_free > walk.sum.resident ||
			 walk.sum.returnable > walk.sum.resident || walk.sum.pinned + walk.sum.reserved > walk.sum.resident;
		late += walk.took_ns > 4 * (int64_t)1000000000;
		made_free(&heap, &walk);
	}
	is_int(wrong, 0, "of heaps that lie, sums stay within what is resident");
	is_int(late, 0, "and none takes long");
}

int main(void)
{
	test_made();
	test_regions();
	test_twice();
	test_mimalloc_map();
	test_tables();
	test_shares();
	test_zeroes();
	test_facts();
	test_growing();
	test_second_heap();
	test_limit();
	test_lies();
	return tap_done();
}
