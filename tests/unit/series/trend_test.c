/* trend_test.c - verdicts on single call paths whose truth is known, forty services of each kind.
 *
 * tests/bench/statistics.c measures how often verdicts are right; here the bounds are so wide that chance does not break them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"
#include "tap.h"

enum { seeds = 40, most_dumps = 96, paths_together = 40 };
static const double period = 524288, megabyte = 1e6;

static struct cairn_trend judge(const double *values, const double *hours, const uint32_t *run, size_t count, double unit)
{
	struct cairn_trend_clock clock;
	struct cairn_trend_judge judge;
	struct cairn_trend trend;
	cairn_trend_clock_make(&clock, hours, run, count);
	cairn_trend_judge_open(&judge, &clock);
	cairn_trend_judge(&trend, &judge, values, (struct cairn_unit_size){unit, true}, paths_together);
	cairn_trend_judge_close(&judge);
	return trend;
}

/* PATH over so many dumps, ten minutes apart; a second process from RESTART on, unless that is 0. */
static struct cairn_trend watch(struct sim_path path, int dumps, int restart)
{
	double values[most_dumps], hours[most_dumps], unit = 0;
	uint32_t run[most_dumps];
	path.parts[0] = (struct sim_part){.size = 4096, .share = 1};
	for (int i = 0; i < dumps; i++) {
		double objects, bytes;
		bool start = i == 0 || (restart && i == restart);
		if (start)
			path.parts[0].sampled = path.parts[0].born_sampled = 0;
		sim_step(&path, restart && i >= restart ? i - restart : i, dumps, period, start);
		sim_print(&path, period, &objects, &bytes);
		cairn_unsample(CAIRN_UNSAMPLE_POISSON, period, &objects, &bytes);
		values[i] = bytes;
		hours[i] = i / 6.0;
		run[i] = restart && i >= restart;
		unit = 4096 / sim_chance(4096, period);
	}
	return judge(values, hours, run, (size_t)dumps, unit);
}

static double leak(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->rate * fmax(0, i - path->at);
}

static double leak_until(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->rate * fmin(i, path->at);
}

static double step(const struct sim_path *path, double i, double count)
{
	(void)count;
	return i >= path->at ? path->level + path->rate : path->level;
}

static double fill(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * -expm1(-(i + 1) / path->at);
}

static double swing(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * (1 + fmod(i, 6) / 6);
}

static double shrink(const struct sim_path *path, double i, double count)
{
	return path->level * (1 - 0.8 * i / count);
}

struct counted {
	int of[8], rate_right, since_right, level_right;
};

static struct counted count(struct sim_path path, int dumps, int restart)
{
	struct counted counted = {{0}, 0, 0, 0};
	for (int seed = 0; seed < seeds; seed++) {
		sim_seed((uint64_t)seed + 1);
		struct cairn_trend trend = watch(path, dumps, restart);
		counted.of[trend.verdict]++;
		counted.rate_right += fabs(fabs(trend.per_hour) - 6 * path.rate) < 1.5 * path.rate;
		counted.since_right += fabs(trend.since * 6 - path.at) <= 3;
		counted.level_right += trend.level_low <= path.level && path.level <= trend.level_high;
	}
	return counted;
}

static void test_growth(void)
{
	struct counted of = count((struct sim_path){.level = 100 * megabyte, .lifetime = 10, .rate = 8 * megabyte, .leaked = leak}, 24, 0);
	ok(of.of[CAIRN_GROWING] >= 38 && of.rate_right >= 34,
	   "a leak grows in %d of %d, at its rate in %d", of.of[CAIRN_GROWING], seeds, of.rate_right);
	of = count((struct sim_path){.level = 40 * megabyte, .lifetime = 10, .rate = 8 * megabyte, .at = 12, .leaked = leak}, 24, 0);
	ok(of.of[CAIRN_GROWING] >= 36 && of.rate_right >= 32,
	   "one that began in the middle in %d, at the rate of now in %d", of.of[CAIRN_GROWING], of.rate_right);
	ok(of.since_right >= 34, "and since then in %d", of.since_right);
	of = count((struct sim_path){.rate = 8 * megabyte, .leaked = leak}, 8, 0);
	ok(of.of[CAIRN_GROWING] >= 34, "eight dumps show it in %d", of.of[CAIRN_GROWING]);
	of = count((struct sim_path){.level = 40 * megabyte, .lifetime = 10, .rate = 8 * megabyte, .leaked = leak}, 24, 12);
	ok(of.of[CAIRN_GROWING] >= 34, "a leak that goes on after a restart grows in %d", of.of[CAIRN_GROWING]);
	of = count((struct sim_path){.level = 400 * megabyte, .lifetime = 20, .exact = true, .target = shrink}, 24, 0);
	ok(of.of[CAIRN_SHRINKING] >= 36, "what shrinks does in %d", of.of[CAIRN_SHRINKING]);
}

