/* budget.c - measures the cost of profiling and changes the period.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/budget.h"

#include "agent/engine/profiler.h"
#include "base/time.h"
#include "process/clock.h"

enum {
	look_s = 5,
	looks_above = 3,   /* before the period is raised */
	looks_below = 120, /* before it is lowered */
	bookkeeping_ns = 1500, /* of jemalloc for a sampled malloc and free without the stack: 1 to 2 µs with 5.3.0 (make bench) */
	object_bytes = 16384,  /* the smallest size that jemalloc 5.3.0 gives a sampled object */
};

uint64_t cairn_budget_memory(uint64_t samples)
{
	return samples * object_bytes;
}

uint64_t cairn_budget_period(uint64_t period, uint64_t first, double share, double limit)
{
	while (share > limit / 2 && period < UINT64_C(1) << 40) {
		period *= 2;
		share /= 2;
	}
	while (share * 2 <= limit / 2 && period / 2 >= first) {
		period /= 2;
		share *= 2;
	}
	return period;
}

static void move(struct cairn_budget *budget, struct cairn_profiler *profiler, double share, double limit)
{
	uint64_t period = cairn_profiler_period(profiler), wanted = cairn_budget_period(period, budget->first_period, share, limit);
	budget->above = budget->below = 0;
	if (wanted == period || !cairn_profiler_set_period(profiler, wanted))
		return;
	budget->known_period = wanted;
	atomic_store(&budget->previous_period, period);
	atomic_store(&budget->changed_at, cairn_clock_wall_ns());
	atomic_fetch_add(&budget->changes, 1);
}

/* If somebody else sets a period, the budget starts anew from there: it never goes below what was requested. */
static void see_period(struct cairn_budget *budget, uint64_t period)
{
	if (period == budget->known_period)
		return;
	budget->known_period = budget->first_period = period;
	budget->above = budget->below = 0;
}

void cairn_budget_look(struct cairn_budget *budget, struct cairn_profiler *profiler, double limit)
{
	int64_t now = cairn_clock_ns();
	if (budget->looked_ns && now - budget->looked_ns < look_s * CAIRN_SECOND_NS)
		return;
	struct cairn_engine_counts counts;
	cairn_profiler_engine(profiler)->count(&counts);
	int64_t cpu = cairn_clock_read(CLOCK_PROCESS_CPUTIME_ID);
	int64_t elapsed = now - budget->looked_ns, used = cpu - budget->cpu_ns;
	uint64_t taken = counts.stacks - budget->stacks;
	bool first = !budget->looked_ns;
	budget->looked_ns = now;
	budget->cpu_ns = cpu;
	budget->stacks = counts.stacks;
	see_period(budget, cairn_profiler_period(profiler));
	if (first)
		return;
	double ns_per_sample = counts.ns_per_stack + (cairn_profiler_is_jemalloc(profiler) ? bookkeeping_ns : 0);
	double share = used > 0 ? (double)taken * ns_per_sample / (double)used : 0;
	atomic_store(&budget->samples_per_second, (double)taken * 1e9 / (double)elapsed);
	atomic_store(&budget->ns_per_sample, ns_per_sample);
	atomic_store(&budget->share, share);
	if (limit <= 0 || cairn_profiler_state(profiler) != CAIRN_PROFILER_ACTIVE)
		return;
	budget->above = share > limit ? budget->above + 1 : 0;
	budget->below = share < limit / 8 ? budget->below + 1 : 0;
	if (budget->above == looks_above || budget->below == looks_below)
		move(budget, profiler, share, limit);
}
