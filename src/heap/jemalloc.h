/* jemalloc.h - the reader of jemalloc 5.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_JEMALLOC_H
#define CAIRN_HEAP_JEMALLOC_H

#include "heap/walk.h"

/* Reads all of jemalloc in the image into WALK, a heap for each copy of it. */
void cairn_jemalloc_read(struct cairn_walk *walk);

#endif
