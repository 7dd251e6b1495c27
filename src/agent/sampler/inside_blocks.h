/* inside_blocks.h - the blocks that the command has put into this process (protocol/inside.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_INSIDE_BLOCKS_H
#define CAIRN_AGENT_SAMPLER_INSIDE_BLOCKS_H

#include "base/bytes.h"
#include "base/error.h"
#include "protocol/inside.h"

extern struct cairn_inside cairn_inside;

/* Fills in what stubs need to know. To be called before the command may look. */
void cairn_inside_open(void);

/* Maps a copy of BLOCK at ADDRESS, which nothing else is at, to be read and executed. Nothing leads there yet. */
bool cairn_inside_take(uint64_t address, struct cairn_bytes block, struct cairn_error *error);

/* Whether a stub counts the calls of the function at ADDRESS now, so that nothing else may. */
bool cairn_inside_counts(uintptr_t address);

/* Whether the code at ADDRESS is of an allocator whose calls are counted now. */
bool cairn_inside_has(uintptr_t address);

/* Names the allocators that are counted now: "jemalloc (_rjem_) in /usr/bin/app". Returns false, with OUT empty, if there are none. */
bool cairn_inside_describe(char *out, size_t size);

#endif
