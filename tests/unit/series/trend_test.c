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
	trend = judge(values, hours, run, 11, 0);
	ok(trend.verdict == CAIRN_STEADY && trend.confidence < 0.95 && trend.more_dumps == 0,
	   "a path that never held anything is steady, as far as one can tell");
	for (int i = 0; i < 12; i++)
		values[i] = 1e6 * (i + 1);
	double same[12] = {0};
	ok(judge(values, same, run, 12, 1e6).verdict != CAIRN_GROWING, "dumps of one instant show no growth");
	for (int i = 0; i < 12; i++)
		values[i] = 5e6;
	trend = judge(values, hours, run, 12, 1e6);
	ok(trend.verdict == CAIRN_STEADY && trend.confidence > 0.5 && trend.confidence < 1,
	   "what never changed is steady, but its noise is not nothing");
	values[3] = NAN;
	ok(judge(values, hours, run, 12, 1e6).verdict != CAIRN_GROWING, "a number that is none is no growth");
}

/* Caches that fill within a run, and again in the next, by chance so evenly that each run alone looks like a line. */
static void test_refill(void)
{
	enum { dumps = 24, restart = 12, caches = 4 };
	static const double megabytes[caches][dumps] = {
		{5.78, 10.5, 12.6, 13.1, 14.2, 16.3, 18.4, 22, 21.5, 22, 23.1, 25.7,
		 6.3, 6.3, 9.45, 13.6, 17.8, 21.5, 21.5, 21.5, 22.6, 26.8, 26.2, 25.2},
		{11.5, 17.3, 24.6, 26.2, 27.3, 30.4, 26.7, 28.8, 30.4, 31.5, 38.8, 43.5,
		 9.44, 13.6, 18.4, 26.2, 30.9, 29.4, 29.9, 34.6, 33.6, 39.9, 38.3, 39.3},
		{22, 33.6, 50.4, 47.2, 53.5, 52.5, 58.3, 65.1, 65.6, 66.7, 76.1, 78.2,
		 26.8, 44.6, 43, 46.7, 55.6, 55.6, 60.4, 67.7, 69.8, 71.4, 75.1, 75.6},
		{8.59, 14.5, 20.9, 24.7, 24.1, 26.8, 27.9, 33.8, 32.7, 37.6, 41.3, 44.5,
		 13.4, 25.2, 33.8, 36.5, 40.2, 38.1, 38.1, 33.3, 35.4, 37, 41.3, 46.2},
	};
	double values[dumps], hours[dumps];
	uint32_t run[dumps];
	int growing = 0;
	for (int c = 0; c < caches; c++) {
		for (int i = 0; i < dumps; i++) {
			values[i] = megabyte * megabytes[c][i];
			hours[i] = i / 6.0;
			run[i] = i >= restart;
		}
		struct cairn_trend trend = judge(values, hours, run, dumps, period);
		growing += trend.verdict == CAIRN_GROWING;
	}
	ok(growing == 0, "of %d caches that fill as before the restart, %d grow", caches, growing);
}

/* A path that appears some time after a restart: zeros before its first sample in the last run are no part of its course. BEFORE is what it
 * held in the run before; COURSE is what it has held since it appeared. */
static struct cairn_trend appear(int dumps, int restart, double before, const double *course, int points)
{
	double values[most_dumps] = {0}, hours[most_dumps];
	uint32_t run[most_dumps];
	for (int i = 0; i < dumps; i++) {
		hours[i] = i / 6.0;
		run[i] = restart && i >= restart;
		if (i < restart)
			values[i] = before * period;
		if (i >= dumps - points)
			values[i] = course[i - (dumps - points)] * period;
	}
	return judge(values, hours, run, (size_t)dumps, period);
}

