/* scenarios.c - services whose paths hold so much, and whose objects die by chance: what the verdicts are measured on.
 *
 * Longer than other files: one table has all kinds, each with the few lines that make its path.
 * SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include "simulate.h"

static struct sim_path paths[SCENARIO_PATHS];

struct cell {
	const char *name, *wanted;
	int dumps, restart;
	double period, size_low, size_high, lifetime;
	size_t steady; /* steady paths beside the special one */
	void (*special)(struct sim_path *path, double whole); /* NULL for none; WHOLE is what the service holds */
	size_t spread; /* the special one is so many paths, below one frame */
	bool cold;     /* caches start empty */
	bool irregular;
	bool missing; /* for as long as half of the dumps took, none was taken in the middle */
	double (*gap)(int i); /* how long before dump I the one before it was taken, in intervals; NULL for one */
	bool late;    /* sampling began with the first dump; the service had been running */
};

static double spread_of(double low, double high)
{
	return low * pow(high / low, sim_uniform());
}

/* jemalloc's size classes: four to each doubling. */
static double size_class(double size)
{
	double group = exp2(floor(log2(fmax(size, 64))) - 2);
	return ceil(size / group) * group;
}

static double warm_up(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * -expm1(-(i - path->at + 1) / path->rate);
}

static void make_steady(struct sim_path *path, const struct cell *cell)
{
	*path = (struct sim_path){.level = 5e6 + 75e6 * sim_uniform(),
				  .lifetime = cell->lifetime > 0 ? cell->lifetime : spread_of(0.3, 100)};
	int parts = 1 + (int)(sim_uniform() * 3);
	for (int p = 0; p < parts; p++)
		path->parts[p] = (struct sim_part){.size = size_class(spread_of(cell->size_low, cell->size_high)), .share = 1.0 / parts};
	path->exact = sim_uniform() < 0.5;
	if (cell->cold) {
		path->target = warm_up;
		path->rate = spread_of(0.5, 4);
		path->at = 0;
	}
}

static void one_size(struct sim_path *path, double size)
{
	path->parts[0] = (struct sim_part){.size = size, .share = 1};
}

/* Special paths. */

static double leak_line(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->rate * (i + 1);
}

static double leak_from(const struct sim_path *path, double i, double count)
{
	return path->rate * fmax(0, i - path->at * (count - 1));
}

static double leak_until(const struct sim_path *path, double i, double count)
{
	return path->rate * fmin(i + 1, path->at * (count - 1));
}

static void make_leak(struct sim_path *path, double whole)
{
	*path = (struct sim_path){.level = 0, .rate = 0.005 * whole, .leaked = leak_line, .grows = true};
	one_size(path, 4096);
}

static void make_based_leak(struct sim_path *path, double whole)
{
	*path = (struct sim_path){.level = 60e6, .lifetime = 5, .rate = 0.005 * whole, .leaked = leak_line, .grows = true};
	one_size(path, 4096);
}

static void make_half(struct sim_path *path, double whole)
{
	make_leak(path, whole);
	path->leaked = leak_from;
	path->at = 0.5;
	path->level = 40e6;
	path->lifetime = 10;
}

static void make_late(struct sim_path *path, double whole)
{
	make_half(path, whole);
	path->at = 0.75;
}

static void make_new_half(struct sim_path *path, double whole)
{
	make_half(path, whole);
	path->level = 0;
}

static void make_new_late(struct sim_path *path, double whole)
{
	make_late(path, whole);
	path->level = 0;
}

static void make_stopped(struct sim_path *path, double whole)
{
	make_leak(path, whole);
	path->leaked = leak_until;
	path->at = 0.8;
	path->grows = false;
}

static double target_step(const struct sim_path *path, double i, double count)
{
	return i >= path->at * count ? path->level + path->rate : path->level;
}

static void make_new_step(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 0, .rate = 80e6, .target = target_step, .at = 0.2 + 0.7 * sim_uniform(),
				  .lifetime = spread_of(1, 50), .exact = true};
	one_size(path, 4096);
}

