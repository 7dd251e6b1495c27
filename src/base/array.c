/* array.c - growth by half again, so that a million appends copy little and waste little.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

void *cairn_array_reserve(void *items, size_t *capacity, size_t needed, size_t size)
{
	if (needed <= *capacity)
		return items;
	size_t grown = *capacity + *capacity / 2 + 16;
	if (grown < needed)
		grown = needed;
	size_t total;
	if (__builtin_mul_overflow(grown, size, &total))
		cairn_out_of_memory(SIZE_MAX);
	items = realloc(items, total);
	if (!items)
		cairn_out_of_memory(total);
	*capacity = grown;
	return items;
}

void *cairn_array_new(size_t count, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(count ? count : 1, size, &total))
		cairn_out_of_memory(SIZE_MAX);
	void *items = malloc(total);
	if (!items)
		cairn_out_of_memory(total);
	return items;
}

void *cairn_array_zero(size_t count, size_t size)
{
	void *items = calloc(count ? count : 1, size);
	if (!items)
		cairn_out_of_memory(count * size);
	return items;
}

uint32_t *cairn_array_none(size_t count)
{
	uint32_t *numbers = cairn_array_new(count, sizeof *numbers);
	memset(numbers, 0xff, count * sizeof *numbers);
	return numbers;
}
