/* ages.c - how often verdicts from one dump are right: simulated services whose objects have known lifetimes, fresh seeds at each run.
 *
 *	ages [SEEDS [SEED [ROW]]]
 *
 * ROW is a part of a row's name and lifetimes, as in "64 KiB, lognormal"; SEED may be - for a fresh one.
 *
 * A service has 40 paths of 5 to 80 MB, each sampled every 512 KiB; their ordinary lifetimes are between a fiftieth of the longest and the
 * longest. It is observed for so many times the longest, then one dump is judged. The longest is the mean of the slowest path, except where
 * lifetimes are cut: there it is the age that no ordinary object outlives. A lognormal or Pareto distribution that is not cut has no
 * longest lifetime; those rows are outside of what is promised, and show what is reported there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"

#include "base/array.h"

#include <sys/random.h>
#include <time.h>

enum law { law_exponential, law_fixed, law_even, law_lognormal, law_two, law_pareto, law_lognormal_cut, law_pareto_cut, law_rare };
static const char *const law_names[] = {"exponential", "all the same",  "even",        "lognormal",    "short and long",
					"Pareto, 1.5", "lognormal, cut", "Pareto, cut", "one in 200 long"};

enum leak {
	leak_none,
	leak_service, /* a path that frees nothing, and grows by 0.5 % of the service in each longest lifetime */
	leak_busy,    /* the same in a path of 40 MB that frees as well */
	leak_share,   /* 0.5 % of what a path of 80 MB allocates is never freed */
	leak_stopped, /* as the first, until half of the time */
	leak_late,    /* as the first, in the second half */
	leak_bursts,  /* in eight bursts with pauses between */
	leak_spread,  /* as the first, over 100 paths of one frame */
};

struct cell {
	const char *name, *wanted;
	enum law law;
	double multiple; /* the time observed, in longest lifetimes */
	enum leak leak;
	enum { extra_none, extra_start, extra_cache, extra_burst, extra_load, extra_rhythm, extra_bunches } extra;
	size_t paths;
	double period;
};

/* What is cut: a lognormal distribution at 13.3 times its mean, which 1 in 1,000 would outlive; a Pareto distribution at 30 times its least
 * value, which 6 in 1,000 would. The means of what is left, as shares of the longest. */
static const double lognormal_most = 13.3, pareto_most = 30;
static const double lognormal_mean = 0.0741, pareto_mean = 0.0822;

static double lifetime(enum law law, double mean)
{
	double lived;
	switch (law) {
	case law_lognormal_cut:
		do
			lived = mean / lognormal_most * exp(sim_normal() - 0.5);
		while (lived > mean);
		return lived;
	case law_pareto_cut:
		do
			lived = mean / pareto_most * pow(1 - sim_uniform(), -1 / 1.5);
		while (lived > mean);
		return lived;
	case law_rare:
		return -(sim_uniform() < 0.995 ? 0.05 * mean : mean) * log(1 - sim_uniform());
	case law_fixed:
		return mean;
	case law_even:
		return 2 * mean * sim_uniform();
	case law_lognormal:
		return mean * exp(sim_normal() - 0.5);
	case law_two:
		return sim_uniform() < 0.9 ? -0.05 * mean * log(1 - sim_uniform()) : -mean * log(1 - sim_uniform());
	case law_pareto:
		return mean / 3 * pow(1 - sim_uniform(), -1 / 1.5);
	default:
		return -mean * log(1 - sim_uniform());
	}
}

/* One dump under construction. Times are in longest lifetimes; one is a thousand seconds. */
struct world {
	struct cairn_profile profile;
	double time, period;
	double whole; /* what ordinary paths hold */
};

static const double second = 1e-3; /* of a longest lifetime */

static size_t add_path(struct world *world, size_t number, bool grows, size_t parent)
{
	struct sim_path path = {.grows = grows, .parent = parent};
	path.parts[0] = (struct sim_part){.size = world->period, .sampled = 1, .share = 1};
	sim_add_path(&world->profile, &path, NULL, number, world->period);
	size_t sample = world->profile.sample_count - 1;
	world->profile.values[2 * sample] = world->profile.values[2 * sample + 1] = 0;
	return sample;
}

