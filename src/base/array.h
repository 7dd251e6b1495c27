/* array.h - growing a plain C array: pointer, count and capacity kept by whoever owns it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_ARRAY_H
#define CAIRN_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Makes room for NEEDED elements of SIZE bytes in ITEMS, which holds *CAPACITY of them, and returns where they are now.
 * New room is not cleared. ITEMS is NULL or came from here; free() it. Never NULL while NEEDED is not 0. */
void *cairn_array_reserve(void *items, size_t *capacity, size_t needed, size_t size);

/* COUNT elements of SIZE bytes, cleared by the second and not by the first. free() them. Never NULL, not even for none. */
void *cairn_array_new(size_t count, size_t size);
void *cairn_array_zero(size_t count, size_t size);

/* COUNT numbers, each of them CAIRN_NONE (base/hash.h). free() it. */
uint32_t *cairn_array_none(size_t count);

/* Room in ARRAY for one element more than COUNT; yields nothing. For `struct thing *array; size_t count, capacity`. */
#define cairn_array_room(array, count, capacity)                                                                       \
	((array) = cairn_array_reserve((array), &(capacity), (size_t)(count) + 1, sizeof *(array)))

#endif