static void test_appearance(void)
{
	static const double line[] = {300, 330, 360, 390, 420, 450}, level[] = {300, 303, 298, 301, 299, 302};
	struct cairn_trend without = appear(30, 0, 0, line, 6), after = appear(30, 6, 0, line, 6);
	ok(without.verdict == CAIRN_GROWING, "a path that appears and rises in a line is %s", cairn_verdict_name(without.verdict));
	ok(after.verdict == without.verdict && after.per_hour == without.per_hour && after.confidence == without.confidence &&
		   after.since == without.since,
	   "and after a restart just the same: %s", cairn_verdict_name(after.verdict));
	struct cairn_trend held = appear(30, 6, 10, line, 6);
	ok(held.verdict == CAIRN_GROWING, "also if it held a little before the restart: %s", cairn_verdict_name(held.verdict));
	struct cairn_trend rests = appear(30, 6, 10, level, 6);
	ok(rests.verdict == CAIRN_STEADY, "one that appears and rests is %s", cairn_verdict_name(rests.verdict));
	struct cairn_trend few = appear(30, 6, 10, line, 2);
	ok(few.verdict == CAIRN_TOO_EARLY && few.more_dumps == 1, "two dumps after it appeared are too few: %s, %u more dumps",
	   cairn_verdict_name(few.verdict), few.more_dumps);
	struct cairn_trend gone = appear(30, 6, 10, line, 0);
	ok(gone.verdict != CAIRN_GROWING && gone.verdict != CAIRN_FILLING, "one that is gone since the restart is %s",
	   cairn_verdict_name(gone.verdict));
}

/* A leak that appears late in the first run and goes on after the restart. */
static void test_appearance_before(void)
{
	enum { dumps = 30, restart = 18, appears = 10 };
	double values[dumps] = {0}, hours[dumps];
	uint32_t run[dumps];
	for (int i = 0; i < dumps; i++) {
		hours[i] = i / 6.0;
		run[i] = i >= restart;
		values[i] = period * (i < appears ? 0 : i < restart ? 300 + 30 * (i - appears) : 100 + 30 * (i - restart));
	}
	struct cairn_trend trend = judge(values, hours, run, dumps, period);
	ok(trend.verdict == CAIRN_GROWING, "a leak that appeared late before the restart and goes on after it is %s",
	   cairn_verdict_name(trend.verdict));
}

/* A leak of the release before: the process that runs now has none of it. */
static void test_gone(void)
{
	enum { dumps = 24 };
	double values[dumps], hours[dumps];
	uint32_t run[dumps];
	for (int length = 1; length <= 8; length++) {
		for (int i = 0; i < dumps; i++) {
			hours[i] = i / 6.0;
			run[i] = i >= dumps - length;
			values[i] = run[i] ? 0 : period * (100 + 30 * i);
		}
		struct cairn_trend trend = judge(values, hours, run, dumps, period);
		ok(trend.verdict != CAIRN_GROWING && trend.verdict != CAIRN_FILLING,
		   "a leak that %d dumps after a restart do not have is %s", length, cairn_verdict_name(trend.verdict));
	}
}

/* How many of the paths are called growing, of 100 samples to begin with, if so many samples come and go in each interval; with COUNTED,
 * the dumps say how many did. */
static int growing_of(double comes, double goes, bool counted)
{
	enum { dumps = 8 };
	int growing = 0;
	for (int seed = 0; seed < seeds; seed++) {
		double values[dumps] = {100 * period}, hours[dumps] = {0};
		struct cairn_unit_size unit = {.amount = period, .known = true, .counted = counted};
		uint32_t run[dumps] = {0};
		struct cairn_trend_clock clock;
		struct cairn_trend_judge judge;
		struct cairn_trend trend;
		sim_seed((uint64_t)seed + 100);
		for (int i = 1; i < dumps; i++) {
			double came = sim_poisson(comes), went = sim_poisson(goes);
			unit.came += came;
			unit.went += went;
			hours[i] = i / 6.0;
			values[i] = values[i - 1] + (came - went) * period;
		}
		cairn_trend_clock_make(&clock, hours, run, dumps);
		cairn_trend_judge_open(&judge, &clock);
		cairn_trend_judge(&trend, &judge, values, unit, paths_together);
		cairn_trend_judge_close(&judge);
		growing += trend.verdict == CAIRN_GROWING;
	}
	return growing;
}