static void add_sample(struct world *world, size_t sample, double size, double birth, double lived)
{
	struct cairn_profile *profile = &world->profile;
	if (birth + lived <= world->time) {
		double ns = lived / second * 1e9;
		int bits = ns >= 1 ? ilogb(ns) + 1 : 0, bucket = bits - 14;
		struct cairn_freed *freed = &profile->freed[sample];
		freed->samples++;
		freed->lifetimes[bucket < 0 ? 0 : bucket >= CAIRN_LIFETIMES ? CAIRN_LIFETIMES - 1 : bucket]++;
		return;
	}
	double objects = 1, bytes = size;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, world->period, &objects, &bytes);
	profile->values[2 * sample] += objects;
	profile->values[2 * sample + 1] += bytes;
	cairn_array_room(profile->aged, profile->aged_count, profile->aged_capacity);
	profile->aged[profile->aged_count++] =
		(struct cairn_aged){(uint32_t)sample, (uint64_t)fmax(0, (world->time - birth) / second * 1e6), objects, bytes};
}

static double spread_of(double low, double high)
{
	return low * pow(high / low, sim_uniform());
}

/* The load at TIME, as a share of its highest. */
static double load(const struct cell *cell, double time, double whole)
{
	if (cell->extra == extra_load)
		return time < whole / 2 ? 0.5 : 1;
	if (cell->extra == extra_rhythm)
		return 0.55 + 0.45 * sin(2 * M_PI * time / (whole / 5));
	return 1;
}

/* BYTES held on average, of objects that live MEAN on average. LEAKED of them never die. */
static void add_ordinary(struct world *world, const struct cell *cell, size_t sample, double bytes, double mean, double leaked)
{
	double size = spread_of(64, 65536), of_law = 1;
	if (cell->law == law_two)
		of_law = 0.145;
	if (cell->law == law_rare)
		of_law = 0.05475;
	if (cell->law == law_lognormal_cut)
		of_law = lognormal_mean;
	if (cell->law == law_pareto_cut)
		of_law = pareto_mean;
	double weight = size / sim_chance(size, world->period), rate = bytes / weight / (mean * of_law);
	double bunch = cell->extra == extra_bunches ? 10 : 1;
	for (double at = 0;;) {
		at -= log(1 - sim_uniform()) / rate * bunch;
		if (at >= world->time)
			break;
		if (sim_uniform() > load(cell, at, world->time))
			continue;
		double lived = sim_uniform() < leaked ? INFINITY : lifetime(cell->law, mean);
		for (double i = 0; i < bunch; i++)
			add_sample(world, sample, size, at, lived);
	}
}

static void add_leak(struct world *world, const struct cell *cell, size_t sample, double bytes_each, double from, double until)
{
	double size = spread_of(64, 65536), weight = size / sim_chance(size, world->period), rate = bytes_each / weight;
	for (double at = from * world->time;;) {
		at -= log(1 - sim_uniform()) / rate;
		if (at >= until * world->time)
			break;
		if (sim_uniform() > load(cell, at, world->time))
			continue;
		double phase = fmod(8 * at / world->time, 1);
		double birth = cell->leak == leak_bursts ? at - fmin(phase, 1) * 0.8 * world->time / 8 : at;
		add_sample(world, sample, size, birth, INFINITY);
	}
}

static void add_extra(struct world *world, const struct cell *cell, size_t sample)
{
	double size = 4096, count = 40e6 / world->period, moment = 0.15 + 0.8 * sim_uniform();
	for (double i = 0; i < count; i++) {
		double at = cell->extra == extra_start ? 0.05 * sim_uniform() : cell->extra == extra_cache ? 0.3 * sim_uniform() : moment;
		add_sample(world, sample, size, world->time * at, INFINITY);
	}
}

