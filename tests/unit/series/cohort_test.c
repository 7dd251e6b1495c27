/* cohort_test.c - the mean course of many instances, on simulated fleets with fixed seeds: three of each kind, one in `make check`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/cohort.h"

#include "simulate_fleet.h"
#include "tap.h"

enum { few = 80 };
static int fleets;

static struct outcome simulate(struct cell cell, size_t instances)
{
	struct outcome outcome = {0};
	for (uint64_t seed = 1; seed <= (uint64_t)fleets; seed++)
		run_fleet(&cell, instances, seed, &outcome);
	return outcome;
}

static void expect(struct cell cell, bool every)
{
	struct outcome outcome = simulate(cell, few);
	is_int(outcome.found, fleets, "%s: found in each fleet", cell.name);
	is_int(outcome.first, fleets, "first");
	is_int(outcome.release, fleets, "with the right release");
	ok(fabs(outcome.said / outcome.truth - 1) < 0.15, "at the right rate: %.2f of the truth", outcome.said / outcome.truth);
	ok(fabs(outcome.instances / fleets - 1) < 0.2, "on so many instances: %.2f of the truth", outcome.instances / fleets);
	if (every)
		ok(outcome.every * 3 >= fleets * 2, "new there: in %d of %d", outcome.every, fleets);
	is_int(outcome.alarms, 0, "and nothing else");
}

int main(void)
{
	fleets = tap_rounds(1, 3);
	/* No single instance is sure of 4 MB an hour beside 5 MB that come and go: these rest on the mean. */
	expect((struct cell){"a slow leak", 4e6, 1, 0, tide_none, false}, true);
	expect((struct cell){"a slow leak while instances start one after the other", 4e6, 1, 0, tide_none, true}, true);
	expect((struct cell){"a fast leak on one instance in four", 36e6, 0.25, 0, tide_none, false}, false);
	/* The load of all instances moves as one: what each path does is one observation, however many instances share it. */
	expect((struct cell){"a slow leak while the load goes up and down", 4e6, 1, 0, tide_wave, false}, true);
	is_int(simulate((struct cell){"", 0, 1, 0, tide_none, false}, few).alarms, 0, "no leak, no alarm, though caches fill");
	is_int(simulate((struct cell){"", 0, 1, 0, tide_none, true}, few).alarms, 0,
	       "nor while instances are restarted one after the other");
	is_int(simulate((struct cell){"", 0, 1, 0, tide_wave, false}, 2 * few).alarms, 0, "nor while the load goes up and down");
	is_int(simulate((struct cell){"", 0, 1, 0, tide_wander, false}, 2 * few).alarms, 0, "nor while it wanders");
	struct cairn_cohort_grid grid = cairn_cohort_grid_make(0, 10, 0, 10, 2);
	is_int(grid.steps, 0, "two points are no course");
	grid = cairn_cohort_grid_make(0, 10, 0, 10, 1000);
	is_int(grid.steps, CAIRN_COHORT_STEPS, "and a thousand are looked at in steps");
	return tap_done();
}
