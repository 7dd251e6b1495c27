/* block.c - laying out tables and stubs, and finding room for them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/block.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "live/inside/stop.h"
#include "process/proc.h"

#include <stdio.h>
#include <stdlib.h>

enum { page = 4096, alignment = 65536, stub_alignment = 64, block_most = 1 << 20 };

/* A block being made. */
struct maker {
	struct cairn_buffer *out;
	const struct cairn_plan *plan;
	const struct cairn_plan_allocator *allocator;
	const struct cairn_stub_world *world;
	uint64_t address;
	struct cairn_inside_function *functions; /* tables, copied to their places at the end */
	struct cairn_inside_word *words;
	size_t function_count, word_count, word_capacity;
};

static bool is_counted(const struct cairn_plan_function *function)
{
	return function->way == CAIRN_PLAN_ENTRY || function->way == CAIRN_PLAN_SLOTS;
}

static void pad(struct cairn_buffer *out, size_t to)
{
	while (!out->failed && out->length % to)
		cairn_buffer_byte(out, 0);
}

/* The word that will have LENGTH bytes of AFTER at ADDRESS. It lies on one page, so that it is written at once; no other has a byte of it. */
static bool add_word(struct maker *maker, uint64_t address, const void *after, size_t length, struct cairn_error *error)
{
	struct cairn_inside_word word = {.address = address};
	size_t over = address % page + sizeof word.after, at = over > page ? over - page : 0;
	if (at + length > sizeof word.after)
		return cairn_fail(error, "what has to change at %llx lies on two pages", (unsigned long long)address);
	word.address -= at;
	for (size_t i = 0; i < maker->word_count; i++)
		if (maker->words[i].address - word.address + sizeof word.after - 1 < 2 * sizeof word.after - 1)
			return cairn_fail(error, "what has to change at %llx is too near to something else that has to", (unsigned long long)address);
	if (cairn_plan_read(maker->plan, word.address, &word.before, sizeof word.before) != sizeof word.before)
		return cairn_fail(error, "the memory of process %d cannot be read", maker->plan->subject->pid);
	word.after = word.before;
	memcpy((char *)&word.after + at, after, length);
	cairn_array_room(maker->words, maker->word_count, maker->word_capacity);
	maker->words[maker->word_count++] = word;
	return true;
}

/* What leads to the stub at TO: a jump at the function's entry, or its slots. */
static bool lead(struct maker *maker, const struct cairn_plan_function *function, uint64_t to, struct cairn_error *error)
{
	const struct cairn_plan_allocator *allocator = maker->allocator;
	unsigned char jump[8];
	if (function->way == CAIRN_PLAN_ENTRY) {
		uint64_t from = function->address + function->move.at;
		size_t length = cairn_move_jump(from, to, jump);
		return length ? add_word(maker, from, jump, length, error) : cairn_fail(error, "its code is out of reach");
	}
	for (size_t i = 0; i < allocator->slot_count; i++)
		if (&allocator->functions[allocator->slots[i].function] == function &&
		    !add_word(maker, allocator->slots[i].address, &to, sizeof to, error))
			return false;
	return true;
}

static bool add_function(struct maker *maker, const struct cairn_plan_function *function, struct cairn_error *error)
{
	const struct cairn_signature signature = function->function->signature;
	struct cairn_stub stub;
	struct cairn_stub_arguments arguments = {signature.size, signature.count, signature.object};
	if (signature.call == CAIRN_CALL_PLACES) /* that is where the object is put */
		arguments.object = CAIRN_STUB_NONE;
	pad(maker->out, stub_alignment);
	uint64_t to = maker->address + maker->out->length;
	uint64_t description = maker->address + sizeof(struct cairn_inside_block) + maker->function_count * sizeof *maker->functions;
	if (!cairn_stub_write(&stub, maker->world, arguments, function->address, function->way == CAIRN_PLAN_ENTRY ? &function->move : NULL,
			      description, to))
		return cairn_fail(error, "its function %s is out of reach", function->function->name);
	cairn_buffer_append(maker->out, (const char *)stub.code, stub.length);
	maker->functions[maker->function_count++] = (struct cairn_inside_function){
		.function = function->address,
		.real = to + stub.real,
		.usable_size = maker->allocator->usable_size,
		.signature = signature,
		.null_allocates = function->null_to && is_counted(function->null_to),
	};
	return lead(maker, function, to, error);
}