static void build(struct world *world, const struct cell *cell)
{
	*world = (struct world){.time = cell->multiple, .period = cell->period};
	sim_start_profile(&world->profile, cell->period);
	size_t room = cell->paths + 400;
	world->profile.freed = calloc(room, sizeof *world->profile.freed);
	world->profile.freed_count = room;
	world->profile.facts.has_ages = true;
	world->profile.facts.process_id = 1;
	world->profile.facts.start_ns = world->profile.facts.since_ns = 1000000000000;
	world->profile.facts.time_ns = world->profile.facts.start_ns + (int64_t)(cell->multiple / second * 1e9);
	for (size_t p = 0; p < cell->paths; p++) {
		double bytes = 5e6 + 75e6 * sim_uniform(), mean = p ? spread_of(0.02, 1) : 1;
		world->whole += bytes;
		add_ordinary(world, cell, add_path(world, 1000 + p, false, 0), bytes, mean, 0);
	}
	double grows = 0.005 * world->whole;
	if (cell->leak == leak_spread)
		for (size_t p = 0; p < 100; p++)
			add_leak(world, cell, add_path(world, p + 1, true, 1), grows / 100, 0, 1);
	else if (cell->leak != leak_none) {
		size_t sample = add_path(world, 1, cell->leak != leak_stopped, 0);
		if (cell->leak == leak_share)
			add_ordinary(world, cell, sample, 80e6, spread_of(0.1, 1), 0.005);
		else
			add_leak(world, cell, sample, grows, cell->leak == leak_late ? 0.5 : 0, cell->leak == leak_stopped ? 0.5 : 1);
		if (cell->leak == leak_busy)
			add_ordinary(world, cell, sample, 40e6, spread_of(0.1, 1), 0);
	}
	if (cell->extra == extra_start || cell->extra == extra_cache || cell->extra == extra_burst)
		add_extra(world, cell, add_path(world, 900, false, 0));
}

struct tally {
	int series, alarms, found, early, steady, rates, rate_covered, rate_near, said, wrong, stopped, dates;
	double rate_sum;
};

static void judge(const struct cell *cell, struct tally *tally)
{
	struct world world;
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_error error;
	size_t duplicates;
	build(&world, cell);
	double truth = 0.005 * world.whole / (1 / second / 3600) * (cell->extra == extra_rhythm ? 0.55 : 1);
	cairn_series_start(&series);
	cairn_series_add(&series, &world.profile, "made up", &error);
	cairn_series_finish(&series, &duplicates);
	cairn_view_make(&view, &series.profile, &(struct cairn_view_options){0}, &error);
	cairn_leaks_rank(&leaks, &series, &view);
	bool alarm = false, found = false;
	tally->series++;
	for (size_t r = 0; r < leaks.count; r++) {
		const struct cairn_leak *leak = &leaks.rows[r];
		struct cairn_bytes name = cairn_leak_name(&leaks, &view, leak, 0);
		bool real = name.data[0] == 'L' || (cell->leak == leak_spread && leak->above > 0 && strcmp(name.data, "parent1") == 0);
		if (leak->trend.verdict == CAIRN_GROWING) {
			/* A frame that holds what leaks grows, too. */
			bool holds = leak->above > 0 && cell->leak != leak_none && cell->leak != leak_stopped;
			found |= real;
			alarm |= !real && !holds;
			if (leak->trend.confidence >= 0.99) {
				tally->said++;
				tally->wrong += !real && !holds;
			}
		}
		if (!real || leak->above > 0 || cell->leak == leak_spread) {
			tally->stopped +=
				cell->leak == leak_stopped && strcmp(name.data, "n1") == 0 && leak->trend.verdict == CAIRN_STOPPED;
			continue;
		}
		tally->early += leak->trend.verdict == CAIRN_TOO_EARLY;
		tally->steady += leak->trend.verdict == CAIRN_STEADY;
		if (leak->trend.verdict == CAIRN_GROWING && cell->leak != leak_share) {
			tally->rates++;
			tally->rate_sum += leak->trend.per_hour / truth;
			tally->rate_near += fabs(leak->trend.per_hour / truth - 1) < 0.25;
			tally->rate_covered += fabs(leak->trend.per_hour - truth) < 1.96 * leak->trend.error;
		}
	}
	tally->alarms += alarm;
	tally->found += found;
	tally->dates += leaks.forecast_per_hour > 0;
	cairn_leaks_free(&leaks);
	cairn_view_free(&view);
	cairn_series_free(&series);
	cairn_profile_free(&world.profile);
}

