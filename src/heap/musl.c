/* musl.c - finds the groups of musl's malloc (mallocng) through its areas of records.
 *
 * An area is a page that begins with a secret: the second half of the random bytes that the kernel gave the process. The variable that has
 * the secret as well leads to the first area, and each to the next. A record describes a *group*: 1 to 32 slots of one size, of which two
 * masks say which are free. A group is unmapped when its last slot is freed, and nothing is returned before that: so it is a unit (walk.h).
 * A slot may hold a smaller group; such slots are no objects. SPDX-License-Identifier: Apache-2.0 */
#include "heap/musl.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sort.h"
#include "heap/tally.h"

#include <stdio.h>
#include <stdlib.h>

enum { unit = 16, group_header = 16, area_slots = 24, record_size = 40, areas_most = 1 << 18, context_words = 32, data_most = 16 << 20 };

static const uint16_t classes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 20, 25, 31,
				   36, 42, 50, 63, 72, 84, 102, 127, 146, 170, 204, 255, 292, 340, 409, 511,
				   584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191};

struct group {
	uint64_t start, end, stride;
	uint32_t used;  /* slots that are not free, a bit each */
	uint32_t outer; /* the group that it lies in; CAIRN_NONE */
	uint64_t live, bytes; /* of an outer group, with those inside */
};

struct reader {
	struct cairn_image *image;
	struct group *groups;
	size_t count, capacity;
	struct cairn_walk_heap heap;
	struct cairn_tally tally;
};

static void add_group(struct reader *reader, const unsigned char *record, uint64_t address)
{
	uint64_t words[5], memory, back, bits;
	memcpy(words, record, sizeof words);
	memory = words[2];
	bits = words[4];
	unsigned slots = (unsigned)(bits & 31) + 1, class = (unsigned)(bits >> 6 & 63);
	uint64_t pages = bits >> 12, stride;
	uint32_t free = (uint32_t)words[3] | (uint32_t)(words[3] >> 32);
	if (!memory)
		return;
	if (memory % unit || !cairn_image_word(reader->image, memory, &back) || back != address || pages > (uint64_t)1 << 36)
		goto skip;
	if (class < sizeof classes / sizeof *classes)
		stride = unit * (uint64_t)classes[class];
	else if (slots == 1 && pages)
		stride = pages * 4096 - group_header;
	else
		goto skip;
	if (pages && slots == 1)
		stride = pages * 4096 - group_header;
	struct group group = {.start = memory, .end = memory + (pages ? pages * 4096 : group_header + slots * stride), .stride = stride,
			      .used = (uint32_t)((((uint64_t)1 << slots) - 1) & ~(uint64_t)free), .outer = CAIRN_NONE};
	if (group.end <= group.start || (group.end - group.start - group_header) / stride < slots)
		goto skip;
	cairn_array_room(reader->groups, reader->count, reader->capacity);
	reader->groups[reader->count++] = group;
	return;
skip:
	reader->heap.skipped += memory ? 4096 : 0;
}

static void read_areas(struct reader *reader, uint64_t area, uint64_t secret)
{
	unsigned char page[4096];
	uint64_t words[3];
	for (unsigned count = 0; area && count < areas_most && !cairn_image_is_late(reader->image); count++) {
		if (area % sizeof page || !cairn_image_read(reader->image, area, page, sizeof page))
			return;
		memcpy(words, page, sizeof words);
		unsigned slots = (unsigned)words[2];
		if (words[0] != secret)
			return;
		cairn_tally_records(&reader->tally, area, area + 1, &reader->heap.sum);
		for (unsigned i = 0; i < slots && area_slots + (i + 1) * record_size <= sizeof page; i++)
			add_group(reader, page + area_slots + i * record_size, area + area_slots + i * record_size);
		area = words[1];
	}
}

/* By address; of two that begin together the one that contains the other first. */
static int compare(const void *a, const void *b)
{
	const struct group *one = a, *other = b;
	return one->start != other->start ? (one->start < other->start ? -1 : 1) : one->end > other->end ? -1 : one->end < other->end;
}

