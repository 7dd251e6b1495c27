/* paths.h - call paths: stacks of entries, each stored once and identified by a number.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_PATHS_H
#define CAIRN_REPORT_PATHS_H

#include "base/hash.h"

struct cairn_path {
	size_t first; /* in the entries */
	size_t depth;
};

/* All zeroes is an empty set. */
struct cairn_paths {
	uint32_t *entries;
	size_t entry_count, entry_capacity;
	struct cairn_path *items;
	size_t count, capacity;
	struct cairn_index index;
};

/* The number of the path STACK, which is copied if it is new. */
uint32_t cairn_paths_add(struct cairn_paths *paths, const uint32_t *stack, size_t depth);
void cairn_paths_free(struct cairn_paths *paths);

#endif
