/* weak.c - services with a leak that is hard to find, and with what is taken for one most easily.
 *
 * Forty paths hold a gigabyte together. The leak adds half a percent of that from dump to dump to a path of 38 samples that live for three
 * intervals: a test that knew the path and its noise would find nearly all of them in eight dumps (doc/statistics.md).
 * SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include "simulate.h"

enum { walk_steps = 64 };
static const double whole = 1e9, usual_period = 512 * 1024.0;
static struct sim_path paths[SCENARIO_PATHS];

/* What is in a service beside its ordinary paths. */
enum beside { leaks = 1, queues = 2, queues_narrowly = 4, fills = 8, turns_over = 16, stops = 32, steps = 64, swings = 128, cycles = 256 };

struct weak_cell {
	const char *name, *wanted;
	int dumps;
	unsigned beside;
	double begins;  /* the leak, as a share of the time; or when it stops */
	int restart;
	double period;  /* 0 for the usual one */
	double size_low, size_high; /* of ordinary objects; 0 for 64 B to 64 KiB */
	size_t ordinary; /* paths; 0 for forty */
};

static const struct weak_cell cells[] = {
	{"weak: nothing leaks, 8 dumps", "alarms <= 1 %", 8},
	{"weak: nothing leaks, 24 dumps", "alarms <= 1 %", 24},
	{"weak: objects of 1 MiB, 8 dumps", "alarms <= 1 %", 8, .size_low = 1 << 20, .size_high = 1 << 20},
	{"weak: objects of 1 MiB, 24 dumps", "alarms <= 1 %", 24, .size_low = 1 << 20, .size_high = 1 << 20},
	{"weak: sizes to 64 MiB, 24 dumps", "alarms <= 1 %", 24, .size_low = 64, .size_high = 64 << 20},
	{"weak: period 64 KiB, 5 dumps", "alarms <= 1 %", 5, .period = 65536},
	{"weak: period 64 KiB, 24 dumps", "alarms <= 1 %", 24, .period = 65536},
	{"weak: all sampled, 8 dumps", "alarms <= 1 %", 8, .period = 1, .size_low = 4096, .size_high = 65536},
	{"weak: step, 8 dumps", "alarms <= 1 %", 8, steps},
	{"weak: step, 24 dumps", "alarms <= 1 %", 24, steps},
	{"weak: sawtooth, 24 dumps", "alarms <= 1 %", 24, swings},
	{"weak: daily rhythm, 48 dumps", "alarms <= 1 %", 48, cycles},
	{"weak: restart, 8 dumps", "alarms <= 1 %", 8, .restart = 4},
	{"weak: restart, 24 dumps", "alarms <= 1 %", 24, .restart = 12},
	{"weak: cache fills, 24 dumps", "alarms <= 1 %", 24, fills},
	{"weak: cache fills with turnover, 24 dumps", "alarms <= 1 %", 24, fills | turns_over},
	{"weak: cache fills, 8 dumps", "alarms <= 1 %", 8, fills},
	{"weak: cache fills with turnover, 8 dumps", "alarms <= 1 %", 8, fills | turns_over},
	{"weak: stopped at 60 %, 8 dumps", "alarms <= 1 %", 8, stops, 0.6},
	{"weak: stopped at 80 %, 8 dumps", "alarms <= 5 %", 8, stops, 0.8},
	{"weak: stopped at 80 %, 24 dumps", "alarms <= 1 %", 24, stops, 0.8},
	{"weak: queue, 8 dumps", "alarms <= 3 %", 8, queues},
	{"weak: queue, 24 dumps", "alarms <= 3 %", 24, queues},
	{"weak: narrow queue, 8 dumps", "alarms <= 3 %", 8, queues_narrowly},
	{"weak: narrow queue, 24 dumps", "alarms <= 3 %", 24, queues_narrowly},
	{"weak: leak, 8 dumps", "found >= 87 %, alarms <= 1 %", 8, leaks},
	{"weak: leak, 24 dumps", "found >= 97 %, alarms <= 1 %", 24, leaks},
	{"weak: leak among 5,000 paths", "found >= 90 %, alarms <= 1 %", 24, leaks, .ordinary = 5000},
	{"weak: leak from 75 % on", "found >= 70 %, alarms <= 1 %", 24, leaks, 0.75},
	{"weak: leak from half on", "found >= 80 %, alarms <= 1 %", 24, leaks, 0.5},
	{"weak: leak beside a step, 8 dumps", "found >= 85 %, alarms <= 1 %", 8, leaks | steps},
	{"weak: leak beside a queue", "found >= 90 %, alarms <= 3 %", 24, leaks | queues},
	{"weak: leak beside one that stopped", "found >= 90 %, alarms <= 1 %", 24, leaks | stops},
	{"weak: leak beside a filling cache", "found >= 90 %, alarms <= 1 %", 24, leaks | fills},
	{"weak: leak beside a cache with turnover", "found >= 90 %, alarms <= 1 %", 24, leaks | fills | turns_over},
	{"weak: leak since the restart", "found >= 80 %, alarms <= 1 %", 24, leaks, 0.5, .restart = 12},
	{"weak: leak and restart", "found >= 80 %, alarms <= 1 %", 24, leaks, .restart = 12},
};

static double between(double low, double high)
{
	return low * pow(high / low, sim_uniform());
}

