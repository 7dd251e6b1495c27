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

/* COUNT dumps in each burst, a second apart; a burst each hour, but a single dump where LETTERS has a dot. What a population of long-lived
 * objects holds: it hardly changes within a burst. */
static int found_in_bursts(const char *letters, int each)
{
	double hours[points + 16], values[points + 16], calm[points + 16], period;
	int found = 0;
	for (int trial = 0; trial < 300; trial++) {
		double at = 0;
		size_t count = 0;
		for (int burst = 0; letters[burst]; burst++) {
			at = 0.9 * at + normal();
			for (int i = 0; i < (letters[burst] == '.' ? 1 : each); i++, count++) {
				hours[count] = burst + i / 3600.0;
				values[count] = 100 + at + 0.01 * normal();
			}
		}
		found += cairn_rhythm_remove(hours, values, count, calm, &period);
	}
	return found;
}

static void test_bursts(void)
{
	is_int(found_in_bursts("x.....", 12), 0, "a burst and five hourly dumps are six moments");
	is_int(found_in_bursts(".......x", 20), 0, "so are hourly dumps and a burst");
	is_int(found_in_bursts("xxxx", 10), 0, "and bursts alone");
	is_int(found_in_bursts("xxxxxxx", 5), 0, "few of them");
	int found = found_in_bursts("x.......................", 20);
	ok(found <= 6, "a burst before a day of hourly dumps weighs as one of them: %d of 300 look like a rhythm", found);
}

/* A day's rhythm, seen each hour, with a burst in it and an outage of three hours. */
static void test_outage(void)
{
	double hours[64], values[64], calm[64], period = 0, worst = 0;
	size_t count = 0;
	for (int hour = 0; hour < 56; hour++)
		for (int i = 0; i < (hour == 20 ? 6 : hour >= 30 && hour < 33 ? 0 : 1); i++, count++) {
			hours[count] = hour + i / 3600.0;
			values[count] = 100 + hours[count] + 30 * sin(2 * M_PI * hours[count] / 24);
		}
	ok(cairn_rhythm_remove(hours, values, count, calm, &period) && fabs(period - 24) < 1, "an outage and a burst hide no rhythm");
	for (size_t i = 0; i < count; i++)
		worst = fmax(worst, fabs(calm[i] - 100 - hours[i]));
	ok(worst < 8, "what is left is the line, within %.1f", worst);
}

int main(void)
{
	srand48(11);
	test_wave();
	test_chance();
	test_bursts();
	test_outage();
	return tap_done();
}
