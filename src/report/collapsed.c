/* collapsed.c - folded text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/collapsed.h"

#include "base/array.h"

#include <stdlib.h>

/* Stacks of entries, each kept once. */
struct folded {
	uint32_t *entries;
	size_t entry_count, entry_capacity;
	struct line {
		size_t first;
		size_t depth;
		double value;
		double base;
	} *lines;
	size_t count, capacity;
	struct cairn_index index;
};

static struct line *find_line(struct folded *folded, const uint32_t *stack, size_t depth)
{
	uint64_t hash = cairn_hash_bytes(stack, depth * sizeof *stack);
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&folded->index, hash, &position)) != CAIRN_NONE) {
		struct line *line = &folded->lines[id];
		if (line->depth == depth && (depth == 0 || memcmp(folded->entries + line->first, stack, depth * sizeof *stack) == 0))
			return line;
	}
	folded->entries = cairn_array_reserve(folded->entries, &folded->entry_capacity, folded->entry_count + depth, sizeof *stack);
	if (depth)
		memcpy(folded->entries + folded->entry_count, stack, depth * sizeof *stack);
	cairn_array_room(folded->lines, folded->count, folded->capacity);
	struct line *line = &folded->lines[folded->count];
	*line = (struct line){folded->entry_count, depth, 0, 0};
	cairn_index_add(&folded->index, hash, (uint32_t)folded->count++);
	folded->entry_count += depth;
	return line;
}

/* Each name once, as it may stand in a line. */
static struct cairn_bytes *clean_names(const struct cairn_view *view, struct cairn_arena *arena)
{
	struct cairn_bytes *names = cairn_arena_zero(arena, view->entry_count + 1, sizeof *names);
	for (uint32_t e = 0; e < view->entry_count; e++) {
		names[e] = cairn_view_name(view, e);
		if (names[e].length == 0)
			names[e] = cairn_bytes_of("??");
		if (!memchr(names[e].data, ';', names[e].length) && !memchr(names[e].data, '\n', names[e].length))
			continue;
		char *copy = cairn_arena_text(arena, names[e]);
		for (size_t i = 0; i < names[e].length; i++)
			copy[i] = copy[i] == ';' ? ':' : copy[i] == '\n' ? ' ' : copy[i];
		names[e].data = copy;
	}
	return names;
}

/* The numbers of LINE. Returns how many there are; 0 when all are 0. */
static int line_numbers(const struct line *line, enum cairn_collapsed_columns columns, int64_t numbers[2])
{
	if (columns == CAIRN_COLLAPSED_VALUE) {
		numbers[0] = (int64_t)line->value;
		return numbers[0] != 0;
	}
	numbers[0] = (int64_t)line->base;
	/* What was added and subtracted again may be off by the last digit. */
	numbers[1] = (int64_t)(line->value + line->base + 1e-6);
	return numbers[0] || numbers[1] ? 2 : 0;
}

void cairn_collapsed_text(struct cairn_view *view, enum cairn_collapsed_columns columns, struct cairn_buffer *out)
{
	struct folded folded = {0};
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		struct line *line = find_line(&folded, stack, depth);
		line->value += cairn_view_value(view, i);
		line->base += cairn_view_base(view, i);
	}
	struct cairn_arena arena = {0};
	struct cairn_bytes *names = clean_names(view, &arena);
	for (size_t i = 0; i < folded.count; i++) {
		const struct line *line = &folded.lines[i];
		int64_t numbers[2];
		int count = line_numbers(line, columns, numbers);
		if (count == 0)
			continue;
		for (size_t d = line->depth; d-- > 0;) {
			struct cairn_bytes name = names[folded.entries[line->first + d]];
			char *room = cairn_buffer_room(out, name.length + 1);
			if (!room)
				break;
			memcpy(room, name.data, name.length);
			room[name.length] = d ? ';' : ' ';
			out->length += name.length + 1;
		}
		if (line->depth == 0)
			cairn_buffer_text(out, "[no stack] ");
		cairn_buffer_number(out, numbers[0]);
		if (count == 2) {
			cairn_buffer_byte(out, ' ');
			cairn_buffer_number(out, numbers[1]);
		}
		cairn_buffer_byte(out, '\n');
	}
	cairn_arena_free(&arena);
	free(folded.entries);
	free(folded.lines);
	cairn_index_free(&folded.index);
}