static void test_counts(void)
{
	int with = growing_of(4, 0.5, true), without = growing_of(4, 0.5, false), balanced = growing_of(5, 5, true);
	ok(with >= 16 && with > without + 5, "where little is freed, counts of what came and went show growth in %d of %d, not in %d", with,
	   seeds, without);
	ok(balanced == 0, "what comes and goes in balance grows in %d", balanced);
}

/* A leak so weak that few dumps hardly show it, beside the same population without one: 38 samples that live for three intervals, and
 * 9.5 more in each (tests/bench/weak.c). */
static void test_weak_leak(void)
{
	int growing[2] = {0};
	for (int leaks = 0; leaks < 2; leaks++)
		for (int seed = 0; seed < seeds; seed++) {
			struct sim_path path = {.level = 38 * period, .lifetime = 3, .rate = leaks ? 5 * megabyte : 0, .leaked = leak};
			sim_seed((uint64_t)seed + 300);
			growing[leaks] += watch(path, 8, 0).verdict == CAIRN_GROWING;
		}
	ok(growing[1] >= 32 && growing[0] <= 1, "of %d weak leaks in 8 dumps %d grow, of those without a leak %d", seeds, growing[1],
	   growing[0]);
}

/* Objects that are never freed, and of which none came since the last dump but one. */
static void test_ended_lately(void)
{
	double values[8], hours[8];
	uint32_t run[8] = {0};
	for (int i = 0; i < 8; i++) {
		hours[i] = i / 6.0;
		values[i] = period * (100 + 20 * fmin(i, 6));
	}
	struct cairn_trend trend = judge(values, hours, run, 8, period);
	ok(trend.verdict == CAIRN_TOO_EARLY && trend.more_dumps > 0, "what only added and has just paused is %s, not growing",
	   cairn_verdict_name(trend.verdict));
}

/* A path that holds the same in every dump: steady if its objects come and go, but not if nothing was ever freed. */
static void test_nothing_freed(void)
{
	enum { dumps = 12 };
	double values[dumps], hours[dumps];
	uint32_t run[dumps] = {0};
	struct cairn_trend_clock clock;
	struct cairn_trend_judge judge;
	struct cairn_trend trend;
	for (int i = 0; i < dumps; i++) {
		hours[i] = i / 6.0;
		values[i] = 100 * period;
	}
	cairn_trend_clock_make(&clock, hours, run, dumps);
	cairn_trend_judge_open(&judge, &clock);
	for (int freed = 0; freed < 2; freed++) {
		double went = freed ? 50 : 0;
		struct cairn_unit_size unit = {.amount = period, .known = true, .counted = true, .came = went, .went = went};
		cairn_trend_judge(&trend, &judge, values, unit, paths_together);
		is_int(trend.verdict, freed ? CAIRN_STEADY : CAIRN_TOO_EARLY, "a constant path of which %s was freed",
		       freed ? "much" : "nothing");
	}
	cairn_trend_judge_close(&judge);
}

/* The dumps right after a restart show nothing of a path but that it is there. */
static void test_after_restart(void)
{
	enum { before = 12 };
	for (int after = 1; after <= 2; after++) {
		struct cairn_trend trend;
		sim_seed(4);
		trend = watch((struct sim_path){.level = 100 * megabyte, .lifetime = 5}, before + after, before);
		is_int(trend.verdict, CAIRN_TOO_EARLY, "%d dumps after a restart, a path that held a constant amount", after);
	}
}

/* A sawtooth that repeats at about the pace of the dumps that are picked from very many. */
static void test_alias(void)
{
	enum { all = 640 };
	static double values[all], hours[all];
	static uint32_t run[all];
	static const double seconds[] = {597, 600, 603, 606};
	for (size_t s = 0; s < sizeof seconds / sizeof *seconds; s++) {
		sim_seed(3);
		for (int i = 0; i < all; i++) {
			double phase = fmod(60.0 * i, seconds[s]) / seconds[s];
			hours[i] = i / 60.0;
			values[i] = period * sim_poisson(200 + 200 * phase);
		}
		struct cairn_trend trend = judge(values, hours, run, all, period);
		ok(trend.verdict == CAIRN_SAWTOOTH && fabs(trend.period_hours * 60 - 10) < 1, "every %.0f s, with a dump each minute: %s",
		   seconds[s], cairn_verdict_name(trend.verdict));
	}
}

