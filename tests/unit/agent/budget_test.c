/* budget_test.c - where the period moves when profiling costs too much, or little.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/budget.h"
#include "tap.h"

int main(void)
{
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
