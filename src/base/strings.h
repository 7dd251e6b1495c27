/* strings.h - a table of strings, each kept once and known by a small number, so that equality is identity.
 *
 * Number 0 is always the empty string. Strings may hold any bytes; they are terminated for convenience.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_STRINGS_H
#define CAIRN_BASE_STRINGS_H

#include "base/arena.h"
#include "base/hash.h"

#include <assert.h>

/* All zeroes is a table that holds the empty string only. */
struct cairn_strings {
	struct cairn_arena arena;
	struct cairn_index index;
	struct cairn_bytes *items; /* items[id - 1] */
	size_t count;              /* without the empty string */
	size_t capacity;
};

/* The number of TEXT, which is copied when it is new. */
uint32_t cairn_strings_add(struct cairn_strings *strings, struct cairn_bytes text);
uint32_t cairn_strings_add_text(struct cairn_strings *strings, const char *text);

/* The number of TEXT, or CAIRN_NONE when it is not in the table. */
uint32_t cairn_strings_find(const struct cairn_strings *strings, struct cairn_bytes text);

/* The string of that number, terminated. Borrowed: lives as long as the table. */
static inline struct cairn_bytes cairn_strings_bytes(const struct cairn_strings *strings, uint32_t id)
{
	assert(id <= strings->count);
	return id ? strings->items[id - 1] : (struct cairn_bytes){"", 0};
}

static inline const char *cairn_strings_text(const struct cairn_strings *strings, uint32_t id)
{
	return cairn_strings_bytes(strings, id).data;
}

void cairn_strings_free(struct cairn_strings *strings);

#endif