/* A leak of 20 samples a day under work that piles up by day and is freed at midnight. */
static void test_leak_under_swings(void)
{
	enum { days = 14, all = 24 * days };
	static double values[all], hours[all];
	static uint32_t run[all];
	for (int leaks = 0; leaks < 2; leaks++) {
		sim_seed(9);
		double leaked = 0;
		for (int i = 0; i < all; i++) {
			leaked += leaks ? sim_poisson(20 / 24.0) : 0;
			hours[i] = i;
			values[i] = period * (50 + leaked + sim_poisson(10.0 * (i % 24)));
		}
		struct cairn_trend trend = judge(values, hours, run, all, period);
		if (leaks)
			ok(trend.verdict == CAIRN_GROWING && fabs(trend.per_hour * 24 / period - 20) < 4 &&
				   fabs(trend.period_hours - 24) < 1,
			   "a leak under a sawtooth: %s, %.1f a day, under a rhythm of %.1f hours", cairn_verdict_name(trend.verdict),
			   trend.per_hour * 24 / period, trend.period_hours);
		else
			is_int(trend.verdict, CAIRN_SAWTOOTH, "a sawtooth without one");
	}
}

/* A step, seen by so many dumps since. */
static void test_last_step(void)
{
	enum { all = 24 };
	double values[all], hours[all];
	uint32_t run[all] = {0};
	for (int after = 1; after <= 3; after++) {
		sim_seed(4);
		for (int i = 0; i < all; i++) {
			hours[i] = i / 6.0;
			values[i] = period * sim_poisson(i < all - after ? 100 : 400);
		}
		struct cairn_trend trend = judge(values, hours, run, all, period);
		if (after < 3)
			ok(trend.verdict == CAIRN_TOO_EARLY && trend.more_dumps == 3 - (uint32_t)after,
			   "a jump that %d dumps show is %s, %u more are needed", after, cairn_verdict_name(trend.verdict),
			   trend.more_dumps);
		else
			is_int(trend.verdict, CAIRN_STOPPED, "one that three show has stopped");
	}
}

/* A leak, seen each hour and then twenty times within seconds. */
static void test_burst_at_the_end(void)
{
	enum { all = 28 };
	double values[all], hours[all], held = 0;
	uint32_t run[all] = {0};
	int right = 0;
	for (int seed = 0; seed < seeds; seed++) {
		sim_seed((uint64_t)seed + 50);
		held = 0;
		for (int i = 0; i < all; i++) {
			hours[i] = i < 8 ? i : 7 + (i - 7) / 3600.0;
			held += sim_poisson(i == 0 ? 100 : 60 * (hours[i] - hours[i - 1]));
			values[i] = held * period;
		}
		struct cairn_trend trend = judge(values, hours, run, all, period);
		right += trend.verdict == CAIRN_GROWING && fabs(trend.per_hour / period - 60) < 15;
	}
	ok(right >= 36, "dumps in quick succession at the end do not change the rate: right in %d of %d", right, seeds);
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
	ok(trend.confidence >= 0 && trend.confidence <= 1, "a hundred runs of three dumps are judged: %s",
	   cairn_verdict_name(trend.verdict));
}

int main(void)
{
	test_growth();
	test_rest();
	test_few();
	test_refill();
	test_appearance();
	test_appearance_before();
	test_counts();
	test_weak_leak();
	test_ended_lately();
	test_nothing_freed();
	test_after_restart();
	test_many_runs();
	test_gone();
	test_alias();
	test_leak_under_swings();
	test_last_step();
	test_burst_at_the_end();
	return tap_done();
}
