/* budget_test.c - where the period moves when profiling costs too much, or little.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/budget.h"
#include "agent/jemalloc/profiler.h"
#include "tap.h"

/* A jemalloc of which only the period matters. */
static size_t period_log2 = 19;
static unsigned resets;

static int control(const char *name, void *old, size_t *old_size, void *new, size_t new_size)
{
	(void)old_size, (void)new_size;
	if (strcmp(name, "prof.reset") == 0) {
		resets++;
		memcpy(&period_log2, new, sizeof period_log2);
	} else if (strcmp(name, "prof.lg_sample") == 0) {
		memcpy(old, &period_log2, sizeof period_log2);
	} else if (old) {
		memcpy(old, &(bool){true}, sizeof(bool));
	}
	return 0;
}

static void test_looks(void)
{
	enum { looks = 121 };
	struct cairn_budget budget = {0};
	struct cairn_profiler profiler = {.engine = &cairn_engine_jemalloc, .jemalloc.mallctl = control};
	cairn_budget_look(&budget, &profiler, 0.01);
	period_log2 = 24; /* somebody resets it */
	for (int i = 0; i < looks; i++) {
		budget.looked_ns -= INT64_C(6000000000);
		cairn_budget_look(&budget, &profiler, 0.01);
	}
	ok(period_log2 == 24 && resets == 0, "a period that was asked for stays, however little it costs");
	budget.known_period = UINT64_C(1) << (period_log2 = 26); /* as if the budget had raised it */
	for (int i = 0; i < looks; i++) {
		budget.looked_ns -= INT64_C(6000000000);
		cairn_budget_look(&budget, &profiler, 0.01);
	}
	ok(period_log2 == 24 && resets == 1, "and one that the budget raised goes back to it");
}

int main(void)
{
	test_looks();
	const uint64_t first = 1 << 19;
	is_int(cairn_budget_period(first, first, 0.02, 0.01), first * 4, "twice the limit: half of the limit is two doublings away");
	is_int(cairn_budget_period(first, first, 1.0, 0.01), first * 256, "a hundred times the limit");
	is_int(cairn_budget_period(first, first, 0.004, 0.01), first, "below half the limit it stays");
	is_int(cairn_budget_period(first * 8, first, 0.0001, 0.01), first, "far below, back to where it began and no further");
	is_int(cairn_budget_period(first * 8, first, 0.0013, 0.01), first * 4, "or as far as half the limit allows");
	is_int(cairn_budget_period(first, first, 1e300, 0.01), UINT64_C(1) << 40, "it ends somewhere");
	is_int(cairn_budget_memory(100), 1638400, "16 KiB for each live sample");
	return tap_done();
}
