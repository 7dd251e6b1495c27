/* sort.c - heap sort.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include <string.h>

static void swap(char *a, char *b, size_t size)
{
	char piece[64];
	while (size > 0) {
		size_t part = size < sizeof piece ? size : sizeof piece;
		memcpy(piece, a, part);
		memcpy(a, b, part);
		memcpy(b, piece, part);
		a += part;
		b += part;
		size -= part;
	}
}

/* Lets the item at ROOT sink until no child is larger. */
static void sink(char *items, size_t root, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
	for (size_t child; (child = 2 * root + 1) < count; root = child) {
		if (child + 1 < count && compare(items + child * size, items + (child + 1) * size) < 0)
			child++;
		if (compare(items + root * size, items + child * size) >= 0)
			return;
		swap(items + root * size, items + child * size, size);
	}
}

void cairn_sort(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
	for (size_t root = count / 2; root-- > 0;)
		sink(items, root, count, size, compare);
	for (size_t last = count; last-- > 1;) {
		swap(items, (char *)items + last * size, size);
		sink(items, 0, last, size, compare);
	}
}
