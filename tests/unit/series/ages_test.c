/* ages_test.c - one dump with known truth: what never dies, what lives long, what was there from the start.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/ages.h"
#include "series/words.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

enum { paths = 40, services = 40 };
static const double observed = 2000; /* seconds */

/* SAMPLES that live on average at once, for MEAN seconds each by an exponential law; a share LEAKED never dies. */
static void add_population(struct cairn_ages *ages, const struct cairn_ages_clock *clock, double samples, double mean, double leaked)
{
	double rate = samples / mean;
	for (double at = -log(1 - drand48()) / rate; at < observed; at -= log(1 - drand48()) / rate) {
		double lived = drand48() < leaked ? INFINITY : -mean * log(1 - drand48());
		if (at + lived > observed) {
			cairn_ages_add(ages, clock, observed - at, 512e3);
			continue;
		}
		struct cairn_freed freed = {.samples = 1};
		int class = ilogb(fmax(1, lived * 1e9)) - 13;
		freed.lifetimes[class < 0 ? 0 : class > 31 ? 31 : class]++;
		cairn_ages_add_freed(ages, &freed);
	}
}

static void add_births(struct cairn_ages *ages, const struct cairn_ages_clock *clock, double from, double to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cairn_ages_add(ages, clock, observed * (1 - from - (to - from) * ((double)i + 0.5) / (double)count), 512e3);
}

static struct cairn_trend judge(const struct cairn_ages *ages, const struct cairn_ages_clock *clock)
{
	struct cairn_trend trend;
	struct cairn_ages whole = *ages;
	cairn_ages_finish(&whole, clock);
	cairn_ages_judge(&trend, &whole, clock, paths);
	return trend;
}

/* How many of the services have a path that is called growing, and in how many the first one is, that leaks so much. */
static void count_verdicts(double mean, double leaked, int *alarms, int *found)
{
	*alarms = *found = 0;
	for (int service = 0; service < services; service++) {
		struct cairn_ages_clock clock;
		bool alarm = false;
		cairn_ages_clock_make(&clock, observed);
		cairn_ages_clock_settle(&clock, mean);
		for (int path = 0; path < paths; path++) {
			struct cairn_ages ages = {0};
			add_population(&ages, &clock, path ? 20 + 3 * path : 80, mean * (path ? 0.02 + 0.98 * drand48() : 1),
				       path ? 0 : leaked);
			bool grows = judge(&ages, &clock).verdict == CAIRN_GROWING;
			alarm |= path && grows;
			*found += !path && grows;
		}
		*alarms += alarm;
	}
}

static void test_populations(void)
{
	int alarms, found;
	count_verdicts(observed / 20, 0, &alarms, &found);
	ok(alarms + found <= 2, "20 lifetimes: of %d services without a leak, %d have a path called growing", services, alarms + found);
	count_verdicts(observed / 20, 0.02, &alarms, &found);
	ok(alarms <= 2 && found >= 38, "a leak of 2 %% of what a path allocates is found in %d of %d", found, services);
	count_verdicts(observed / 2, 0.03, &alarms, &found);
	ok(alarms + found == 0, "two lifetimes: nothing is called growing");
	count_verdicts(observed / 6, 0, &alarms, &found);
	ok(alarms + found <= 2, "six lifetimes: %d false alarms", alarms + found);
}

