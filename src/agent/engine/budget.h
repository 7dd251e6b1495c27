/* budget.h - measures the cost of profiling and keeps it below a limit.
 *
 * The cost is that of the sampled allocations in a second: each takes a stack, which is measured, and jemalloc's own bookkeeping, for
 * which a constant is assumed. It is shown as a share of the process's CPU time. With a limit (`budget:1%`), the sampling period is
 * doubled as often as necessary while the cost stays above it, and halved again after a long time far below. jemalloc can change its
 * period only by discarding its samples, so no dump ever mixes two; the time of the change is in the status and, as reset_at, in every
 * snapshot.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ENGINE_BUDGET_H
#define CAIRN_AGENT_ENGINE_BUDGET_H

#include "agent/engine/profiler.h"

struct cairn_budget {
	_Atomic double samples_per_second;
	_Atomic double ns_per_sample;
	_Atomic double share; /* of the process's CPU time, 0.01 for one in a hundred */
	_Atomic uint64_t previous_period; /* before the last change; 0 for no change yet */
	_Atomic int64_t changed_at;       /* since 1970 */
	atomic_uint changes;
	/* Only cairn_budget_look uses these. */
	int64_t looked_ns, cpu_ns;
	uint64_t stacks;
	uint64_t first_period; /* as configured, or as last set by somebody else */
	uint64_t known_period; /* at the last look */
	unsigned above, below; /* consecutive looks on that side of the limit */
};

/* Call it about every second, from one thread. LIMIT is a share, 0 for none. */
void cairn_budget_look(struct cairn_budget *budget, struct cairn_profiler *profiler, double limit);

/* The new period after PERIOD if its cost is SHARE: a power of two times PERIOD, or a fraction of it that is no less than FIRST, so that
 * the cost becomes about half the limit. */
uint64_t cairn_budget_period(uint64_t period, uint64_t first, double share, double limit);

/* The most bytes that jemalloc adds to SAMPLES live sampled objects: each has pages of its own. */
uint64_t cairn_budget_memory(uint64_t samples);

#endif
