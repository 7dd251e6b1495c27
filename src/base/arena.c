/* arena.c - a chain of blocks, each twice the last up to a limit; large requests get a block of their own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/error.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { first_block = 4096, largest_block = 1 << 20, alignment = alignof(max_align_t) };

struct cairn_arena_block {
	struct cairn_arena_block *older;
	size_t size;
	alignas(max_align_t) char data[];
};

static char *add_block(struct cairn_arena *arena, size_t size)
{
	struct cairn_arena_block *block = malloc(sizeof *block + size);
	if (!block)
		cairn_out_of_memory(size);
	block->older = arena->blocks;
	block->size = size;
	arena->blocks = block;
	return block->data;
}

void *cairn_arena_alloc(struct cairn_arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		cairn_out_of_memory(size);
	size += size == 0; /* nothing has an address too */
	size = (size + alignment - 1) & ~(size_t)(alignment - 1);
	arena->total_bytes += size;
	if (size > arena->left) {
		if (size >= largest_block / 4)
			return add_block(arena, size);
		size_t next = arena->blocks ? arena->blocks->size * 2 : first_block;
		if (next > largest_block)
			next = largest_block;
		if (next < size)
			next = size;
		arena->next = add_block(arena, next);
		arena->left = next;
	}
	void *result = arena->next;
	arena->next += size;
	arena->left -= size;
	return result;
}

void *cairn_arena_zero(struct cairn_arena *arena, size_t count, size_t size)
{
	size_t product;
	if (__builtin_mul_overflow(count, size, &product))
		cairn_out_of_memory(SIZE_MAX);
	return memset(cairn_arena_alloc(arena, product), 0, product);
}

char *cairn_arena_text(struct cairn_arena *arena, struct cairn_bytes bytes)
{
	char *text = cairn_arena_alloc(arena, bytes.length + 1);
	if (bytes.length)
		memcpy(text, bytes.data, bytes.length);
	text[bytes.length] = '\0';
	return text;
}

struct cairn_bytes cairn_arena_keep(struct cairn_arena *arena, struct cairn_bytes bytes)
{
	return (struct cairn_bytes){cairn_arena_text(arena, bytes), bytes.length};
}

char *cairn_arena_format(struct cairn_arena *arena, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0)
		length = 0;
	char *text = cairn_arena_alloc(arena, (size_t)length + 1);
	va_start(arguments, format);
	vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return text;
}

void cairn_arena_free(struct cairn_arena *arena)
{
	while (arena->blocks) {
		struct cairn_arena_block *block = arena->blocks;
		arena->blocks = block->older;
		free(block);
	}
	*arena = (struct cairn_arena){0};
}
