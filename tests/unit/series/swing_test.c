/* swing_test.c - how often a path falls, how long a swing takes, and what it falls back to.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/swing.h"
#include "simulate.h"
#include "tap.h"

enum { most = 800 };
static double hours[most], values[most];
static uint32_t run[most];
static struct cairn_swing_turn turns[most];

static struct cairn_swing find(size_t count, double unit)
{
	return cairn_swing_find(hours, values, run, count, unit, turns);
}

/* Ten days of work by day, from one Monday on, seen each hour; its nights rise. */
static void test_week(void)
{
	for (int i = 0; i < 240; i++) {
		bool works = i / 24 % 7 < 5;
		hours[i] = i;
		values[i] = 100 + i + (works ? 50 * fmax(0, -cos(2 * M_PI * i / 24)) : 0);
	}
	struct cairn_swing swing = find(240, 0.01);
	is_int(swing.falls, 8, "a fall in each night after work");
	is_near(swing.period_hours, 24, 1.1, "they are a day apart, weekends or not");
	ok(swing.troughs >= 6 && turns[0].hours > 12 && turns[0].hours < 36, "the lows are known: %zu", swing.troughs);
	ok(turns[swing.troughs - 1].value > turns[0].value + 100, "and what was held in them");
	ok(swing.last_top > swing.first_top + 100, "and the tops");
	for (int i = 0; i < 240; i++)
		run[i] = i >= 120;
	is_int(find(240, 0.01).troughs, 2, "of the last run");
	memset(run, 0, sizeof run);
}

static void test_chance(void)
{
	int found = 0;
	sim_seed(5);
	for (int trial = 0; trial < 200; trial++) {
		for (int i = 0; i < most; i++) {
			hours[i] = i;
			values[i] = sim_poisson(100); /* sampled anew in each dump */
		}
		found += find(most, 1).falls > 1;
	}
	ok(found <= 2, "of 200 populations in %d dumps, %d seem to swing", most, found);
	is_int(find(0, 1).falls, 0, "nothing does not");
}

int main(void)
{
	test_week();
	test_chance();
	return tap_done();
}