static void test_kinds(void)
{
	struct cairn_ages_clock clock;
	cairn_ages_clock_make(&clock, observed);
	cairn_ages_clock_settle(&clock, observed / 50);

	struct cairn_ages leak = {0};
	add_births(&leak, &clock, 0, 1, 200);
	struct cairn_trend trend = judge(&leak, &clock);
	ok(trend.verdict == CAIRN_GROWING && trend.confidence > 0.99, "what is born at all times and never freed grows");
	double truth = 200 * 512e3 / observed * 3600;
	ok(fabs(trend.per_hour / truth - 1) < 0.05 && trend.since == 0, "by as much as it is, and always did");
	cairn_ages_clock_settle(&clock, observed / 3);
	trend = judge(&leak, &clock);
	ok(trend.verdict == CAIRN_TOO_EARLY && fabs(trend.more_hours * 3600 - (17.0 / 3 - 1) * observed) < 1,
	   "it is too early where other objects live long; until when is said");
	cairn_ages_clock_settle(&clock, observed / 50);

	struct cairn_ages start = {0};
	add_births(&start, &clock, 0, 0.08, 200);
	ok(judge(&start, &clock).verdict == CAIRN_STEADY, "what was there from the start is steady");
	struct cairn_ages burst = {0};
	add_births(&burst, &clock, 0.5, 0.51, 500);
	ok(judge(&burst, &clock).verdict == CAIRN_STEADY, "what came at one moment and stays is steady");
	struct cairn_ages filled = {0};
	add_births(&filled, &clock, 0, 0.5, 100);
	trend = judge(&filled, &clock);
	ok(trend.verdict == CAIRN_STOPPED && trend.per_hour == 0 && fabs(trend.since * 3600 + observed / 2) < observed / 20,
	   "what came until half of the time has stopped, and when is known");
	struct cairn_ages late = {0};
	add_births(&late, &clock, 0.5, 1, 100);
	trend = judge(&late, &clock);
	ok(trend.verdict == CAIRN_GROWING && fabs(trend.since * 3600 + observed / 2) < observed / 20,
	   "a leak that began at half is found, and when");
	struct cairn_ages pauses = {0};
	for (int i = 0; i < 8; i++)
		add_births(&pauses, &clock, i / 8.0, i / 8.0 + 0.03, 20);
	ok(judge(&pauses, &clock).verdict == CAIRN_GROWING, "one that comes in bursts grows, also in the pause after one");
	ok(judge(&(struct cairn_ages){0}, &clock).verdict == CAIRN_STEADY, "nothing is steady");

	struct cairn_ages both = {0};
	cairn_ages_sum(&both, &leak);
	cairn_ages_sum(&both, &leak);
	ok(fabs(judge(&both, &clock).per_hour / truth - 2) < 0.1, "two that are added up grow twice as fast");
}

/* BIRTHS, of which each lives for as long as LIFETIME says; at all times alike. */
static void add_lives(struct cairn_ages *ages, const struct cairn_ages_clock *clock, size_t births, double (*lifetime)(void))
{
	for (size_t i = 0; i < births; i++) {
		double at = observed * drand48(), lived = lifetime();
		if (at + lived > observed)
			cairn_ages_add(ages, clock, observed - at, 512e3);
		else
			ages->freed[(int)fmin(31, fmax(0, ilogb(fmax(1, lived * 1e9)) - 13))]++;
	}
}

static double quick(void)
{
	return -observed / 100 * log(1 - drand48());
}

static double half_of_the_time(void)
{
	return -observed / 2 * log(1 - drand48());
}

static double all_of_the_time(void)
{
	return -observed * log(1 - drand48());
}

/* A Pareto distribution with a mean of a sixth of the time: none lives shorter than an eighteenth, and some far longer. */
static double heavy(void)
{
	return observed / 18 * pow(1 - drand48(), -1 / 1.5);
}

/* Objects that live about as long as the service was observed are no leak. How many of 20 dumps say they are? */
static int count_growing(size_t births, double (*lifetime)(void), size_t quick_births)
{
	int growing = 0;
	for (int dump = 0; dump < 20; dump++) {
		struct cairn_ages_clock clock;
		struct cairn_ages ages = {0};
		cairn_ages_clock_make(&clock, observed);
		add_lives(&ages, &clock, births, lifetime);
		add_lives(&ages, &clock, quick_births, quick);
		growing += judge(&ages, &clock).verdict == CAIRN_GROWING;
	}
	return growing;
}

static void test_long_lives(void)
{
	int growing = count_growing(600, half_of_the_time, 100000);
	is_int(growing, 0, "a few objects in a path that live for half of the time are no leak, though nearly all live shorter");
	growing = count_growing(1200, all_of_the_time, 200000);
	is_int(growing, 0, "and neither are those that live for as long as was observed");
	growing = count_growing(20000, heavy, 0);
	is_int(growing, 0, "a heavy tail is none, also if no life is short");

	struct cairn_ages_clock clock;
	struct cairn_ages slow = {0}, other = {0};
	struct cairn_trend trend;
	cairn_ages_clock_make(&clock, observed);
	add_births(&slow, &clock, 0, 1, 200);
	slow.freed[ilogb(observed / 2 * 1e9) - 13] = 60;
	add_lives(&other, &clock, 100000, quick);
	cairn_ages_finish(&slow, &clock);
	cairn_ages_finish(&other, &clock);
	is_int(judge(&slow, &clock).verdict, CAIRN_TOO_EARLY, "where some live for half of the time, it is too early");
	cairn_ages_sum(&other, &slow);
	cairn_ages_judge(&trend, &other, &clock, paths);
	ok(slow.longest > observed / 4 && other.longest == slow.longest && trend.verdict == CAIRN_TOO_EARLY,
	   "and still is in a sum with many short lives, whose longest is that of its slowest path");
}