static void make_old_step(struct sim_path *path, double whole)
{
	make_new_step(path, whole);
	path->level = 80e6;
}

static double wander[4096];

static double target_wander(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * fmax(0.05, 1 + wander[(int)i]);
}

static void walk(double step, double back)
{
	double at = 0;
	for (int i = 0; i < 4096; i++) {
		at += step * sim_normal() - back * at;
		wander[i] = at;
	}
}

static void make_queue(struct sim_path *path, double whole)
{
	(void)whole;
	walk(0.1, 0.02);
	*path = (struct sim_path){.level = 80e6, .target = target_wander, .lifetime = 0.2, .exact = true};
	one_size(path, 4096);
}

static void make_slow_queue(struct sim_path *path, double whole)
{
	make_queue(path, whole);
	walk(0.05, 0);
}

static void make_smooth_queue(struct sim_path *path, double whole)
{
	make_queue(path, whole);
	double speed = 0, at = 0;
	for (int i = 0; i < 4096; i++) {
		speed = 0.5 * speed + 0.05 * sim_normal();
		at += speed;
		wander[i] = at;
	}
}

static void make_cache(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 100e6, .lifetime = spread_of(2, 50), .exact = true};
	one_size(path, size_class(spread_of(1024, 65536)));
}

static double target_fill(const struct sim_path *path, double i, double count)
{
	return path->level * -expm1(-i / (path->rate * (count - 1)));
}

static void make_filling(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 400e6, .rate = 1, .target = target_fill, .lifetime = 1e6, .exact = true};
	one_size(path, 4096);
}

static void make_fast_filling(struct sim_path *path, double whole)
{
	make_filling(path, whole);
	path->rate = 0.3;
	path->lifetime = 20;
}

static double leak_saw(const struct sim_path *path, double i, double count)
{
	(void)path, (void)count;
	return 0.002 * 1.7e9 * (i + 1);
}

static double target_saw(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * (1 + fmod(i, path->rate) / path->rate);
}

static void make_saw(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 150e6, .rate = 6, .target = target_saw, .lifetime = 5, .exact = true};
	one_size(path, 4096);
}

/* As long as the dumps are apart of which one is judged, if there are so many. */
static void make_alias(struct sim_path *path, double whole)
{
	make_saw(path, whole);
	path->rate = 9.95;
	path->lifetime = 0.2;
}

static void make_leaking_saw(struct sim_path *path, double whole)
{
	make_saw(path, whole);
	path->rate = 12;
	path->grows = true;
	path->leaked = leak_saw;
}

static double target_sine(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * (1 + 0.5 * sin(2 * M_PI * i / path->rate + path->at));
}

static void make_sine(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){
		.level = 150e6, .rate = 12, .at = 6.28 * sim_uniform(), .target = target_sine, .lifetime = 1, .exact = true};
	one_size(path, 4096);
}

static double target_shrink(const struct sim_path *path, double i, double count)
{
	return path->level * (1 - 0.8 * i / (count - 1));
}

static void make_shrinking(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 200e6, .target = target_shrink, .lifetime = 20, .exact = true};
	one_size(path, 4096);
}

static double target_peak(const struct sim_path *path, double i, double count)
{
	return path->level * (i > 0.6 * count && i < 0.75 * count ? 2 : 1);
}

static void make_peak(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 80e6, .target = target_peak, .lifetime = 3, .exact = true};
	one_size(path, 4096);
}

static double target_stairs(const struct sim_path *path, double i, double count)
{
	return path->level * (1 + 0.5 * floor(i / count * 3));
}

static void make_stairs(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 80e6, .target = target_stairs, .lifetime = 30, .exact = true};
	one_size(path, 4096);
}

static void make_warm_leak(struct sim_path *path, double whole)
{
	*path = (struct sim_path){.level = 200e6, .rate = 0.1, .target = target_fill, .leaked = leak_line, .lifetime = 20,
				  .exact = true, .grows = true};
	path->rate = 0.1;
	one_size(path, 4096);
	(void)whole;
}

