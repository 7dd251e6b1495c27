/* allocating.h - the functions of C and of jemalloc that allocate or free memory: the one list of their names, for the agent and the tool.
 *
 * Used as CAIRN_ALLOCATING(ROW), which becomes ROW(name, group, signature) for each, sorted by name. The groups C and JEMALLOC are counted
 * where an allocator is inside a program; OTHER are known as the allocator's and not counted. The functions that replace those of libc and
 * of jemalloc are in agent/sampler/hooks.c, a row each; hooks_test.c compares them with this list.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_ALLOCATING_H
#define CAIRN_PROTOCOL_ALLOCATING_H

#include "protocol/inside.h"

/* Signatures: which argument is the size, the number of objects, the object. */
#define CAIRN_ALLOCATES(at) {CAIRN_CALL_ALLOCATES, at, CAIRN_NO_ARGUMENT, CAIRN_NO_ARGUMENT}
#define CAIRN_ALLOCATES_COUNT(count, at) {CAIRN_CALL_ALLOCATES, at, count, CAIRN_NO_ARGUMENT}
#define CAIRN_PLACES {CAIRN_CALL_PLACES, 2, CAIRN_NO_ARGUMENT, 0}
#define CAIRN_RELEASES {CAIRN_CALL_RELEASES, CAIRN_NO_ARGUMENT, CAIRN_NO_ARGUMENT, 0}
#define CAIRN_MEASURES {CAIRN_CALL_MEASURES, CAIRN_NO_ARGUMENT, CAIRN_NO_ARGUMENT, 0}
#define CAIRN_MOVES(object, at) {CAIRN_CALL_MOVES, at, CAIRN_NO_ARGUMENT, object}
#define CAIRN_MOVES_COUNT(object, count, at) {CAIRN_CALL_MOVES, at, count, object}
#define CAIRN_RESIZES {CAIRN_CALL_RESIZES, 1, CAIRN_NO_ARGUMENT, 0}

#define CAIRN_ALLOCATING(ROW)                                     \
	ROW(aligned_alloc, C, CAIRN_ALLOCATES(1))                 \
	ROW(calloc, C, CAIRN_ALLOCATES_COUNT(0, 1))               \
	ROW(cfree, C, CAIRN_RELEASES)                             \
	ROW(dallocx, JEMALLOC, CAIRN_RELEASES)                    \
	ROW(free, C, CAIRN_RELEASES)                              \
	ROW(free_aligned_sized, C, CAIRN_RELEASES)                \
	ROW(free_sized, C, CAIRN_RELEASES)                        \
	ROW(malloc, C, CAIRN_ALLOCATES(0))                        \
	ROW(mallocx, JEMALLOC, CAIRN_ALLOCATES(0))                \
	ROW(memalign, C, CAIRN_ALLOCATES(1))                      \
	ROW(posix_memalign, C, CAIRN_PLACES)                      \
	ROW(pvalloc, C, CAIRN_ALLOCATES(0))                       \
	ROW(rallocx, JEMALLOC, CAIRN_MOVES(0, 1))                 \
	ROW(realloc, C, CAIRN_MOVES(0, 1))                        \
	ROW(reallocarray, C, CAIRN_MOVES_COUNT(0, 1, 2))          \
	ROW(reallocf, C, CAIRN_MOVES(0, 1))                       \
	ROW(sdallocx, JEMALLOC, CAIRN_RELEASES)                   \
	ROW(sdallocx_noflags, OTHER, CAIRN_RELEASES)              \
	ROW(smallocx, OTHER, CAIRN_ALLOCATES(0))                  \
	ROW(valloc, C, CAIRN_ALLOCATES(0))                        \
	ROW(xallocx, JEMALLOC, CAIRN_RESIZES)

#endif