/* Ordinary paths hold WHOLE together. */
static void make_ordinary(const struct weak_cell *cell, struct sim_path *ordinary, size_t count)
{
	double low = cell->size_low > 0 ? cell->size_low : 64, high = cell->size_high > 0 ? cell->size_high : 65536, all = 0;
	for (size_t p = 0; p < count; p++) {
		size_t parts = 1 + (size_t)(sim_uniform() * 3);
		ordinary[p] = (struct sim_path){.level = 0.2 + 1.6 * sim_uniform(), .lifetime = between(0.3, 100),
						.exact = sim_uniform() < 0.5};
		for (size_t i = 0; i < parts; i++)
			ordinary[p].parts[i] = (struct sim_part){.size = round(between(low, high) / 16) * 16, .share = 1.0 / (double)parts};
		all += ordinary[p].level;
	}
	for (size_t p = 0; p < count; p++)
		ordinary[p].level *= whole / all;
}

/* The leak of a run of the process that began with dump `state`, from the share `at` of the time on. */
static double leak_from(const struct sim_path *path, double i, double count)
{
	double begin = fmax(path->at * (count - 1), i >= path->state ? path->state : 0);
	return path->rate * fmax(0, i - begin);
}

static double leak_until(const struct sim_path *path, double i, double count)
{
	return path->rate * fmin(i + 1, path->at * (count - 1) + 1);
}

static double walk[walk_steps];

static double target_walk(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * fmax(0.05, 1 + walk[(int)i]);
}

/* A random walk; after COUNT dumps its deviation is SPAN. */
static void make_walk(double span, int count)
{
	walk[0] = 0;
	for (int i = 1; i < walk_steps; i++)
		walk[i] = walk[i - 1] + span / sqrt(count - 1) * sim_normal();
}

static double target_fill(const struct sim_path *path, double i, double count)
{
	return path->level * -expm1(-(i + 1) / (path->rate * (count - 1)));
}

static double target_step(const struct sim_path *path, double i, double count)
{
	return i >= path->at * count ? path->level : 0;
}

static double target_saw(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * (1 + fmod(i + path->at, path->rate) / path->rate);
}

static double target_sine(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * (1 + 0.5 * sin(2 * M_PI * i / path->rate + path->at));
}

/* Makes what is beside the ordinary paths, the leak first. Returns how many paths that are. */
static size_t make_beside(const struct weak_cell *cell)
{
	const struct sim_part part = {.size = 4096, .share = 1};
	size_t count = 0;
	double leak = 0.005 * whole;
	if (cell->beside & leaks)
		paths[count++] = (struct sim_path){.level = 38 * usual_period, .lifetime = 3, .rate = leak, .leaked = leak_from,
						   .at = cell->begins, .state = cell->restart, .grows = true};
	if (cell->beside & stops)
		paths[count++] = (struct sim_path){.rate = leak, .leaked = leak_until, .at = cell->begins > 0 ? cell->begins : 0.8};
	if (cell->beside & steps)
		paths[count++] = (struct sim_path){.level = 0.08 * whole, .target = target_step, .at = 0.2 + 0.7 * sim_uniform(),
						   .lifetime = between(1, 50), .exact = true};
	if (cell->beside & (queues | queues_narrowly)) {
		bool narrow = cell->beside & queues_narrowly;
		make_walk(narrow ? 0.15 : 0.1 * sqrt(cell->dumps - 1), cell->dumps);
		paths[count++] = (struct sim_path){.level = (narrow ? 0.3 : 0.08) * whole, .target = target_walk,
						   .lifetime = narrow ? 1 : 0.2, .exact = true};
	}
	if (cell->beside & fills)
		paths[count++] = (struct sim_path){.level = 0.4 * whole, .rate = 1 / 3.0, .target = target_fill, .exact = true,
						   .lifetime = cell->beside & turns_over ? between(2, 20) : 1e6};
	if (cell->beside & swings)
		paths[count++] = (struct sim_path){.level = 0.15 * whole, .rate = 6, .at = floor(6 * sim_uniform()), .target = target_saw,
						   .lifetime = 5, .exact = true};
	if (cell->beside & cycles)
		paths[count++] = (struct sim_path){.level = 0.15 * whole, .rate = 12, .at = 6.28 * sim_uniform(), .target = target_sine,
						   .lifetime = 1, .exact = true};
	for (size_t p = 0; p < count; p++)
		paths[p].parts[0] = part;
	return count;
}

static void make(size_t number, uint64_t seed, struct cairn_series *series, struct scenario_truth *truth)
{
	const struct weak_cell *cell = &cells[number];
	memset(paths, 0, sizeof paths);
	sim_seed(seed);
	size_t special = make_beside(cell), ordinary = cell->ordinary ? cell->ordinary : 40, count = special + ordinary;
	make_ordinary(cell, paths + special, ordinary);
	truth->special = special > 0;
	truth->spread = false;
	truth->per_hour = 0;
	for (size_t p = 0; p < count; p++) {
		double rate = paths[p].grows ? paths[p].rate * SCENARIO_DUMPS_PER_HOUR : 0;
		truth->paths[p] = (struct scenario_path){.grows = paths[p].grows, .per_hour = rate,
							 .since = paths[p].grows && cell->begins > 0 ? cell->begins * (cell->dumps - 1) : -1};
		truth->per_hour += rate;
	}
	sim_irregular = sim_late = false;
	sim_missing = 0;
	sim_gap = NULL;
	sim_series(series, paths, count, cell->dumps, cell->period > 0 ? cell->period : usual_period, cell->restart);
}

bool scenario_of_weak_leaks(size_t number, struct scenario *scenario)
{
	if (number >= sizeof cells / sizeof *cells)
		return false;
	*scenario = (struct scenario){cells[number].name, cells[number].wanted, cells[number].dumps, number, make};
	return true;
}
