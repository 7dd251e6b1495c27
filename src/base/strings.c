/* strings.c - interning.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/strings.h"

#include "base/array.h"

#include <stdlib.h>

static uint32_t find(const struct cairn_strings *strings, struct cairn_bytes text, uint64_t hash)
{
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&strings->index, hash, &position)) != CAIRN_NONE)
		if (cairn_bytes_equal(strings->items[id - 1], text))
			return id;
	return CAIRN_NONE;
}

uint32_t cairn_strings_add(struct cairn_strings *strings, struct cairn_bytes text)
{
	if (text.length == 0)
		return 0;
	uint64_t hash = cairn_hash_bytes(text.data, text.length);
	uint32_t id = find(strings, text, hash);
	if (id != CAIRN_NONE)
		return id;
	cairn_array_room(strings->items, strings->count, strings->capacity);
	strings->items[strings->count++] = cairn_arena_keep(&strings->arena, text);
	id = (uint32_t)strings->count;
	cairn_index_add(&strings->index, hash, id);
	return id;
}

uint32_t cairn_strings_add_text(struct cairn_strings *strings, const char *text)
{
	return cairn_strings_add(strings, cairn_bytes_of(text));
}

uint32_t cairn_strings_find(const struct cairn_strings *strings, struct cairn_bytes text)
{
	if (text.length == 0)
		return 0;
	return find(strings, text, cairn_hash_bytes(text.data, text.length));
}

void cairn_strings_free(struct cairn_strings *strings)
{
	cairn_arena_free(&strings->arena);
	cairn_index_free(&strings->index);
	free(strings->items);
	*strings = (struct cairn_strings){0};
}
