/* plugin.c - two plugins from one source that differ in nothing but the room a frame takes: FRAME is a multiple of 4096, so that code
 * and tables have the same sizes, and the tables begin alike.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

void *volatile kept[64];
static int count;

__attribute__((noinline)) void *NAME(size_t size)
{
	volatile char room[FRAME];
	room[0] = room[FRAME - 1] = (char)size;
	void *object = malloc(size);
	kept[count++ % 64] = object;
	room[1] = 2;
	return object;
}

void *plugin_run(size_t size)
{
	volatile char room[FRAME];
	room[0] = room[FRAME - 1] = 1;
	void *object = NAME(size);
	room[1] = 2;
	return object;
}