/* First those that give back, then those that move, then those that allocate. */
static int order_of(const struct cairn_plan_function *function)
{
	switch (function->function->signature.call) {
	case CAIRN_CALL_RELEASES: return 0;
	case CAIRN_CALL_MOVES:
	case CAIRN_CALL_RESIZES: return 1;
	default: return 2;
	}
}

/* What is called of FUNCTION without counting it. */
static uint64_t real_of(const struct maker *maker, const struct cairn_plan_function *function)
{
	for (size_t i = 0; i < maker->function_count; i++)
		if (maker->functions[i].function == function->address)
			return maker->functions[i].real;
	return function->address;
}

static bool add_functions(struct maker *maker, struct cairn_error *error)
{
	const struct cairn_plan_allocator *allocator = maker->allocator;
	for (int order = 0; order < 3; order++)
		for (size_t i = 0; i < allocator->count; i++)
			if (is_counted(&allocator->functions[i]) && order_of(&allocator->functions[i]) == order &&
			    !add_function(maker, &allocator->functions[i], error))
				return false;
	for (size_t i = 0; i < allocator->count; i++)
		for (size_t k = 0; k < maker->function_count && allocator->functions[i].twin; k++)
			if (maker->functions[k].function == allocator->functions[i].address)
				maker->functions[k].twin = real_of(maker, allocator->functions[i].twin);
	return true;
}

static size_t count_functions(const struct cairn_plan_allocator *allocator)
{
	size_t count = 0;
	for (size_t i = 0; i < allocator->count; i++)
		count += is_counted(&allocator->functions[i]);
	return count;
}

/* The header and the functions, whose number is known, the stubs, and then the other tables. */
static bool make(struct maker *maker, struct cairn_error *error)
{
	struct cairn_buffer *out = maker->out;
	const struct cairn_plan_allocator *allocator = maker->allocator;
	struct cairn_arena arena = {0};
	struct cairn_inside_block header = {.magic = cairn_inside_magic, .version = CAIRN_INSIDE_VERSION,
					    .module = allocator->found->module->start};
	snprintf(header.text, sizeof header.text, "%s", cairn_allocator_describe(&arena, allocator->found));
	cairn_arena_free(&arena);
	size_t count = count_functions(allocator);
	maker->functions = cairn_array_zero(count, sizeof *maker->functions);
	cairn_buffer_append(out, (const char *)&header, sizeof header);
	cairn_buffer_append(out, (const char *)maker->functions, count * sizeof *maker->functions);
	if (!add_functions(maker, error))
		return false;
	header.functions.at = sizeof header;
	header.functions.count = (uint32_t)count;
	pad(out, sizeof(uint64_t));
	header.words.at = (uint32_t)out->length;
	header.words.count = (uint32_t)maker->word_count;
	cairn_buffer_append(out, (const char *)maker->words, maker->word_count * sizeof *maker->words);
	header.ranges.at = (uint32_t)out->length;
	header.ranges.count = (uint32_t)allocator->range_count;
	cairn_buffer_append(out, (const char *)allocator->ranges, allocator->range_count * sizeof *allocator->ranges);
	pad(out, page);
	header.size = (uint32_t)out->length;
	if (out->failed)
		return cairn_fail(error, "it has too many functions");
	memcpy(out->data, &header, sizeof header);
	memcpy(out->data + header.functions.at, maker->functions, count * sizeof *maker->functions);
	return true;
}

bool cairn_block_make(struct cairn_buffer *out, const struct cairn_plan *plan, const struct cairn_plan_allocator *allocator,
		      const struct cairn_stub_world *world, uint64_t address, struct cairn_error *error)
{
	struct maker maker = {.out = out, .plan = plan, .allocator = allocator, .world = world, .address = address};
	*out = cairn_buffer(block_most);
	bool made = make(&maker, error);
	free(maker.functions);
	free(maker.words);
	if (!made)
		cairn_buffer_free(out);
	return made;
}

