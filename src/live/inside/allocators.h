/* allocators.h - the allocators that a process has: one that malloc leads to, and any number inside its program and its libraries.
 *
 * The agent sees by itself what calls malloc and its relatives by their names through relocations (agent/sampler/patch.h), that is, the
 * *usual* allocator. All others are inside some file, with or without a prefix, and called without such names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_INSIDE_ALLOCATORS_H
#define CAIRN_LIVE_INSIDE_ALLOCATORS_H

#include "live/attach/subject.h"
#include "symbol/family.h"
#include "symbol/find.h"

struct cairn_allocator_found {
	const struct cairn_subject_module *module;
	const struct cairn_elf *names;     /* the separate debug file that has the names; NULL for none */
	const struct cairn_family *family; /* without functions if the file is stripped of their names */
	bool usual; /* a library's, which malloc leads to: libc's, or one that replaces it */
};

struct cairn_allocators {
	struct cairn_arena arena;
	struct cairn_finder finder;
	struct cairn_allocator_found *items; /* the usual one first, then by module */
	size_t count, capacity;
	struct cairn_debug *debug; /* separate debug files that have the names */
	size_t debug_count;
};

/* Finds those of SUBJECT, which outlives the result. Reads files only; the process is not touched. Names that a file lacks come from its
 * separate debug file, and from the servers of DEBUGINFOD_URLS. */
void cairn_allocators_find(struct cairn_allocators *allocators, const struct cairn_subject *subject);
void cairn_allocators_free(struct cairn_allocators *allocators);

/* "jemalloc in /usr/bin/app", "jemalloc (je_arrow_) in libarrow.so", "malloc in libc.so.6", in ARENA. */
const char *cairn_allocator_describe(struct cairn_arena *arena, const struct cairn_allocator_found *found);

#endif
