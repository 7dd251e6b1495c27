/* array.h - grows a plain C array: its owner keeps pointer, count and capacity.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_ARRAY_H
#define CAIRN_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* Makes room for NEEDED elements of SIZE bytes in ITEMS, which has room for *CAPACITY, and returns their new place. New room is not
 * cleared. ITEMS is NULL or came from here; free() it. Never NULL unless NEEDED is 0. */
void *cairn_array_reserve(void *items, size_t *capacity, size_t needed, size_t size);

/* COUNT elements of SIZE bytes; the second function clears them. free() them. Never NULL, even if COUNT is 0. */
void *cairn_array_new(size_t count, size_t size);
void *cairn_array_zero(size_t count, size_t size);

/* COUNT numbers, all set to CAIRN_NONE (base/hash.h). free() them. */
uint32_t *cairn_array_none(size_t count);

/* Makes room in ARRAY for one more element than COUNT; has no value. For `struct thing *array; size_t count, capacity`. */
#define cairn_array_room(array, count, capacity)                                                                       \
	((array) = cairn_array_reserve((array), &(capacity), (size_t)(count) + 1, sizeof *(array)))

#endif
