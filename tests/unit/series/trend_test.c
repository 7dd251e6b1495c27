/* trend_test.c - verdicts on made-up services whose truth is known, a hundred of each kind.
 *
 * Every point is drawn as a sampling profiler would see it: live bytes in objects of one size, each seen with a small chance.
 * Three worlds: one where every dump samples anew, one where the samples persist as they do in a real process, and one where they do
 * for a while, because objects come and go though there are always as many.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/trend.h"
#include "tap.h"

#include <stdlib.h>

enum { points = 24, paths = 40, seeds = 100, most_points = 96 };
static const double period = 524288, size = 4096;

static double uniform(void)
{
	return drand48();
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

/* How many of COUNT objects are seen. */
static double seen(double count, double chance)
{
	double mean = count * chance;
	if (mean > 50)
		return fmax(0, round(mean + sqrt(mean * (1 - chance)) * normal()));
	double hits = 0;
	for (double i = 0; i < count; i++)
		hits += uniform() < chance;
	return hits;
}

typedef double truth(double step, double scale);

static double constant(double step, double scale) { (void)step; return scale; }
static double leak(double step, double scale) { return scale + 6e6 * step; }
static double cache(double step, double scale) { return scale * (1 - exp(-step / 3)); }
static double sawtooth(double step, double scale) { return scale + 0.6 * scale * fmod(step, 4) / 3; }
static double shrink(double step, double scale) { return scale - 6e6 * step; }

/* What is sampled in a dump: all of it anew, or of what was there before all but the share CHURN, and of what came since. */
struct world {
	const char *name;
	bool persists;
	double churn;
};

static const struct world fresh = {"fresh", false, 0}, lasting = {"lasting", true, 0}, slow = {"slowly changing", true, 0.02},
			  fast = {"changing", true, 0.1}, faster = {"fast changing", true, 0.3};

static void draw(struct cairn_trend_point *series, int count, truth *live, double scale, const struct world *world, int restart_at)
{
	double chance = 1 - exp(-size / period), kept = 0, before = 0;
	for (int i = 0; i < count; i++) {
		double step = restart_at && i >= restart_at ? i - restart_at : i;
		double objects = floor(live(step, scale) / size);
		if (world->churn > 0) {
			kept -= seen(kept, world->churn);
			before -= floor(before * world->churn);
		}
		if (!world->persists || step == 0)
			kept = seen(objects, chance);
		else if (objects > before)
			kept += seen(objects - before, chance);
		else
			kept -= round(kept * (before - objects) / fmax(before, 1));
		before = objects;
		series[i] = (struct cairn_trend_point){.hours = i / 6.0, .value = kept * size / chance, .error = sqrt(fmax(kept, 1) * (1 - chance)) * size / chance,
						       .run = restart_at && i >= restart_at};
	}
}

static struct cairn_trend judge_points(int count, truth *live, double scale, const struct world *world, int restart_at)
{
	struct cairn_trend_point series[most_points];
	struct cairn_trend trend;
	double *scratch = malloc(cairn_trend_scratch((size_t)count) * sizeof *scratch);
	draw(series, count, live, scale, world, restart_at);
	cairn_trend_judge(&trend, series, (size_t)count, paths, scratch);
	free(scratch);
	return trend;
}

static struct cairn_trend judge(truth *live, double scale, const struct world *world, int restart_at)
{
	return judge_points(points, live, scale, world, restart_at);
}

static void test_kind(const char *name, truth *live, double scale, enum cairn_verdict wanted, int restart_at, int least)
{
	const struct world *worlds[] = {&fresh, &lasting, &slow};
	for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
		int right = 0, rate = 0;
		for (int seed = 0; seed < seeds; seed++) {
			srand48(seed);
			struct cairn_trend trend = judge(live, scale, worlds[w], restart_at);
			right += trend.verdict == wanted;
			rate += fabs(fabs(trend.per_hour) - 36e6) < 9e6;
		}
		ok(right >= least, "%s, %s samples: %d of %d are called %s", name, worlds[w]->name, right, seeds, cairn_verdict_name(wanted));
		if (wanted == CAIRN_GROWING || wanted == CAIRN_SHRINKING)
			ok(rate >= least, "%s, %s samples: the rate is within a quarter in %d of %d", name, worlds[w]->name, rate, seeds);
	}
}

