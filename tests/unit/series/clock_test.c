/* clock_test.c - which dumps are judged: all that are evenly spaced, one of a burst, and of very many not every tenth exactly.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/clock.h"
#include "tap.h"

#include <math.h>

enum { most = 1000 };
static double hours[most];
static uint32_t run[most];

static struct cairn_trend_clock make(size_t count)
{
	struct cairn_trend_clock clock;
	cairn_trend_clock_make(&clock, hours, run, count);
	return clock;
}

static void test_few(void)
{
	for (size_t i = 0; i < most; i++)
		hours[i] = (double)i + 0.3 * (double)(i % 3);
	struct cairn_trend_clock clock = make(CAIRN_COURSE_POINTS);
	ok(clock.count == CAIRN_COURSE_POINTS && clock.pick[0] == 0 && clock.pick[63] == 63, "64 dumps, about evenly spaced, are all used");
	is_int(make(0).count, 0, "none are none");
	clock = make(1);
	ok(clock.count == 1 && clock.pick[0] == 0, "one is one");
	for (size_t i = 0; i < 12; i++)
		hours[i] = 7;
	is_int(make(12).count, 1, "dumps of one instant are one moment");
}

static void test_bursts(void)
{
	size_t count = 0;
	for (int hour = 0; hour < 8; hour++)
		for (int i = 0; i < (hour == 7 ? 20 : 1); i++)
			hours[count++] = hour + i / 3600.0;
	struct cairn_trend_clock clock = make(count);
	is_int(clock.count, 8, "a burst is one moment");
	is_int(clock.pick[7], count - 1, "of which the last dump counts, if it is the last moment");
	ok(clock.hours[7] == hours[count - 1] && clock.hours[0] == 0, "with its time");
	is_near(cairn_trend_clock_dumps(&clock), 27.0 / 8, 1e-9, "which stands for several dumps");
	for (size_t i = 0; i < count; i++)
		run[i] = i >= 12;
	clock = make(count);
	ok(clock.count == 9 && clock.run[7] == 0 && clock.run[8] == 1, "a restart within a burst divides it");
	for (size_t i = 0; i < count; i++)
		run[i] = 0;
}

static void test_one(void)
{
	for (size_t i = 0; i < 3; i++)
		hours[i] = 5;
	struct cairn_trend_clock clock = make(3);
	is_int(clock.count, 1, "dumps of one time are one moment");
	is_near(cairn_trend_clock_dumps(&clock), 3, 0, "which stands for all of them");
	clock = make(0);
	is_near(cairn_trend_clock_dumps(&clock), 1, 0, "without dumps there is nothing to divide");
}

static void test_many(void)
{
	for (size_t i = 0; i < most; i++)
		hours[i] = (double)i / 60;
	struct cairn_trend_clock clock = make(640);
	ok(clock.count > 48 && clock.count <= CAIRN_COURSE_POINTS, "of 640 dumps %zu are used", clock.count);
	is_int(clock.pick[clock.count - 1], 639, "the last among them");
	/* The phases of work that repeats every 9.95 dumps. If every tenth dump were used, they would go round a third of a turn in all. */
	double even = 0, odd = 0;
	bool rising = true;
	for (size_t i = 0; i < clock.count; i++) {
		even += cos(2 * M_PI * (double)clock.pick[i] / 9.95) / (double)clock.count;
		odd += sin(2 * M_PI * (double)clock.pick[i] / 9.95) / (double)clock.count;
		rising &= i == 0 || clock.pick[i] > clock.pick[i - 1];
	}
	ok(rising, "in order");
	ok(hypot(even, odd) < 0.2, "they see all phases of work that repeats at their pace: %.2f", hypot(even, odd));
}

int main(void)
{
	test_few();
	test_bursts();
	test_one();
	test_many();
	return tap_done();
}