static double leak_warm(const struct sim_path *path, double i, double count)
{
	(void)path, (void)count;
	return 0.005 * 1.7e9 * (i + 1);
}

static void make_leaking_cache(struct sim_path *path, double whole)
{
	make_warm_leak(path, whole);
	path->leaked = leak_warm;
}

static double leak_double(const struct sim_path *path, double i, double count)
{
	return path->rate * (i + fmax(0, i - count / 2));
}

static void make_accelerating(struct sim_path *path, double whole)
{
	make_leak(path, whole);
	path->leaked = leak_double;
}

static void make_tiny_leak(struct sim_path *path, double whole)
{
	make_leak(path, whole);
	path->rate = 0.0006 * whole;
}

static void make_weak_leak(struct sim_path *path, double whole)
{
	make_based_leak(path, whole);
	path->rate = 0.0012 * whole;
}

static double leak_restarted(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->rate * (i < path->at ? i : i - path->at);
}

static void make_restarted_leak(struct sim_path *path, double whole)
{
	make_based_leak(path, whole);
	path->leaked = leak_restarted;
	path->at = 11;
}

static void make_long_restarted_leak(struct sim_path *path, double whole)
{
	make_restarted_leak(path, whole);
	path->at = 23;
}

static void make_batches(struct sim_path *path, double whole)
{
	/* objects come and go in bunches of a thousand: as large objects of which all parts are seen apart */
	(void)whole;
	walk(0, 0);
	double live = 20;
	for (int i = 0; i < 4096; i++) {
		live = live - sim_binomial(live, 0.2) + sim_poisson(4);
		wander[i] = live / 20 - 1;
	}
	*path = (struct sim_path){.level = 80e6, .target = target_wander, .lifetime = 1e6, .exact = true};
	one_size(path, 4096);
}

/* Kinds that the model was not made for. */

/* Grows in bursts with pauses between them: three intervals in eight. */
static double leak_in_bursts(const struct sim_path *path, double i, double count)
{
	(void)count;
	double round = floor((i + path->at) / 8), within = (i + path->at) - 8 * round;
	return path->rate * 8 * (round + fmin(1, within / 3));
}

static void make_bursty(struct sim_path *path, double whole)
{
	make_based_leak(path, whole);
	path->leaked = leak_in_bursts;
	path->at = floor(8 * sim_uniform());
}

/* Bursts at chance moments, one in six intervals. */
static double leak_by_chance(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->rate * 6 * wander[(int)i + 1];
}

static void make_chance_bursts(struct sim_path *path, double whole)
{
	make_based_leak(path, whole);
	path->leaked = leak_by_chance;
	double bursts = 0;
	for (int i = 0; i < 4096; i++) {
		bursts += sim_uniform() < 1 / 6.0;
		wander[i] = bursts;
	}
}

static double target_load(const struct sim_path *path, double i, double count)
{
	return i >= path->at * count ? 2 * path->level : path->level;
}

static void make_doubled_load(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 60e6, .target = target_load, .at = 0.3 + 0.5 * sim_uniform(), .lifetime = spread_of(0.3, 4)};
	one_size(path, 1024);
}

/* A daily rhythm, of two days, and the leak in it. */
static void make_daily_leak(struct sim_path *path, double whole)
{
	*path = (struct sim_path){.level = 60e6, .rate = 0, .at = 6.28 * sim_uniform(), .lifetime = 1, .exact = true, .grows = true};
	path->rate = 24;
	path->target = target_sine;
	path->leaked = leak_warm;
	one_size(path, 4096);
	(void)whole;
}

static double leak_second(const struct sim_path *path, double i, double count)
{
	return path->rate * fmax(0, i - path->at * (count - 1));
}

static void make_two_leaks(struct sim_path *path, double whole)
{
	make_leak(path, 2 * whole); /* WHOLE is shared by the two */
	path->leaked = leak_second;
	path->at = path == paths ? 0 : 0.4;
}