#define USUAL 40, 512 * 1024
#define FEW 10, 512 * 1024 /* paths, since far more objects come and go */
static const struct cell cells[] = {
	{"nothing leaks, 1 time", "alarms <= 1", law_exponential, 1, leak_none, 0, USUAL},
	{"nothing leaks, 2 times", "alarms <= 1", law_exponential, 2, leak_none, 0, USUAL},
	{"nothing leaks, 5 times", "alarms <= 1", law_exponential, 5, leak_none, 0, USUAL},
	{"nothing leaks, 10 times", "alarms <= 1", law_exponential, 10, leak_none, 0, USUAL},
	{"nothing leaks, 20 times", "alarms <= 1", law_exponential, 20, leak_none, 0, USUAL},
	{"nothing leaks, 100 times", "alarms <= 1", law_exponential, 100, leak_none, 0, USUAL},
	{"nothing leaks, 20 times", "alarms <= 1", law_fixed, 20, leak_none, 0, USUAL},
	{"nothing leaks, 3 times", "alarms <= 1", law_fixed, 3, leak_none, 0, USUAL},
	{"nothing leaks, 1.2 times", "alarms <= 1", law_fixed, 1.2, leak_none, 0, USUAL},
	{"nothing leaks, 1.5 times", "alarms <= 1", law_fixed, 1.5, leak_none, 0, USUAL},
	{"nothing leaks, 5 times", "alarms <= 1", law_fixed, 5, leak_none, 0, USUAL},
	{"nothing leaks, 8 times", "alarms <= 1", law_fixed, 8, leak_none, 0, USUAL},
	{"nothing leaks, 2 times, 64 KiB", "alarms <= 1", law_exponential, 2, leak_none, 0, 10, 65536},
	{"nothing leaks, 6 times, 64 KiB", "alarms <= 1", law_exponential, 6, leak_none, 0, 10, 65536},
	{"nothing leaks, 6 times, 64 KiB", "alarms <= 1", law_fixed, 6, leak_none, 0, 10, 65536},
	{"nothing leaks, 6 times, 64 KiB", "alarms <= 1", law_two, 6, leak_none, 0, 10, 65536},
	{"nothing leaks, 6 times, 64 KiB", "alarms <= 1", law_lognormal, 6, leak_none, 0, 10, 65536},
	{"nothing leaks, 20 times, 64 KiB", "alarms <= 1", law_lognormal, 20, leak_none, 0, 10, 65536},
	{"nothing leaks, 20 times", "alarms <= 1", law_even, 20, leak_none, 0, USUAL},
	{"nothing leaks, 20 times", "alarms <= 1", law_lognormal, 20, leak_none, 0, USUAL},
	{"nothing leaks, 5 times", "alarms <= 1", law_lognormal, 5, leak_none, 0, USUAL},
	{"nothing leaks, 20 times", "alarms <= 1", law_two, 20, leak_none, 0, USUAL},
	{"nothing leaks, 4 times", "alarms <= 1", law_two, 4, leak_none, 0, USUAL},
	{"nothing leaks, 20 times", "alarms <= 1", law_pareto, 20, leak_none, 0, USUAL},
	{"nothing leaks, 100 times", "alarms <= 1", law_pareto, 100, leak_none, 0, USUAL},
	{"nothing leaks, 6 times", "alarms <= 1", law_pareto, 6, leak_none, 0, USUAL},
	{"nothing leaks, 6 times, 64 KiB", "alarms <= 1", law_pareto, 6, leak_none, 0, 10, 65536},
	{"nothing leaks, 20 times", "alarms <= 1", law_pareto_cut, 20, leak_none, 0, FEW},
	{"nothing leaks, 2 times", "alarms <= 1", law_pareto_cut, 2, leak_none, 0, USUAL},
	{"nothing leaks, 20 times", "alarms <= 1", law_lognormal_cut, 20, leak_none, 0, FEW},
	{"nothing leaks, 2 times", "alarms <= 1", law_lognormal_cut, 2, leak_none, 0, USUAL},
	{"nothing leaks, 20 times", "alarms <= 1", law_rare, 20, leak_none, 0, FEW},
	{"nothing leaks, 3 times", "alarms <= 1", law_rare, 3, leak_none, 0, FEW},
	{"nothing leaks, 1.5 times", "alarms", law_rare, 1.5, leak_none, 0, FEW},
	{"nothing leaks, period 64 KiB", "alarms <= 1", law_exponential, 20, leak_none, 0, 10, 65536},
	{"nothing leaks, 1,000 paths", "alarms <= 1", law_exponential, 20, leak_none, 0, 1000, 512 * 1024},
	{"held since the start", "alarms <= 1", law_exponential, 20, leak_none, extra_start, USUAL},
	{"cache that filled up", "alarms <= 1", law_exponential, 20, leak_none, extra_cache, USUAL},
	{"one burst that stays", "alarms <= 1", law_exponential, 20, leak_none, extra_burst, USUAL},
	{"load doubles", "alarms <= 1", law_exponential, 20, leak_none, extra_load, USUAL},
	{"daily rhythm", "alarms <= 1", law_exponential, 20, leak_none, extra_rhythm, USUAL},
	{"bunches of ten", "alarms <= 1", law_exponential, 20, leak_none, extra_bunches, USUAL},
	{"leak of 0.5 %, 2 times", "found", law_exponential, 2, leak_service, 0, USUAL},
	{"leak of 0.5 %, 5 times", "found", law_exponential, 5, leak_service, 0, USUAL},
	{"leak of 0.5 %, 10 times", "found", law_exponential, 10, leak_service, 0, USUAL},
	{"leak of 0.5 %, 20 times", "found >= 95", law_exponential, 20, leak_service, 0, USUAL},
	{"leak of 0.5 %, 20 times", "found >= 95", law_fixed, 20, leak_service, 0, USUAL},
	{"leak of 0.5 %, 20 times", "found >= 95", law_even, 20, leak_service, 0, USUAL},
	{"leak of 0.5 %, 20 times", "found >= 95", law_lognormal, 20, leak_service, 0, USUAL},
	{"leak of 0.5 %, 20 times", "found >= 95", law_two, 20, leak_service, 0, USUAL},
	{"leak of 0.5 %, 20 times", "found", law_pareto, 20, leak_service, 0, USUAL},
	{"leak of 0.5 %, 60 times", "found >= 95", law_pareto, 60, leak_service, 0, USUAL},
	{"in a busy path, 20 times", "found >= 95", law_exponential, 20, leak_busy, 0, USUAL},
	{"in a busy path, 20 times", "found >= 95", law_fixed, 20, leak_busy, 0, USUAL},
	{"in a busy path, 20 times", "found >= 95", law_lognormal, 20, leak_busy, 0, USUAL},
	{"0.5 % of a path's, 20 times", "found", law_exponential, 20, leak_share, 0, USUAL},
	{"0.5 % of a path's, 20 times", "found", law_fixed, 20, leak_share, 0, USUAL},
	{"0.5 % of a path's, 60 times", "found >= 95", law_exponential, 60, leak_share, 0, USUAL},
	{"0.5 % of a path's, 64 KiB", "found >= 95", law_exponential, 20, leak_share, 0, 20, 65536},
	{"0.5 % of a path's, 64 KiB", "found", law_lognormal, 20, leak_share, 0, 20, 65536},
	{"0.5 %, 64 KiB, 60 times", "found >= 95", law_lognormal, 60, leak_share, 0, 10, 65536},
	{"0.5 % of a path's, 20 times", "found >= 95", law_lognormal_cut, 20, leak_share, 0, FEW},
	{"leak of 0.5 %, 20 times", "found >= 95", law_lognormal_cut, 20, leak_service, 0, FEW},
	{"0.5 % of a path's, 20 times", "found >= 95", law_pareto_cut, 20, leak_share, 0, FEW},
	{"leak of 0.5 %, 20 times", "found >= 95", law_pareto_cut, 20, leak_service, 0, FEW},
	{"0.5 % of a path's, 20 times", "found >= 95", law_rare, 20, leak_share, 0, FEW},
	{"0.5 %, 1,000 paths", "found >= 95", law_exponential, 20, leak_service, 0, 1000, 512 * 1024},
	{"0.5 %, spread over 100 paths", "found >= 95", law_exponential, 20, leak_spread, 0, USUAL},
	{"0.5 %, load doubles", "found >= 95", law_exponential, 20, leak_service, extra_load, USUAL},
	{"0.5 %, daily rhythm", "found >= 95", law_exponential, 20, leak_service, extra_rhythm, USUAL},
	{"0.5 %, in the second half", "found >= 95", law_exponential, 20, leak_late, 0, USUAL},
	{"0.5 %, in bursts", "found >= 95", law_exponential, 20, leak_bursts, 0, USUAL},
	{"0.5 %, stopped at half", "alarms <= 5", law_exponential, 20, leak_stopped, 0, USUAL},
};

