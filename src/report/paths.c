/* paths.c - stores each call path once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/paths.h"

#include "base/array.h"

#include <stdlib.h>

uint32_t cairn_paths_add(struct cairn_paths *paths, const uint32_t *stack, size_t depth)
{
	uint64_t hash = cairn_hash_bytes(stack, depth * sizeof *stack);
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&paths->index, hash, &position)) != CAIRN_NONE) {
		const struct cairn_path *path = &paths->items[id];
		if (path->depth == depth && (depth == 0 || memcmp(paths->entries + path->first, stack, depth * sizeof *stack) == 0))
			return id;
	}
	paths->entries = cairn_array_reserve(paths->entries, &paths->entry_capacity, paths->entry_count + depth, sizeof *stack);
	if (depth)
		memcpy(paths->entries + paths->entry_count, stack, depth * sizeof *stack);
	cairn_array_room(paths->items, paths->count, paths->capacity);
	id = (uint32_t)paths->count++;
	paths->items[id] = (struct cairn_path){paths->entry_count, depth};
	paths->entry_count += depth;
	cairn_index_add(&paths->index, hash, id);
	return id;
}

void cairn_paths_free(struct cairn_paths *paths)
{
	free(paths->entries);
	free(paths->items);
	cairn_index_free(&paths->index);
	*paths = (struct cairn_paths){0};
}
