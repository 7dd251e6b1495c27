/* count.h - begins and ends to count what a plan has found, in a process that can take blocks.
 *
 * The process has a table of its blocks with their states (struct cairn_inside), by which a command finds what another has done, and what one
 * that was killed has begun. How a block gets into the process is the caller's business.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_INSIDE_COUNT_H
#define CAIRN_LIVE_INSIDE_COUNT_H

#include "arch/stub.h"
#include "live/inside/plan.h"
#include "protocol/inside.h"

struct cairn_count {
	const struct cairn_subject *subject;
	struct cairn_stub_world world;
	uint64_t table; /* where the process has its struct cairn_inside */
	/* Puts BLOCK at ADDRESS, which is free, and into the table. */
	bool (*map)(void *context, uint64_t address, struct cairn_bytes block, struct cairn_error *error);
	/* Called when states have changed. */
	void (*tell)(void *context);
	void *context;
	/* The result: how many threads were stopped and for how long, 0 if nothing had to be changed. */
	size_t threads;
	int64_t stopped_ns;
};

/* Makes PLAN for the process, as it would be if nothing were counted, and has all that can be counted. What cannot is NOT_SEEN in the plan,
 * with the reason. False where the process cannot be stopped or changed: then it is as it was. Free the plan in either case. */
bool cairn_count_begin(struct cairn_count *count, struct cairn_plan *plan, struct cairn_error *error);

/* Makes PLAN in the same way, and changes nothing. */
void cairn_count_look(struct cairn_count *count, struct cairn_plan *plan);

/* Has nothing counted any more, and makes sure that each word is as it was. */
bool cairn_count_end(struct cairn_count *count, struct cairn_error *error);

/* Whether anything is counted now, or a command was killed that began or ended that. */
bool cairn_count_is_on(const struct cairn_count *count);

#endif
