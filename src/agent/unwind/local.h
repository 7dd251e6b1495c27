/* local.h - what the agent keeps for each thread of the host.
 *
 * In the library it is thread-local memory. The core (agent/core/), which has none, finds a line of a table by the thread pointer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_LOCAL_H
#define CAIRN_AGENT_UNWIND_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_local {
	/* The sampler's (sampler/sample.h). */
	uint64_t countdown; /* bytes until the next sample; first, for arch/stub.h */
	uint64_t period;    /* the period of the countdown; 0 before the first */
	uint64_t random;
	uint32_t number;    /* in the ledger, of */
	uint32_t ledger;    /* this generation */
	uint32_t samples;
	bool quiet;         /* a thread of the agent's own */
	bool has_loaded;    /* it called dlopen since relocations were last walked on it */
	/* The unwinder's (stack.c): the part of the thread's own stack that is known to be readable, which ends at the stack's top. One word
	 * each, so that a signal handler that walks in between sees sound values. */
	volatile uintptr_t stack_low, stack_high;
};

/* An address in the highest page of the calling thread's stack. */
uintptr_t cairn_local_stack_top(void);

#ifndef CAIRN_CORE
enum { CAIRN_FORK_WIPES = 0 }; /* whether all of the sampler's memory is zero in a forked child */
extern _Thread_local struct cairn_local cairn_local_memory __attribute__((tls_model("initial-exec")));

/* Of the calling thread. */
__attribute__((always_inline)) static inline struct cairn_local *cairn_local(void)
{
	return &cairn_local_memory;
}

/* Whether the fast path counts with LOCAL. */
static inline bool cairn_local_has_counted(const struct cairn_local *local)
{
	(void)local;
	return true;
}

/* To be called before a sample: LOCAL may be that of a thread which has ended. */
static inline void cairn_local_renew(struct cairn_local *local)
{
	(void)local;
}
#else
enum { CAIRN_FORK_WIPES = 1 };
struct cairn_local *cairn_local(void);
bool cairn_local_has_counted(const struct cairn_local *local);
void cairn_local_renew(struct cairn_local *local);
#endif

#endif