/* What a service of so many SECONDS says of 100 births that came FROM a share of that time on and never died, if others live for LONGEST. */
static struct cairn_trend judge_since(double seconds, double longest, double from)
{
	struct cairn_ages_clock clock;
	struct cairn_ages ages = {0};
	cairn_ages_clock_make(&clock, seconds);
	cairn_ages_clock_settle(&clock, longest);
	for (int i = 0; i < 100; i++)
		cairn_ages_add(&ages, &clock, seconds * (1 - from) * (i + 0.5) / 100, 512e3);
	return judge(&ages, &clock);
}

static void test_windows(void)
{
	struct cairn_trend trend = judge_since(2000, 20, 0.95);
	ok(trend.verdict == CAIRN_GROWING && fabs(trend.since * 3600 + 100) < 20, "a leak in the last twentieth of the time is found, and since when");
	ok(fabs(trend.per_hour / (100 * 512e3 / 100 * 3600) - 1) < 0.1, "at its rate");
	trend = judge_since(150, 18, 0.8);
	ok(trend.verdict == CAIRN_GROWING, "within 30 seconds, beside objects that live for more than half of that");
	ok(judge_since(150, 18, 0.9).verdict == CAIRN_TOO_EARLY, "before that it is too early: of what nothing was freed, nobody knows whether it rests");
	ok(judge_since(2000, 20, 0.995).verdict == CAIRN_TOO_EARLY, "as it is of what came only just now");
	ok(judge_since(20, 5, 0).verdict == CAIRN_TOO_EARLY, "in the first seconds services warm up");
	ok(judge_since(30, 5, 0).verdict == CAIRN_GROWING, "after that they leak");
	ok(judge_since(20, 0.5, 0).verdict == CAIRN_GROWING, "as do those whose objects live far shorter");

	/* A burst of which some have been freed, soon after they came, beside a leak of which nothing was. */
	struct cairn_ages_clock clock;
	struct cairn_ages leak = {0}, burst = {0};
	struct cairn_trend sum;
	cairn_ages_clock_make(&clock, 40);
	cairn_ages_clock_settle(&clock, 12);
	for (int i = 0; i < 100; i++) {
		cairn_ages_add(&leak, &clock, 40 * (i + 0.5) / 100, 512e3);
		cairn_ages_add(&burst, &clock, 5 + 0.01 * i, 512e3);
	}
	burst.freed[ilogb(0.2e9) - 13] = 30;
	cairn_ages_finish(&leak, &clock);
	cairn_ages_finish(&burst, &clock);
	cairn_ages_sum(&leak, &burst);
	cairn_ages_judge(&sum, &leak, &clock, paths);
	ok(sum.verdict == CAIRN_TOO_EARLY, "a sum takes the longest lifetime of its slowest path, also where that is the service's");
}

static void test_edges(void)
{
	struct cairn_ages_clock clock;
	struct cairn_ages ages = {0};
	static const double times[] = {0, -1, 1e-9, 1e-3, 1e18, INFINITY, NAN};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		cairn_ages_clock_make(&clock, times[i]);
		for (int j = 0; j < 100; j++)
			cairn_ages_add(&ages, &clock, times[i] * j / 50, 1);
		judge(&ages, &clock);
	}
	struct cairn_freed freed = {0};
	for (int i = 0; i < CAIRN_LIFETIMES; i++)
		freed.lifetimes[i] = UINT64_MAX / 64;
	cairn_ages_add_freed(&ages, &freed);
	cairn_ages_clock_make(&clock, observed);
	struct cairn_trend trend = judge(&ages, &clock);
	ok(!isnan(trend.confidence) && !isnan(trend.per_hour), "times and counts that cannot be end in a verdict");
	cairn_ages_clock_make(&clock, 1e-4);
	ok(judge(&ages, &clock).verdict == CAIRN_TOO_EARLY, "a moment is too early");

	struct cairn_ages two = {0};
	cairn_ages_clock_make(&clock, observed);
	two.freed[ilogb(10e9) - 13] = 100;
	two.freed[ilogb(200e9) - 13] = 10;
	double longest = cairn_ages_longest(&two, &clock, 5);
	ok(longest > 100 && longest < 250, "the longest ordinary lifetime is that of the rare long ones: %.0f s", longest);
	ok(cairn_ages_longest(&two, &clock, 50) < 40, "unless they are too few to count");
}

int main(void)
{
	srand48(20240917);
	test_populations();
	test_kinds();
	test_long_lives();
	test_windows();
	test_edges();
	return tap_done();
}