/* Steady, but the first dumps came before it was there. */
static double late_start(double step, double scale) { return step < 3 ? 0 : scale; }

/* A service in which nothing grows: how often is anything called growing? */
static void test_noise(const char *name, truth *live)
{
	const struct world *worlds[] = {&fresh, &lasting, &slow, &fast, &faster};
	static const int counts[] = {8, 12, 24, 48, 96};
	for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++)
		for (size_t c = live == constant ? 0 : 2; c < sizeof counts / sizeof *counts; c++) {
			int alarms = 0;
			for (int seed = 0; seed < seeds; seed++) {
				srand48(seed);
				bool alarm = false;
				for (int path = 0; path < paths; path++)
					alarm |= judge_points(counts[c], live, 5e6 + 75e6 * uniform(), worlds[w], 0).verdict == CAIRN_GROWING;
				alarms += alarm;
			}
			ok(alarms <= 5, "%s, %s samples, %d dumps: %d of %d services raise an alarm", name, worlds[w]->name, counts[c], alarms, seeds);
		}
}

/* A cache that is full long before the end, and so many dumps that its beginning weighs little. */
static void test_long_cache(void)
{
	const struct world *worlds[] = {&fresh, &lasting, &slow, &fast, &faster};
	for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
		int right = 0;
		for (int seed = 0; seed < seeds; seed++) {
			srand48(seed);
			right += judge_points(most_points, cache, 900e6, worlds[w], 0).verdict != CAIRN_GROWING;
		}
		ok(right >= 95, "a cache that was filled long ago, %s samples: %d of %d are not called growing", worlds[w]->name, right, seeds);
	}
}

static void test_small(void)
{
	double scratch[8];
	struct cairn_trend trend;
	struct cairn_trend_point two[] = {{.hours = 0, .value = 1}, {.hours = 1, .value = 5}};
	cairn_trend_judge(&trend, two, 0, 1, scratch);
	is_int(trend.verdict, CAIRN_PLATEAUED, "no points, no verdict");
	cairn_trend_judge(&trend, two, 2, 1, scratch);
	is_near(trend.per_hour, 4, 1e-9, "two points have a slope");
	struct cairn_trend_point same[] = {{.hours = 1, .value = 1}, {.hours = 1, .value = 2}, {.hours = 1, .value = 3}};
	cairn_trend_judge(&trend, same, 3, 1, scratch);
	ok(trend.verdict != CAIRN_GROWING, "three points at one instant are no growth");
}

/* A service that restarts so often that every run has a few dumps only, and of late leaks. */
static void test_many_runs(void)
{
	enum { runs = 100, each = 3, began = 50, count = runs * each };
	struct cairn_trend_point series[count];
	struct cairn_trend trend;
	double *scratch = calloc(cairn_trend_scratch(count), sizeof *scratch);
	for (int i = 0; i < count; i++)
		series[i] = (struct cairn_trend_point){.hours = i, .value = i / each >= began ? 1e8 + 1e7 * (i % each) : 1e8, .error = 1e5, .run = (unsigned)(i / each)};
	cairn_trend_judge(&trend, series, count, 1, scratch);
	is_int(trend.verdict, CAIRN_GROWING, "a hundred runs of three dumps: the leak of the later ones is seen");
	is_near(trend.per_hour, 1e7, 1e6, "and its rate");
	free(scratch);
}

int main(void)
{
	test_kind("a leak", leak, 200e6, CAIRN_GROWING, 0, 95);
	test_kind("a leak across a restart", leak, 200e6, CAIRN_GROWING, 11, 90);
	test_kind("a cache that fills", cache, 900e6, CAIRN_PLATEAUED, 0, 95);
	test_kind("a sawtooth", sawtooth, 300e6, CAIRN_SAWTOOTH, 0, 95);
	test_kind("a path that shrinks", shrink, 400e6, CAIRN_SHRINKING, 0, 95);
	test_kind("a steady path", constant, 80e6, CAIRN_PLATEAUED, 0, 95);
	test_noise("noise alone", constant);
	test_noise("noise behind a late start", late_start);
	test_long_cache();
	test_small();
	test_many_runs();
	return tap_done();
}
