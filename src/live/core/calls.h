/* calls.h - has the calls of the allocators in a process with a core counted there (inside/count.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_CORE_CALLS_H
#define CAIRN_LIVE_CORE_CALLS_H

#include "base/buffer.h"
#include "live/core/placed.h"
#include "live/inside/plan.h"

struct cairn_calls {
	struct cairn_buffer counted; /* the allocators that are: a terminated text for messages */
	struct cairn_buffer unseen;  /* what is not, and why, in one sentence; "" for nothing */
	int64_t stopped_ns;          /* for how long all threads were stopped */
};

/* Finds the allocators of the process, and begins to count their calls. False if there are none that can be counted, or the process cannot be
 * stopped or changed: then it is as it was. Free CALLS in either case. */
bool cairn_calls_begin(struct cairn_calls *calls, struct cairn_placed *placed, struct cairn_error *error);
void cairn_calls_free(struct cairn_calls *calls);

/* Plans what that would count, and changes nothing. Free PLAN. */
void cairn_calls_look(struct cairn_plan *plan, const struct cairn_subject *subject);

/* Why nothing can be counted where not even one allocator is found. */
extern const char cairn_calls_unknown[];

/* Ends that, and makes sure that all is as it was. Does nothing where nothing is counted. */
bool cairn_calls_end(struct cairn_placed *placed, struct cairn_error *error);
bool cairn_calls_are_on(struct cairn_placed *placed);

#endif
