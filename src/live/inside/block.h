/* block.h - the block that counts the calls of one allocator (protocol/inside.h), made for one address.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_INSIDE_BLOCK_H
#define CAIRN_LIVE_INSIDE_BLOCK_H

#include "arch/stub.h"
#include "base/buffer.h"
#include "live/inside/plan.h"
#include "protocol/inside.h"

/* Fills OUT, which is empty, with the block of ALLOCATOR, which can be counted, as it is at ADDRESS; whole pages. False where its code or its data
 * are out of reach from there. */
bool cairn_block_make(struct cairn_buffer *out, const struct cairn_plan *plan, const struct cairn_plan_allocator *allocator,
		      const struct cairn_stub_world *world, uint64_t address, struct cairn_error *error);

/* Where the process has SIZE bytes free near MODULE, best first: the Nth such place, from 0 on; 0 for none. There are at most
 * CAIRN_BLOCK_PLACES. It is not in the way of the heap, which grows behind the program. */
enum { CAIRN_BLOCK_PLACES = 9 };
uint64_t cairn_block_place(const struct cairn_subject *subject, const struct cairn_subject_module *module, uint64_t size, size_t n);

/* The places where no thread may be when its words become `after`: sorted, COUNT of them. free() it. */
struct cairn_stop_place *cairn_block_places(const struct cairn_plan_allocator *allocator, size_t *count);

/* The words of a BLOCK that was read from a process; a COUNT of 0 where it is not one. Borrowed. */
const struct cairn_inside_word *cairn_block_words(struct cairn_bytes block, size_t *count);

#endif
