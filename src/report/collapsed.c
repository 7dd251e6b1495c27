/* collapsed.c - writes folded text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/collapsed.h"

#include "base/array.h"
#include "base/whole.h"
#include "report/paths.h"

#include <stdlib.h>

/* Each name once, in a form that is valid in a line. */
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

/* The sum of all samples of one path. */
struct sum {
	double value, base;
};

/* Fills in the numbers of a line; REST is what rounding those before it left. Returns how many there are; 0 if all are 0. */
static int line_numbers(const struct sum *sum, enum cairn_collapsed_columns columns, double *rest, int64_t numbers[2])
{
	if (columns != CAIRN_COLLAPSED_BEFORE_AFTER) {
		numbers[0] = columns == CAIRN_COLLAPSED_CUT ? cairn_whole(sum->value) : cairn_whole_carry(sum->value, rest);
		return numbers[0] != 0;
	}
	/* As difffolded.pl has them. A base that was subtracted and added again may be off in the last digit. */
	numbers[0] = cairn_whole(sum->base);
	numbers[1] = cairn_whole(sum->value + sum->base + 1e-6);
	return numbers[0] || numbers[1] ? 2 : 0;
}

static void write_names(const struct cairn_paths *paths, const struct cairn_path *path, const struct cairn_bytes *names,
			struct cairn_buffer *out)
{
	for (size_t d = path->depth; d-- > 0;) {
		struct cairn_bytes name = names[paths->entries[path->first + d]];
		char *room = cairn_buffer_room(out, name.length + 1);
		if (!room)
			return;
		memcpy(room, name.data, name.length);
		room[name.length] = d ? ';' : ' ';
		out->length += name.length + 1;
	}
	if (path->depth == 0)
		cairn_buffer_text(out, "[no stack] ");
}

void cairn_collapsed_text(struct cairn_view *view, enum cairn_collapsed_columns columns, struct cairn_buffer *out)
{
	struct cairn_paths paths = {0};
	struct sum *sums = cairn_array_new(view->sample_count + 1, sizeof *sums);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth, known = paths.count;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		struct sum *sum = &sums[cairn_paths_add(&paths, stack, depth)];
		if (paths.count > known)
			*sum = (struct sum){0, 0};
		sum->value += cairn_view_value(view, i);
		sum->base += cairn_view_base(view, i);
	}
	struct cairn_arena arena = {0};
	struct cairn_bytes *names = clean_names(view, &arena);
	double rest = 0;
	for (size_t i = 0; i < paths.count; i++) {
		int64_t numbers[2];
		int count = line_numbers(&sums[i], columns, &rest, numbers);
		if (count == 0)
			continue;
		write_names(&paths, &paths.items[i], names, out);
		cairn_buffer_number(out, numbers[0]);
		if (count == 2) {
			cairn_buffer_byte(out, ' ');
			cairn_buffer_number(out, numbers[1]);
		}
		cairn_buffer_byte(out, '\n');
	}
	cairn_arena_free(&arena);
	cairn_paths_free(&paths);
	free(sums);
}
