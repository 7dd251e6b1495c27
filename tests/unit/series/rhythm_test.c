/* rhythm_test.c - waves on lines are found and taken out; walks have none.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/rhythm.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

enum { points = 48 };

static double normal(void)
{
	return sqrt(-2 * log(1 - drand48())) * cos(2 * M_PI * drand48());
}

static void test_wave(void)
{
	double hours[points], values[points], calm[points], period = 0, worst = 0;
	for (int i = 0; i < points; i++) {
		hours[i] = i + 0.3 * drand48();
		double phase = 2 * M_PI * hours[i] / 16 + 1;
		values[i] = 100 + 2 * hours[i] + 30 * sin(phase) + 8 * cos(2 * phase) + normal();
	}
	ok(cairn_rhythm_remove(hours, values, points, calm, &period), "a wave on a line is found");
	is_near(period, 16, 0.5, "with its period");
	for (int i = 0; i < points; i++)
		worst = fmax(worst, fabs(calm[i] - 100 - 2 * hours[i]));
	ok(worst < 12, "what is left is the line, within %.1f", worst);
	ok(!cairn_rhythm_remove(hours, values, 24, calm, &period), "one period and a half is no rhythm");
	ok(!cairn_rhythm_remove(hours, values, 10, calm, &period), "nor are a few points");
}

static void test_chance(void)
{
	double hours[points], values[points], calm[points], period;
	int found = 0;
	for (int trial = 0; trial < 1000; trial++) {
		double at = 0, speed = 0;
		for (int i = 0; i < points; i++) {
			speed = trial % 2 ? 0.5 * speed + normal() : normal();
			at += speed;
			hours[i] = i;
			values[i] = at;
		}
		found += cairn_rhythm_remove(hours, values, points, calm, &period);
	}
	ok(found <= 10, "of 1,000 walks, %d look like a rhythm", found);
	for (int i = 0; i < points; i++) {
		hours[i] = 1;
		values[i] = 1;
	}
	ok(!cairn_rhythm_remove(hours, values, points, calm, &period), "no time, no rhythm");
	for (int i = 0; i < points; i++)
		hours[i] = i;
	for (int i = 0; i < points; i++)
		calm[i] = 1;
	cairn_rhythm_remove(hours, values, points, calm, &period);
	ok(fabs(calm[0] - 1) < 1e-9 && fabs(calm[points - 1] - 1) < 1e-9, "what never changes stays as it is");
}

int main(void)
{
	srand48(11);
	test_wave();
	test_chance();
	return tap_done();
}