static void test_rest(void)
{
	struct counted of = count((struct sim_path){.level = 80 * megabyte, .lifetime = 5}, 24, 0);
	ok(of.of[CAIRN_STEADY] >= 36 && of.of[CAIRN_GROWING] == 0, "a steady path is steady in %d of %d", of.of[CAIRN_STEADY], seeds);
	of = count((struct sim_path){.rate = 8 * megabyte, .at = 19, .leaked = leak_until}, 24, 0);
	ok(of.of[CAIRN_STOPPED] >= 34 && of.of[CAIRN_GROWING] <= 2, "growth that stopped has in %d", of.of[CAIRN_STOPPED]);
	of = count((struct sim_path){.level = 80 * megabyte, .rate = 80 * megabyte, .at = 10,
			.lifetime = 10, .exact = true, .target = step}, 24, 0);
	ok(of.of[CAIRN_STOPPED] >= 34 && of.of[CAIRN_GROWING] <= 1, "a step has stopped in %d", of.of[CAIRN_STOPPED]);
	of = count((struct sim_path){.level = 400 * megabyte, .at = 8, .lifetime = 50, .exact = true, .target = fill}, 24, 0);
	ok(of.of[CAIRN_FILLING] >= 34 && of.level_right >= 32,
	   "a cache fills in %d, towards its level in %d", of.of[CAIRN_FILLING], of.level_right);
	of = count((struct sim_path){.level = 200 * megabyte, .at = 3, .lifetime = 10, .exact = true, .target = fill}, 24, 12);
	ok(of.of[CAIRN_GROWING] <= 1, "one that fills again after a restart grows in %d", of.of[CAIRN_GROWING]);
	of = count((struct sim_path){.level = 150 * megabyte, .lifetime = 5, .exact = true, .target = swing}, 24, 0);
	ok(of.of[CAIRN_SAWTOOTH] >= 36, "a sawtooth is one in %d", of.of[CAIRN_SAWTOOTH]);
}

static void test_few(void)
{
	double values[12] = {0}, hours[12];
	uint32_t run[12] = {0};
	for (int i = 0; i < 12; i++)
		hours[i] = i;
	values[11] = 1e6;
	ok(judge(values, hours, run, 12, 1e6).verdict == CAIRN_TOO_EARLY, "one sample in the last of twelve dumps: too early to tell");
	struct cairn_trend trend = judge(values, hours, run, 2, 1e6);
	ok(trend.verdict == CAIRN_TOO_EARLY && trend.more_dumps > 0, "and two dumps are, with a number");
	ok(judge(values, hours, run, 0, 1e6).verdict == CAIRN_TOO_EARLY, "and none at all");
	for (int i = 0; i < 12; i++)
		values[i] = 1e6 * (i + 1);
	double same[12] = {0};
	ok(judge(values, same, run, 12, 1e6).verdict != CAIRN_GROWING, "dumps of one instant show no growth");
	for (int i = 0; i < 12; i++)
		values[i] = 5e6;
	trend = judge(values, hours, run, 12, 1e6);
	ok(trend.verdict == CAIRN_STEADY && trend.confidence > 0.5 && trend.confidence < 1, "what never changed is steady, but its noise is not nothing");
	values[3] = NAN;
	ok(judge(values, hours, run, 12, 1e6).verdict != CAIRN_GROWING, "a number that is none is no growth");
}

/* A service that restarts so often that every run has a few dumps only, and leaks. */
static void test_many_runs(void)
{
	enum { runs = 100, each = 3, all = runs * each };
	static double values[all], hours[all];
	static uint32_t run[all];
	sim_seed(7);
	for (int i = 0; i < all; i++) {
		values[i] = 1e8 + 1e7 * (i % each) + 1e5 * sim_normal();
		hours[i] = i;
		run[i] = (uint32_t)(i / each);
	}
	struct cairn_trend trend = judge(values, hours, run, all, 1e5);
	ok(trend.confidence >= 0 && trend.confidence <= 1, "a hundred runs of three dumps are judged: %s", cairn_verdict_name(trend.verdict));
}

int main(void)
{
	test_growth();
	test_rest();
	test_few();
	test_many_runs();
	return tap_done();
}
