/* sample.h - the countdown to the next sample, and what happens at its end.
 *
 * Every thread counts down the bytes it requests from a random distance whose mean is the period. The allocation that brings the
 * countdown below zero is the sample: so an object of S bytes is sampled with probability 1 - exp(-S / period), whatever was allocated
 * before. The fast paths are in hooks.c and touch only the countdown and the filter; the code here runs once per period.
 *
 * After a fork the ledger is not there: a word that the kernel wipes in children shows it, even if no handler runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_SAMPLE_H
#define CAIRN_AGENT_SAMPLER_SAMPLE_H

#include "agent/engine/profiler.h"
#include "agent/sampler/filter.h"
#include "agent/sampler/record.h"
#include "agent/unwind/local.h"
#include "protocol/inside.h"

/* The code between the host and a sample is in this section, so that its frames can be left out of stacks wherever the agent is linked. */
#if defined(__clang__)
#define CAIRN_SAMPLER_CODE __attribute__((section("cairn_sampler"), noinline))
#else
#define CAIRN_SAMPLER_CODE __attribute__((section("cairn_sampler"), noinline, noclone))
#endif

/* Counts SIZE bytes. True when the sample is due; what is left in the countdown then has no meaning until the next is drawn. The test is
 * for a borrow and not for the sign: a host may ask for 2^63 bytes and more, in vain. */
__attribute__((always_inline)) static inline bool cairn_sample_count_down(size_t size)
{
	return __builtin_sub_overflow(cairn_local()->countdown, size, &cairn_local()->countdown);
}

/* The state that all threads share. Only the sampler's owner (sampler.c) writes it, except for the counts. */
struct cairn_sampling {
	_Atomic uint64_t period;
	atomic_bool active;            /* new samples are taken */
	atomic_bool open;              /* there is a ledger */
	atomic_bool clear;             /* all samples are to be discarded, by whatever thread comes next: whoever wants that is not here */
	atomic_uint generation;        /* of ledgers */
	struct cairn_record record;
	_Atomic int *guard;            /* 1 in the process that owns the ledger; NULL if the kernel cannot wipe pages */
	_Atomic int process;           /* its PID, for that case */
	atomic_uint depth;             /* the most frames of a stack */
	_Atomic uint64_t sweep, sweep_end; /* slots that were converted to the period, and when all of them are; see make_room */
	/* Called where a sample is due, but there is no ledger, or sampling is off; and with a sample where the ledger says that the agent is
	 * wanted. NULL for nobody. */
	void (*_Atomic notify)(void);
	size_t (*usable_size)(void *object); /* the host's malloc_usable_size, or NULL */
	struct cairn_engine_tally tally;
};

extern struct cairn_sampling cairn_sampling;

/* The allocators that are counted inside. What their code allocates it does for a call that is counted already. */
extern struct cairn_inside cairn_inside;

/* The countdown of this thread has ended with the allocation of OBJECT (NULL if it failed), SIZE bytes by FUNCTION. */
void cairn_sample_spent(void *object, size_t size, uintptr_t function);

/* The same for a call of FUNCTION, which is part of a file of the host. */
void cairn_sample_spent_inside(void *object, size_t size, const struct cairn_inside_function *function);

/* The countdown has ended with a call that another one counts. */
void cairn_sample_skip(void);

/* The same for an object of a custom heap. */
void cairn_sample_spent_heap(uint64_t id, size_t size, uint32_t heap, uintptr_t function);

/* Where the host calls FUNCTION from: its stack in the ledger, which the caller then holds, its thread, and the time. Returns false if an
 * allocator inside does, for itself. */
bool cairn_sample_place(uintptr_t function, uint32_t *stack, uint32_t *thread, int64_t *now_ns);

/* OBJECT, which the filter may know, is about to be freed. */
void cairn_sample_freed(const void *object);
void cairn_sample_freed_heap(uint64_t id, uint32_t heap);

/* OBJECT is about to be moved or resized; and whether it was. The first returns 0 if it is no sample. */
uint32_t cairn_sample_hold(const void *object);
void cairn_sample_release(const void *object, uint32_t held, bool moved);

/* Nothing that this thread allocates is sampled. */
void cairn_sample_keep_quiet(void);

/* In a forked child, on its only thread. It draws its own distances: children that went on with the parent's would all sample the same
 * allocations. Other threads that were taking a stack at the fork are not there. */
void cairn_sample_in_child(void);

/* Whether this process owns the ledger. */
bool cairn_sample_is_ours(void);

#endif