/* Objects of sizes by a lognormal law and lifetimes by a heavy-tailed one, as a mixture of three. */
static void make_heavy(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 20e6 * exp(sim_normal()), .lifetime = 0.3 * pow(1 - sim_uniform(), -1)};
	for (int p = 0; p < 3; p++)
		path->parts[p] = (struct sim_part){.size = size_class(2048 * exp(2 * sim_normal())), .share = 1.0 / 3};
}

/* One buffer: it grows by pieces, by chance, or doubles. */
static double target_buffer(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level + path->rate * i;
}

static double target_doubling(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * exp2(floor(i / path->rate));
}

static void make_buffer(struct sim_path *path, double whole)
{
	*path = (struct sim_path){.level = 100e6, .rate = 0.005 * whole, .target = target_buffer, .grows = true, .resizes = true};
}

static void make_chance_buffer(struct sim_path *path, double whole)
{
	(void)whole;
	for (int i = 0; i < 4096; i++)
		wander[i] = 0.3 * sim_normal();
	*path = (struct sim_path){.level = 100e6, .target = target_wander, .resizes = true};
}

static void make_walking_buffer(struct sim_path *path, double whole)
{
	make_chance_buffer(path, whole);
	walk(0.1, 0.02);
}

static void make_doubling_buffer(struct sim_path *path, double whole)
{
	(void)whole;
	*path = (struct sim_path){.level = 1e6, .rate = 3, .target = target_doubling, .grows = true, .resizes = true};
}

/* Dumps in bursts. An interval is ten minutes. */
enum { intervals_in_day = 144, intervals_in_hour = 6 };
static const double seconds = 1 / 600.0, minutes = 0.1;

static double gap_burst_first(int i)
{
	return i < 12 ? 1 * seconds : intervals_in_hour;
}

static double gap_burst_last(int i)
{
	return i < 8 ? intervals_in_hour : 1 * seconds;
}

static double gap_four_bursts(int i)
{
	return i % 10 ? 1 * seconds : 3 * intervals_in_hour;
}

static double gap_slow_bursts(int i)
{
	return i % 10 ? 1 * minutes : 3 * intervals_in_hour;
}

static double gap_slower_bursts(int i)
{
	return i % 10 ? 5 * minutes : 3 * intervals_in_hour;
}

static double gap_daily_bursts(int i)
{
	return i % 5 ? 10 * seconds : intervals_in_day;
}

static double gap_pairs(int i)
{
	return i % 2 ? 1 * minutes : intervals_in_hour;
}

