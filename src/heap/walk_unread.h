/* walk_unread.h - allocators whose heaps could not be read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_WALK_UNREAD_H
#define CAIRN_HEAP_WALK_UNREAD_H

#include "heap/walk.h"

/* After all readers: adds a heap with a problem for each allocator that is in the process and was not read, if much memory is in no
 * heap. If there is none, and reading ended early because of LIMIT (else ""), the walk has the problem. */
void cairn_walk_find_unread(struct cairn_walk *walk, const char *limit);

#endif
