/* plan.h - which functions of a process are to be counted, and how, decided by looking only.
 *
 * A function that is called through slots of the GOT alone, as Rust calls those of C, is counted there: no code changes. One that is called
 * directly, or could be by somebody who looks up its name, is counted at its *entry*, that is, its first instructions. One that does nothing
 * but go on to another one, or that always calls another one to allocate, as operator new calls malloc, is counted there.
 *
 * An allocator is counted whole or not at all: what is not seen to be freed would be shown as live for ever.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_INSIDE_PLAN_H
#define CAIRN_LIVE_INSIDE_PLAN_H

#include "arch/move.h"
#include "live/inside/allocators.h"

enum cairn_plan_way {
	CAIRN_PLAN_UNUSED,    /* nobody calls it */
	CAIRN_PLAN_SLOTS,
	CAIRN_PLAN_ENTRY,
	CAIRN_PLAN_ELSEWHERE, /* it goes on to a function that is counted */
	CAIRN_PLAN_REFUSED,
};

struct cairn_plan_function {
	const struct cairn_family_function *function;
	uint64_t address, size;
	enum cairn_plan_way way;
	const char *reason; /* why it is refused; follows "because" */
	struct cairn_move move;
	bool can_move;
	struct cairn_plan_function *onward; /* it does nothing but go on to this one, */
	bool calls_onward;                  /* by a call and not by a jump; NULL for none */
	const struct cairn_plan_function *twin; /* does the same where it has memory, and otherwise returns NULL instead of throwing; NULL for none */
	const struct cairn_plan_function *null_to; /* it goes on to this one with an object that is NULL */
	size_t direct;       /* calls from outside of the allocator */
	size_t pointers;     /* in data other than a GOT */
	size_t slots;
};

struct cairn_plan_slot {
	uint64_t address;
	size_t function; /* its number */
};

enum cairn_plan_verdict {
	CAIRN_PLAN_BY_NAME,    /* malloc leads to it: the agent counts it by itself */
	CAIRN_PLAN_COUNTED,    /* it can be counted */
	CAIRN_PLAN_NOT_USED,   /* another malloc takes its place */
	CAIRN_PLAN_LEADS_AWAY, /* it calls another allocator, which is counted */
	CAIRN_PLAN_NOT_SEEN,   /* for a reason */
};

struct cairn_plan_allocator {
	const struct cairn_allocator_found *found;
	enum cairn_plan_verdict verdict;
	const char *reason; /* of NOT_SEEN: a sentence's end */
	struct cairn_plan_function *functions; /* by address */
	size_t count;
	struct cairn_plan_slot *slots;
	size_t slot_count, slot_capacity;
	struct cairn_inside_range *ranges; /* its code */
	size_t range_count;
	uint64_t usable_size; /* its malloc_usable_size; 0 for none */
};

struct cairn_plan {
	struct cairn_arena arena;
	const struct cairn_subject *subject; /* outlives this */
	const struct cairn_inside_word *words; /* that an earlier plan has changed: they are taken as they were before */
	size_t word_count;
	struct cairn_allocators allocators;
	struct cairn_plan_allocator *items; /* as in ALLOCATORS */
	size_t count;
};

/* Looks at SUBJECT. Of WORDS, those that read `after` are taken to be `before`. */
void cairn_plan_make(struct cairn_plan *plan, const struct cairn_subject *subject, const struct cairn_inside_word *words, size_t word_count);
void cairn_plan_free(struct cairn_plan *plan);

/* Copies memory of the process as it would be without these words, and returns how much there was. */
size_t cairn_plan_read(const struct cairn_plan *plan, uint64_t address, void *out, size_t size);

/* "jemalloc (_rjem_) in /usr/bin/app, by 6 slots", or why not, in the plan's arena. */
const char *cairn_plan_describe(struct cairn_plan *plan, const struct cairn_plan_allocator *allocator);

#endif
