/* inside-library.c - a library with an allocator of its own, by mimalloc's names, that gives nothing back: it can be unloaded and loaded again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>
static char room[64 << 20];
static size_t used;

void *mi_malloc(size_t size)
{
	void *object = room + used;
	used += (size + 31) & ~(size_t)31;
	return used < sizeof room ? object : NULL;
}

void *mi_calloc(size_t count, size_t size)
{
	return mi_malloc(count * size);
}

void *mi_realloc(void *object, size_t size)
{
	void *moved = mi_malloc(size);
	return object && moved ? memcpy(moved, object, size) : moved;
}

void mi_free(void *object)
{
	if (object)
		memset(object, 1, 8);
}

void hold_inside(void)
{
	for (int i = 0; i < 8192; i++)
		memset(mi_malloc(1024), 1, 1024);
}
