/* walk_facts.c - the sums of a walk as lines of a trailer: one for each heap, with the name, the version, numbers in a fixed
 * order, and the variable that jemalloc reads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "dump/trailer_write.h"
#include "heap/walk.h"

#include <stdio.h>

static const char key[] = "walk";

/* Calls VISIT for all numbers, in the order of the line. Readers skip those that they do not know, at the end. */
static void visit(struct cairn_walk_heap *heap, void (*visit_number)(void *context, uint64_t *number), void *context)
{
	struct cairn_walk_sum *sums[] = {&heap->sum, &heap->others};
	uint64_t arenas = heap->arena_count, flags = (uint64_t)heap->is_read | (uint64_t)heap->settings.known << 1 |
						     (uint64_t)heap->settings.fixed_thresholds << 2;
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		for (size_t k = 0; k < sizeof *sums[i] / sizeof(uint64_t); k++)
			visit_number(context, (uint64_t *)sums[i] + k);
	uint64_t *const numbers[] = {&arenas,
				     &flags,
				     &heap->settings.mmap_threshold,
				     &heap->settings.trim_threshold,
				     &heap->settings.top_pad,
				     &heap->settings.arena_max,
				     &heap->settings.huge_page,
				     &heap->settings.mmapped,
				     &heap->settings.mmapped_objects,
				     &heap->large_free,
				     &heap->difference,
				     &heap->skipped,
				     &heap->doubtful};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		visit_number(context, numbers[i]);
	heap->arena_count = (size_t)arenas;
	heap->is_read = flags & 1;
	heap->settings.known = flags & 2;
	heap->settings.fixed_thresholds = flags & 4;
}

static void write_number(void *context, uint64_t *number)
{
	struct cairn_buffer *out = context;
	cairn_buffer_byte(out, ' ');
	cairn_buffer_number(out, (int64_t)(*number & INT64_MAX));
}

void cairn_walk_write(const struct cairn_walk *walk, struct cairn_buffer *out)
{
	for (size_t i = 0; i < walk->heap_count; i++) {
		struct cairn_walk_heap heap = walk->heaps[i];
		struct cairn_buffer line = cairn_buffer(4096);
		cairn_buffer_format(&line, "%s ", cairn_walk_name(heap.kind));
		for (const char *at = heap.version; *at; at++)
			cairn_buffer_byte(&line, *at == ' ' ? '_' : *at);
		if (!heap.version[0])
			cairn_buffer_byte(&line, '-');
		visit(&heap, write_number, &line);
		if (heap.variable[0])
			cairn_buffer_format(&line, " %s", heap.variable);
		cairn_buffer_byte(&line, 0);
		if (!line.failed)
			cairn_trailer_write_text(out, key, line.data);
		cairn_buffer_free(&line);
	}
}

static void read_number(void *context, uint64_t *number)
{
	struct cairn_bytes *rest = context;
	cairn_text_skip_blanks(rest);
	if (!cairn_text_decimal(rest, number) || *number > INT64_MAX)
		*number = 0;
}

bool cairn_walk_read(struct cairn_walk *walk, const struct cairn_trailer *trailer)
{
	struct cairn_bytes value;
	*walk = (struct cairn_walk){0};
	for (size_t position = 0; walk->heap_count < CAIRN_WALK_HEAPS && cairn_trailer_next(trailer, &position, key, &value);) {
		struct cairn_walk_heap *heap = &walk->heaps[walk->heap_count];
		struct cairn_bytes name = cairn_text_word(&value), version = cairn_text_word(&value);
		*heap = (struct cairn_walk_heap){.kind = CAIRN_WALK_KINDS, .module = ""};
		for (int i = 0; i < CAIRN_WALK_KINDS; i++)
			if (cairn_bytes_equal(name, cairn_bytes_of(cairn_walk_name((enum cairn_walk_kind)i))))
				heap->kind = (enum cairn_walk_kind)i;
		if (heap->kind == CAIRN_WALK_KINDS)
			continue;
		if (!cairn_bytes_equal(version, cairn_bytes_of("-")))
			snprintf(heap->version, sizeof heap->version, "%.*s", (int)(version.length < 39 ? version.length : 39),
				 version.data);
		for (char *at = heap->version; *at; at++)
			*at = *at == '_' ? ' ' : *at;
		visit(heap, read_number, &value);
		cairn_text_skip_blanks(&value);
		struct cairn_bytes variable = cairn_text_word(&value);
		if (variable.length < sizeof heap->variable)
			memcpy(heap->variable, variable.data, variable.length);
		cairn_walk_add(&walk->sum, &heap->sum);
		walk->heap_count++;
	}
	return walk->heap_count > 0;
}