/* Room. */

/* The highest place below BEFORE, and not below LOW, where SIZE bytes are free. */
static uint64_t place_below(struct cairn_bytes maps, uint64_t low, uint64_t before, uint64_t size)
{
	struct cairn_bytes line;
	struct cairn_proc_map map;
	uint64_t end = low, found = 0;
	bool more = true;
	while (more && end < before) {
		more = cairn_text_line(&maps, &line, NULL);
		bool is_map = more && cairn_proc_map_parse(line, &map);
		uint64_t start = is_map ? map.start : before, limit = start < before ? start : before;
		uint64_t at = limit >= size ? (limit - size) & ~(uint64_t)(alignment - 1) : 0;
		if ((is_map || !more) && at >= end && at >= low && at + size <= limit)
			found = at;
		if (is_map && map.limit > end)
			end = map.limit;
	}
	return found;
}

/* The lowest above AFTER. */
static uint64_t place_above(struct cairn_bytes maps, uint64_t after, uint64_t size)
{
	struct cairn_bytes line;
	struct cairn_proc_map map;
	uint64_t at = (after + alignment - 1) & ~(uint64_t)(alignment - 1);
	while (cairn_text_line(&maps, &line, NULL))
		if (cairn_proc_map_parse(line, &map) && map.limit > at && map.start < at + size)
			at = (map.limit + alignment - 1) & ~(uint64_t)(alignment - 1);
	return at;
}

uint64_t cairn_block_place(const struct cairn_subject *subject, const struct cairn_subject_module *module, uint64_t size, size_t n)
{
	enum { below_most = 8 };
	char path[CAIRN_PROC_PATH];
	struct cairn_file maps;
	uint64_t low = module->end > cairn_move_reach + alignment ? module->end - cairn_move_reach : alignment, place = module->start;
	if (n > below_most || !cairn_file_read(&maps, cairn_proc_path(path, subject->pid, "maps"), NULL))
		return 0;
	for (size_t i = 0; i <= n && place && n < below_most; i++)
		place = place_below(maps.bytes, low, place, size);
	if (n == below_most)
		place = module->kind != CAIRN_SUBJECT_PROGRAM ? place_above(maps.bytes, module->end, size) : 0;
	cairn_file_close(&maps);
	return place;
}

static int by_start(const void *left, const void *right)
{
	const struct cairn_stop_place *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

struct cairn_stop_place *cairn_block_places(const struct cairn_plan_allocator *allocator, size_t *count)
{
	struct cairn_stop_place *places = cairn_array_new(allocator->count, sizeof *places);
	*count = 0;
	for (size_t i = 0; i < allocator->count; i++) {
		const struct cairn_plan_function *function = &allocator->functions[i];
		uint64_t start = function->address + function->move.at;
		if (function->way == CAIRN_PLAN_ENTRY && !function->move.single)
			places[(*count)++] = (struct cairn_stop_place){start, start + function->move.taken};
	}
	if (*count)
		qsort(places, *count, sizeof *places, by_start);
	return places;
}

static const struct cairn_inside_block *read_header(struct cairn_bytes block)
{
	const struct cairn_inside_block *header = (const void *)block.data;
	bool good = block.length >= sizeof *header && header->magic == cairn_inside_magic && header->version == CAIRN_INSIDE_VERSION &&
		    header->size <= block.length && header->words.at % 8 == 0 && header->words.at <= header->size &&
		    header->words.count <= (header->size - header->words.at) / sizeof(struct cairn_inside_word);
	return good ? header : NULL;
}

const struct cairn_inside_word *cairn_block_words(struct cairn_bytes block, size_t *count)
{
	const struct cairn_inside_block *header = read_header(block);
	*count = header ? header->words.count : 0;
	return header ? (const void *)(block.data + header->words.at) : NULL;
}