static const struct cell cells[] = {
	{"nothing leaks, to 64 KiB, 8 dumps", "alarms <= 1 %", 8, 0, 512 * 1024, 64, 65536, 0, 40, NULL},
	{"nothing leaks, to 64 KiB, 24 dumps", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, NULL},
	{"nothing leaks, to 64 KiB, 96 dumps", "alarms <= 1 %", 96, 0, 512 * 1024, 64, 65536, 0, 40, NULL},
	{"nothing leaks, 1 MiB, 12 dumps", "alarms <= 1 %", 12, 0, 512 * 1024, 1 << 20, 1 << 20, 0, 40, NULL},
	{"nothing leaks, 1 MiB, 24 dumps", "alarms <= 1 %", 24, 0, 512 * 1024, 1 << 20, 1 << 20, 0, 40, NULL},
	{"nothing leaks, 4 MiB, 24 dumps", "alarms <= 1 %", 24, 0, 512 * 1024, 4 << 20, 4 << 20, 0, 40, NULL},
	{"nothing leaks, 4 MiB, 48 dumps", "alarms <= 1 %", 48, 0, 512 * 1024, 4 << 20, 4 << 20, 0, 40, NULL},
	{"nothing leaks, period 64 KiB", "alarms <= 1 %", 24, 0, 64 * 1024, 64, 1 << 20, 0, 40, NULL},
	{"nothing leaks, all sampled", "alarms <= 1 %", 24, 0, 1, 64, 65536, 0, 40, NULL},
	{"nothing leaks, all sampled, 4 dumps", "alarms <= 1 %", 4, 0, 1, 64, 65536, 0, 40, NULL},
	{"5,000 paths, a leak", "paths <= 5 / 100", 24, 0, 512 * 1024, 64, 65536, 0, 5000, make_leak},
	{"leak of 0.5 %, 8 dumps", "found >= 95 %", 8, 0, 512 * 1024, 64, 65536, 0, 40, make_leak},
	{"leak of 0.5 %, 24 dumps", "found >= 99 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_leak},
	{"leak of 0.5 % in a busy path, 8 dumps", "found >= 80 %", 8, 0, 512 * 1024, 64, 65536, 0, 40, make_based_leak},
	{"leak of 0.5 % in a busy path, 24 dumps", "found >= 95 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_based_leak},
	{"leak from half on", "found >= 95 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_half},
	{"leak from three quarters on", "found >= 85 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_late},
	{"leak from half on, new path", "found >= 95 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_new_half},
	{"leak from three quarters on, new path", "found >= 85 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_new_late},
	{"stopped at 80 %, 24 dumps", "growing <= 5 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_stopped},
	{"stopped at 80 %, 48 dumps", "growing <= 5 %", 48, 0, 512 * 1024, 64, 65536, 0, 40, make_stopped},
	{"new path in one step", "growing <= 2 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_new_step},
	{"step of an old path", "growing <= 2 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_old_step},
	{"queue that wanders", "growing <= 3 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_queue},
	{"queue that wanders slowly", "growing <= 3 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_slow_queue},
	{"queue that wanders smoothly", "growing <= 3 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_smooth_queue},
	{"queue that wanders smoothly, 60", "growing <= 3 %", 60, 0, 512 * 1024, 64, 65536, 0, 40, make_smooth_queue},
	{"cache with turnover", "growing <= 3 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_cache},
	{"restart, caches refill, 24 dumps", "alarms <= 3 %", 24, 12, 512 * 1024, 64, 65536, 0, 40, NULL, 0, true},
	{"restart, caches refill, 48 dumps", "alarms <= 3 %", 48, 24, 512 * 1024, 64, 65536, 0, 40, NULL, 0, true},
	{"cache filling, span", "filling >= 90 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_filling},
	{"cache filling, span, 48 dumps", "filling >= 90 %", 48, 0, 512 * 1024, 64, 65536, 0, 40, make_filling},
	{"cache filling, third of span", "filling >= 90 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_fast_filling},
	{"near the threshold, 24 dumps", "rate in %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_tiny_leak},
	{"near the threshold, busy path", "rate in %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_weak_leak},
	{"leak spread over 200 paths", "found >= 95 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_leak, 200},
	{"leak spread over 200 paths, 48 dumps", "found >= 95 %", 48, 0, 512 * 1024, 64, 65536, 0, 40, make_leak, 200},
	{"* sawtooth", "growing <= 1 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_saw},
	{"* daily sine, 48 dumps", "growing <= 1 %", 48, 0, 512 * 1024, 64, 65536, 0, 40, make_sine},
	{"* shrinking", "shrinking >= 95 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_shrinking},
	{"* a peak", "growing <= 2 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_peak},
	{"* stairs", "growing <= 5 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_stairs},
	{"* cache that fills and leaks", "found >= 95 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_leaking_cache},
	{"* leak that doubles", "found >= 95 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_accelerating},
	{"* leak across a restart", "found >= 85 %", 24, 11, 512 * 1024, 64, 65536, 0, 40, make_restarted_leak},
	{"* leak across a restart, 48 dumps", "found >= 95 %", 48, 23, 512 * 1024, 64, 65536, 0, 40, make_long_restarted_leak},
	{"* nothing leaks, 3 dumps", "alarms <= 1 %", 3, 0, 512 * 1024, 64, 65536, 0, 40, NULL},
	{"* nothing leaks, 5 dumps", "alarms <= 1 %", 5, 0, 512 * 1024, 64, 65536, 0, 40, NULL},
	{"* nothing leaks, 200 dumps", "alarms <= 1 %", 200, 0, 512 * 1024, 64, 65536, 0, 40, NULL},
	{"* nothing leaks, irregular intervals", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, NULL, 0, false, true},
	{"* nothing leaks, long lives", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 1 << 20, 200, 40, NULL},
	{"* nothing leaks, short lives", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 1 << 20, 0.05, 40, NULL},
	{"* nothing leaks, 1,000 paths, 12 dumps", "alarms <= 1 %", 12, 0, 512 * 1024, 64, 4 << 20, 0, 1000, NULL},
	{"* leak in bursts", "found >= 80 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_bursty},
	{"* leak in bursts, 48 dumps", "found >= 80 %", 48, 0, 512 * 1024, 64, 65536, 0, 40, make_bursty},
	{"* leak in bursts by chance, 48 dumps", "found", 48, 0, 512 * 1024, 64, 65536, 0, 40, make_chance_bursts},
	{"* load doubles once", "growing <= 2 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_doubled_load},
	{"* daily rhythm with a leak, 48 dumps", "found >= 95 %", 48, 0, 512 * 1024, 64, 65536, 0, 40, make_daily_leak},
	{"* two leaks, one begins later", "two >= 95 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_two_leaks, 2},
	{"* lognormal sizes, heavy-tailed lives", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 65536, 0, 5, make_heavy, 40},
	{"* one stretch is missing", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, NULL, 0, false, false, true},
	{"* leak of 0.5 %, one stretch missing", "found >= 99 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_leak, 0, false, false, true},
	{"* leak of 0.5 %, irregular intervals", "found >= 99 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_leak, 0, false, true},
	{"* sawtooth, 640 dumps", "growing <= 1 %", 640, 0, 512 * 1024, 64, 65536, 0, 40, make_alias},
	{"* sawtooth with a leak of 0.2 %, 96 dumps", "found", 96, 0, 512 * 1024, 64, 65536, 0, 40, make_leaking_saw},
	{"* sawtooth with a leak of 0.2 %, 192 dumps", "found >= 95 %", 192, 0, 512 * 1024, 64, 65536, 0, 40, make_leaking_saw},
	{"* one buffer grows", "found >= 99 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_buffer},
	{"* one buffer grows, 8 dumps", "found", 8, 0, 512 * 1024, 64, 65536, 0, 40, make_buffer},
	{"* one buffer doubles", "found", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_doubling_buffer},
	{"* one buffer of chance sizes", "growing <= 1 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_chance_buffer},
	{"* one buffer of chance sizes, 8 dumps", "growing <= 1 %", 8, 0, 512 * 1024, 64, 65536, 0, 40, make_chance_buffer},
	{"* one buffer that wanders", "growing <= 3 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_walking_buffer},
	{.name = "* a burst, then hourly", "alarms <= 1 %", 17, 0, 512 * 1024, 64, 65536, 0, 40, NULL, .gap = gap_burst_first},
	{.name = "* hourly, then a burst", "alarms <= 1 %", 28, 0, 512 * 1024, 64, 65536, 0, 40, NULL, .gap = gap_burst_last},
	{.name = "* 4 bursts of 10, 1 s apart", "alarms <= 1 %", 40, 0, 512 * 1024, 64, 65536, 0, 40, NULL, .gap = gap_four_bursts},
	{.name = "* 4 bursts of 10, 1 min apart", "alarms <= 1 %", 40, 0, 512 * 1024, 64, 65536, 0, 40, NULL, .gap = gap_slow_bursts},
	{.name = "* 4 bursts of 10, 5 min apart", "alarms <= 1 %", 40, 0, 512 * 1024, 64, 65536, 0, 40, NULL, .gap = gap_slower_bursts},
	{.name = "* 5 dumps a day for a week", "alarms <= 1 %", 35, 0, 512 * 1024, 64, 65536, 0, 40, NULL, .gap = gap_daily_bursts},
	{.name = "* pairs of dumps, hourly", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, NULL, .gap = gap_pairs},
	{.name = "* leak of 0.5 %, hourly, then a burst", "found >= 99 %", 28, 0, 512 * 1024, 64, 65536, 0, 40, make_leak,
	 .gap = gap_burst_last},
	{.name = "* leak of 0.5 %, a burst, then hourly", "found >= 95 %", 17, 0, 512 * 1024, 64, 65536, 0, 40, make_leak,
	 .gap = gap_burst_first},
	{.name = "* leak of 0.5 %, pairs of dumps", "found >= 99 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_leak, .gap = gap_pairs},
	{.name = "* attached, nothing leaks", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, NULL, .late = true},
	{.name = "* attached, nothing leaks, long lives", "alarms <= 1 %", 24, 0, 512 * 1024, 64, 65536, 100, 40, NULL, .late = true},
	{.name = "* attached, nothing leaks, 6 dumps", "alarms <= 1 %", 6, 0, 512 * 1024, 64, 65536, 30, 40, NULL, .late = true},
	{.name = "* attached, leak of 0.5 %", "found >= 95 %", 24, 0, 512 * 1024, 64, 65536, 5, 40, make_leak, .late = true},
	{.name = "* attached, leak of 0.5 %, short and long lives", "found", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_leak, .late = true},
	{.name = "* attached, leak of 0.5 %, long lives", "found", 24, 0, 512 * 1024, 64, 65536, 100, 40, make_leak, .late = true},
	{"* batches", "growing <= 3 %", 24, 0, 512 * 1024, 64, 65536, 0, 40, make_batches},
};

static double truth_rate(const struct sim_path *path, int dumps)
{
	double rate = 0;
	if (path->leaked == leak_in_bursts || path->leaked == leak_by_chance)
		rate = path->rate;
	else if (path->target == target_buffer)
		rate = path->rate;
	else if (path->leaked)
		rate += path->leaked(path, dumps - 1, dumps) - path->leaked(path, dumps - 2, dumps);
	return rate * SCENARIO_DUMPS_PER_HOUR;
}

static size_t make_paths(const struct cell *cell, size_t special)
{
	double whole = 0;
	for (size_t p = 0; p < cell->steady; p++) {
		make_steady(&paths[special + p], cell);
		whole += paths[special + p].level;
	}
	for (size_t p = 0; p < special; p++) {
		cell->special(&paths[p], cell->spread ? whole / (double)cell->spread : whole);
		/* Of so many, all are one leak together, below one frame; of a few each is one for itself. */
		paths[p].parent = cell->spread > 100;
	}
	return special + cell->steady;
}

static void make(size_t number, uint64_t seed, struct cairn_series *series, struct scenario_truth *truth)
{
	const struct cell *cell = &cells[number];
	sim_seed(seed);
	truth->special = cell->special ? (cell->spread ? cell->spread : 1) : 0;
	truth->spread = cell->spread > 100;
	size_t count = make_paths(cell, truth->special);
	if (cell->restart && cell->cold)
		for (size_t p = truth->special; p < count; p++)
			paths[p].at = 0;
	truth->per_hour = 0;
	for (size_t p = 0; p < count; p++) {
		bool special = p < truth->special;
		truth->paths[p] = (struct scenario_path){
			.grows = paths[p].grows,
			.per_hour = special && paths[p].grows ? truth_rate(&paths[p], cell->dumps) : 0,
			.since = special && paths[p].leaked && paths[p].at > 0 && paths[p].at < 1 ? paths[p].at * (cell->dumps - 1) : -1,
			.level = special && paths[p].target ? paths[p].level : 0,
		};
		truth->per_hour += truth->paths[p].per_hour;
	}
	sim_irregular = cell->irregular;
	sim_missing = cell->missing ? cell->dumps / 2 : 0;
	sim_late = cell->late;
	sim_gap = cell->gap;
	sim_series(series, paths, count, cell->dumps, cell->period, cell->restart);
}

bool scenario_of_populations(size_t number, struct scenario *scenario)
{
	if (number >= sizeof cells / sizeof *cells)
		return false;
	*scenario = (struct scenario){cells[number].name, cells[number].wanted, cells[number].dumps, number, make};
	return true;
}