/* Finds out which groups lie in others, and adds them up there. */
static void nest(struct reader *reader)
{
	enum { depth_most = 64 };
	size_t stack[depth_most], depth = 0;
	cairn_sort(reader->groups, reader->count, sizeof *reader->groups, compare);
	for (size_t i = 0; i < reader->count; i++) {
		struct group *group = &reader->groups[i];
		while (depth && reader->groups[stack[depth - 1]].end <= group->start)
			depth--;
		group->live = (uint64_t)__builtin_popcount(group->used);
		group->bytes = group->live * group->stride;
		if (depth && group->end <= reader->groups[stack[depth - 1]].end) {
			struct group *outer = &reader->groups[stack[depth - 1]], *whole = &reader->groups[stack[0]];
			group->outer = (uint32_t)stack[0];
			whole->live += group->live; /* but for the slot that it lies in */
			whole->live -= whole->live > 0;
			whole->bytes += group->bytes;
			whole->bytes -= outer->stride < whole->bytes ? outer->stride : whole->bytes;
		}
		if (depth < depth_most)
			stack[depth++] = i;
	}
}

static void count_groups(struct reader *reader)
{
	uint64_t page = reader->tally.page_size;
	struct cairn_walk_sum *sum = &reader->heap.sum;
	for (size_t i = 0; i < reader->count; i++) {
		const struct group *group = &reader->groups[i];
		uint64_t bytes = group->bytes < group->end - group->start ? group->bytes : group->end - group->start;
		if (group->outer != CAIRN_NONE)
			continue;
		sum->live += bytes;
		sum->live_objects += group->live;
		sum->free += group->end - group->start - bytes;
		if (group->start % page == 0 && group->end % page == 0) {
			cairn_tally_unit(&reader->tally, group->start, group->end, bytes, group->live, 0);
		} else { /* in memory that the program or the loader had left over */
			cairn_tally_object(&reader->tally, group->start, group->start + bytes, false);
			cairn_tally_free(&reader->tally, group->start + bytes, group->end);
		}
		cairn_tally_sum(reader->image, group->start, group->end, sum);
	}
}

/* The area that a variable beside the secret at ADDRESS leads to; 0 if none does. */
static uint64_t first_area(struct cairn_image *image, uint64_t address, uint64_t secret)
{
	uint64_t words[context_words], check;
	for (size_t length = sizeof words; length > 64; length /= 2)
		if (cairn_image_read(image, address, words, length)) {
			for (size_t i = 1; i < length / 8; i++)
				if (words[i] && words[i] % 4096 == 0 && cairn_image_word(image, words[i], &check) && check == secret)
					return words[i];
			break;
		}
	return 0;
}

void cairn_musl_read(struct cairn_walk *walk)
{
	struct cairn_image *image = walk->image;
	uint64_t secret, word, area = 0;
	struct reader reader = {.image = image, .tally = cairn_tally(image),
				.heap = {.kind = CAIRN_WALK_MUSL, .version = "1.2.1 and later", .module = "", .is_read = true}};
	if (!image->has_random)
		return;
	memcpy(&secret, image->random + 8, sizeof secret);
	for (size_t i = 0; i < image->region_count && !area; i++) {
		const struct cairn_image_region *region = &image->regions[i];
		const struct cairn_image_run *run;
		if (region->kind != CAIRN_IMAGE_DATA)
			continue;
		for (uint64_t at = region->start; at < region->end && at - region->start < data_most && !area &&
						  (run = cairn_image_run(image, at)) && run->start < region->end;) {
			at = run->start > at ? run->start : at;
			if (cairn_image_word(image, at, &word) && word == secret && (area = first_area(image, at, secret)) &&
			    region->module != CAIRN_NONE)
				reader.heap.module = image->modules[region->module].path;
			at += 8;
		}
	}
	if (!area)
		return;
	read_areas(&reader, area, secret);
	if (reader.count) {
		nest(&reader);
		count_groups(&reader);
		cairn_walk_add_heap(walk, &reader.heap);
	}
	free(reader.groups);
}
