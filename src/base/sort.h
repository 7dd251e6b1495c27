/* sort.h - sorting in place without memory, for code that may not allocate (libc's qsort may).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_SORT_H
#define CAIRN_BASE_SORT_H

#include <stddef.h>

/* Puts COUNT items of SIZE bytes into the order of COMPARE (negative, zero, positive as for qsort). Not stable. */
void cairn_sort(void *items, size_t count, size_t size, int (*compare)(const void *a, const void *b));

#endif