/* The bounds, in %, of a rate of which HITS of TRIES were seen, with a confidence of 95 % (Wilson). */
static void bounds_of(double hits, double tries, double bounds[2])
{
	static const double z = 1.959964;
	double middle = (hits + z * z / 2) / (tries + z * z), half = z / (tries + z * z) * sqrt(hits * (tries - hits) / tries + z * z / 4);
	bounds[0] = 100 * fmax(0, middle - half);
	bounds[1] = 100 * fmin(1, middle + half);
}

static void print(const struct cell *cell, const struct tally *t)
{
	double n = t->series, hits = cell->wanted[0] == 'a' ? t->alarms : t->found, bound, bounds[2], value = 100 * hits / n;
	char word[16], sign[3] = "";
	bool wants = sscanf(cell->wanted, "%15s %2s %lf", word, sign, &bound) == 3;
	bool met = wants && (sign[0] == '<' ? value <= bound : value >= bound);
	bounds_of(hits, n, bounds);
	printf("%-31s %-15s %-12s %6.1f (%.1f to %.1f)  %-7s", cell->name, law_names[cell->law], cell->wanted, value, bounds[0], bounds[1],
	       !wants ? ""
	       : met  ? "met"
		      : "NOT MET");
	if (cell->wanted[0] != 'a')
		printf(" too early %.0f %%; steady %.0f %%; alarms %.1f %%;", 100 * t->early / n, 100 * t->steady / n, 100 * t->alarms / n);
	if (cell->leak == leak_stopped)
		printf(" stopped %.0f %%;", 100 * t->stopped / n);
	if (t->rates)
		printf(" rate within a quarter %.0f %%, on average %.2f, in its interval %.0f %%", 100.0 * t->rate_near / t->rates,
		       t->rate_sum / t->rates, 100.0 * t->rate_covered / t->rates);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int seeds = argc > 1 ? atoi(argv[1]) : 100, said = 0, wrong = 0;
	uint64_t seed = 0;
	if (argc > 2 && strcmp(argv[2], "-") != 0)
		seed = strtoull(argv[2], NULL, 10);
	else if (getrandom(&seed, 4, 0) != 4)
		seed = (uint64_t)time(NULL);
	const char *only = argc > 3 ? argv[3] : NULL;
	printf("seed %llu, %d services a row; times: how often the longest ordinary lifetime fits into the time observed\n%-31s %-15s "
	       "%-12s %s\n",
	       (unsigned long long)seed, seeds, "situation", "lifetimes", "wanted, %", "measured");
	for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
		struct tally tally = {0};
		char row[128];
		snprintf(row, sizeof row, "%s, %s", cells[c].name, law_names[cells[c].law]);
		if (only && !strstr(row, only))
			continue;
		for (int s = 0; s < seeds; s++) {
			sim_seed(seed + (uint64_t)s * 1000 + c);
			judge(&cells[c], &tally);
		}
		print(&cells[c], &tally);
		said += tally.said;
		wrong += tally.wrong;
	}
	printf("growing, said with 99 %% and more: %d of %d wrong\n", wrong, said);
	return 0;
}
