/* objects.c - services of single objects, each with a size, a birth and a death: what the verdicts are measured on.
 *
 * Objects are born at chance moments and live as long as a law says, so what a path holds varies by itself; only those that are sampled at
 * birth are followed (a thinned Poisson process is one). A service has run for long when its first dump is taken, unless it is cold: what
 * lives then has the lifetimes that a glance at any moment finds, which are the long ones.
 * SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include "simulate.h"

enum law { law_exponential, law_fixed, law_even, law_lognormal, law_pareto, law_two, law_count, law_any = law_count };
enum { dumps_most = 200 };

/* One call path. Times are in intervals between dumps, since the first. */
struct population {
	size_t sizes;
	double size[sim_parts];
	double level;    /* bytes that live on average, of what is born all the time */
	double lifetime; /* mean of those */
	enum law law;
	double bunch;    /* so many are born and die together; 1 for each by itself */
	double leak;     /* bytes an interval that never die, */
	double leak_from, leak_until;
	double step, step_at; /* what is born from then on, as a multiple */
	double step_until;
	double fill, fill_time; /* bytes that come ever more rarely, never to die, and their time constant */
	double queue;    /* arrivals an interval of a queue that is served as fast, first come first served; level is what it begins with */
	double swing, swing_time, phase; /* births rise and fall by this share in this time */
	bool cold;       /* nothing lives at the start of a run */
	bool grows;
};

struct objects_cell {
	const char *name, *wanted;
	int dumps, restart;
	double period;
	double size_low, size_high;
	enum law law;
	size_t steady;
	void (*special)(struct population *population, double whole, const struct objects_cell *cell); /* NULL for none */
	bool irregular;
	double lifetime_low, lifetime_high; /* 0: 0.1 to 100 */
	bool accumulated; /* the dumps say what was ever allocated */
	double bunch;     /* ordinary objects come and go in bunches of so many periods; 0 for each by itself */
};

static struct population populations[SCENARIO_PATHS];
static int live[sim_parts][dumps_most + 1]; /* per size, how many samples more at a dump than at the one before */
static int born_by[sim_parts][dumps_most + 1]; /* and how many were born in between */

static double between(double low, double high)
{
	return low * pow(high / low, sim_uniform());
}

static double exponential(double mean)
{
	return -mean * log(1 - sim_uniform());
}

static double class_of_size(double size)
{
	double group = exp2(floor(log2(fmax(size, 64))) - 2);
	return ceil(size / group) * group;
}

static const double lognormal_sigma = 1.5, pareto_shape = 1.5, short_share = 0.9, short_part = 0.1;

static double lifetime_of(enum law law, double mean)
{
	switch (law) {
	case law_exponential:
		return exponential(mean);
	case law_even:
		return 2 * mean * sim_uniform();
	case law_lognormal:
		return mean * exp(lognormal_sigma * sim_normal() - lognormal_sigma * lognormal_sigma / 2);
	case law_pareto:
		return mean * (1 - 1 / pareto_shape) * pow(1 - sim_uniform(), -1 / pareto_shape);
	case law_two: /* nine in ten live for a tenth of the mean, the rest for what is left */
		return exponential(sim_uniform() < short_share ? short_part * mean
							       : mean * (1 - short_share * short_part) / (1 - short_share));
	default:
		return mean;
	}
}

/* The whole lifetime of an object that a glance finds alive: long ones are found more often, in proportion. */
static double lifetime_seen(enum law law, double mean)
{
	switch (law) {
	case law_exponential:
		return exponential(mean) + exponential(mean);
	case law_even:
		return 2 * mean * sqrt(sim_uniform());
	case law_lognormal:
		return mean * exp(lognormal_sigma * sim_normal() + lognormal_sigma * lognormal_sigma / 2);
	case law_pareto:
		return mean * (1 - 1 / pareto_shape) * pow(1 - sim_uniform(), -1 / (pareto_shape - 1));
	case law_two: {
		double part = sim_uniform() < short_share * short_part ? short_part * mean
								       : mean * (1 - short_share * short_part) / (1 - short_share);
		return exponential(part) + exponential(part);
	}
	default:
		return mean;
	}
}

/* A series' dumps: when each was taken. */
static double taken[dumps_most];
static int dumps;

/* COUNT samples of SIZE that live from BORN to DEAD, within the run of dumps from FIRST to before END. */
static void add_life(size_t size, int first, int end, double born, double dead, int count)
{
	int from = first;
	while (from < end && taken[from] < born)
		from++;
	int until = from;
	if (from < end)
		born_by[size][from] += count;
	if (dead >= taken[end - 1])
		until = end;
	while (until < end && taken[until] < dead)
		until++;
	if (from < until) {
		live[size][from] += count;
		live[size][until] -= count;
	}
}

static double births_at(const struct population *population, double time)
{
	double factor = population->step > 0 && time >= population->step_at && time < population->step_until ? population->step : 1;
	double turn = population->swing_time > 0 ? 2 * M_PI * time / population->swing_time + population->phase : 0;
	return factor * (1 + population->swing * sin(turn));
}

/* First come, first served: a sample is in it from when it came until as many have been served. */
static void run_queue(const struct population *population, size_t size, double chance, int first, int end)
{
	double arrived = round(population->level / population->size[size]), served = 0, next = 0;
	static double waiting[1 << 16];
	size_t head = 0, tail = 0;
	for (int i = first; i < end; i++) {
		double time = i > first ? taken[i] - taken[i - 1] : 0;
		arrived += sim_poisson(population->queue * time);
		served = fmin(arrived, served + sim_poisson(population->queue * time));
		for (; next < arrived; next += 1 + floor(log(1 - sim_uniform()) / log1p(-fmin(chance, 1 - 1e-9))))
			if (tail < sizeof waiting / sizeof *waiting)
				waiting[tail++] = next;
		while (head < tail && waiting[head] < served)
			head++;
		live[size][i] += (int)(tail - head);
		live[size][i + 1] -= (int)(tail - head);
	}
}

static void run_size(const struct population *population, size_t size, double period, int first, int end)
{
	double bytes = population->size[size], chance = sim_chance(bytes, period), share = 1.0 / (double)population->sizes;
	double start = taken[first], bunch = fmax(1, population->bunch), rate = population->level * share / bytes / bunch;
	if (population->queue > 0) {
		run_queue(population, size, chance, first, end);
		return;
	}
	/* Of a bunch some are sampled; of single objects only those are born here that are. */
	double seen = bunch > 1 ? 1 : chance;
	double alive = population->cold || population->lifetime <= 0 ? 0 : sim_poisson(rate * seen * births_at(population, start));
	for (double n = 0; n < alive; n++) {
		double left = lifetime_seen(population->law, population->lifetime) * sim_uniform();
		add_life(size, first, end, start, start + left, bunch > 1 ? (int)sim_binomial(bunch, chance) : 1);
	}
	for (int i = first; i + 1 < end || i == first; i++) {
		double from = i == first && population->cold ? start - (i + 1 < end ? taken[i + 1] - taken[i] : 1) : taken[i];
		double until = i + 1 < end ? taken[i + 1] : taken[i];
		if (population->lifetime > 0) {
			double births = sim_poisson(rate * seen * births_at(population, (from + until) / 2) * (until - from) /
						    population->lifetime);
			for (double n = 0; n < births; n++) {
				double born = from + (until - from) * sim_uniform();
				add_life(size, first, end, born, born + lifetime_of(population->law, population->lifetime),
					 bunch > 1 ? (int)sim_binomial(bunch, chance) : 1);
			}
		}
		double leaks = fmax(0, fmin(until, population->leak_until) - fmax(from, population->leak_from)) * population->leak;
		double fills = population->fill > 0 ? population->fill * (exp(-(from - start) / population->fill_time) -
									 exp(-(until - start) / population->fill_time)) : 0;
		for (double n = sim_poisson((leaks + fills) * share / bytes * chance); n > 0; n--)
			add_life(size, first, end,
				 fmax(from, population->leak_from) + (until - fmax(from, population->leak_from)) * sim_uniform(), INFINITY,
				 1);
	}
}

/* Steady paths. */

static void make_steady(struct population *population, const struct objects_cell *cell)
{
	*population =
		(struct population){.sizes = 1 + (size_t)(sim_uniform() * 5), .level = 5e6 + 75e6 * sim_uniform(), .leak_until = INFINITY};
	population->lifetime = cell->lifetime_low > 0 ? between(cell->lifetime_low, cell->lifetime_high) : between(0.1, 100);
	population->law = cell->law == law_any ? (enum law)(sim_uniform() * law_count) : cell->law;
	double samples = 0;
	population->sizes = cell->bunch > 0 ? 1 : population->sizes;
	for (size_t s = 0; s < population->sizes; s++) {
		population->size[s] = class_of_size(between(cell->size_low, cell->size_high));
		samples +=
			population->level / (double)population->sizes / population->size[s] * sim_chance(population->size[s], cell->period);
	}
	population->bunch = cell->bunch > 0 ? fmax(2, round(cell->bunch * cell->period / population->size[0])) : 0;
	if (samples > 20000) /* more would only take longer */
		population->level *= 20000 / samples;
}

/* Special ones. */

static double small_size(const struct objects_cell *cell)
{
	return class_of_size(between(cell->size_low, fmin(cell->size_high, 65536)));
}

static void make_leak(struct population *population, double whole, const struct objects_cell *cell)
{
	*population = (struct population){.sizes = 1, .leak = 0.005 * whole, .leak_from = -1, .leak_until = INFINITY, .grows = true};
	population->size[0] = small_size(cell);
}

static void make_half(struct population *population, double whole, const struct objects_cell *cell)
{
	make_leak(population, whole, cell);
	population->level = 0.02 * whole;
	population->lifetime = 5;
	population->leak_from = 0.5 * (cell->dumps - 1);
}

static void make_late(struct population *population, double whole, const struct objects_cell *cell)
{
	make_half(population, whole, cell);
	population->leak_from = 0.75 * (cell->dumps - 1);
}

static void make_stopped(struct population *population, double whole, const struct objects_cell *cell)
{
	make_leak(population, whole, cell);
	population->leak_until = 0.8 * (cell->dumps - 1);
	population->grows = false;
}

/* A base and as much again at some moment, that stays or lives for a while. */
static void make_step(struct population *population, double whole, const struct objects_cell *cell)
{
	*population = (struct population){.sizes = 1,
					  .size = {small_size(cell)},
					  .level = 0.03 * whole,
					  .lifetime = between(0.1, 0.7),
					  .law = cell->law,
					  .step = between(1.3, 4),
					  .step_at = (0.2 + 0.7 * sim_uniform()) * (cell->dumps - 1),
					  .step_until = INFINITY};
	if (population->law == law_any)
		population->law = law_exponential;
}

static void make_new_step(struct population *population, double whole, const struct objects_cell *cell)
{
	double at = (0.2 + 0.7 * sim_uniform()) * (cell->dumps - 1);
	*population = (struct population){.sizes = 1, .size = {small_size(cell)}, .leak = 0.03 * whole / 0.01,
					  .leak_from = at, .leak_until = at + 0.01};
}

static void make_queue(struct population *population, double whole, const struct objects_cell *cell)
{
	(void)cell;
	*population = (struct population){.sizes = 1, .size = {4096}, .level = 0.03 * whole};
	double held = population->level / 4096;
	population->queue = fmin(held * held / 20, 3e6); /* it moves by a third of its length in an interval, or less */
}

static void make_slow_fill(struct population *population, double whole, const struct objects_cell *cell)
{
	*population = (struct population){.sizes = 1, .size = {small_size(cell)}, .fill = 0.25 * whole,
					  .fill_time = cell->dumps - 1, .leak_until = 0};
}

/* Filling while its objects come and go: as long as the mean lifetime is the time constant. */
static void make_live_fill(struct population *population, double whole, const struct objects_cell *cell)
{
	*population = (struct population){.sizes = 1, .size = {small_size(cell)}, .level = 0.25 * whole,
					  .lifetime = 0.33 * (cell->dumps - 1), .cold = true};
}

static void make_bunches(struct population *population, double whole, const struct objects_cell *cell)
{
	*population = (struct population){.sizes = 1, .size = {small_size(cell)}, .level = 0.05 * whole, .lifetime = between(0.3, 10)};
	population->bunch = fmax(2, population->level / population->size[0] / 20);
}

static void make_day(struct population *population, double whole, const struct objects_cell *cell)
{
	*population = (struct population){.sizes = 1, .size = {small_size(cell)}, .level = 0.05 * whole, .lifetime = 1, .swing = 0.4,
					  .swing_time = (cell->dumps - 1) / 3.0, .phase = 6.28 * sim_uniform()};
}

static void make_visit(struct population *population, double whole, const struct objects_cell *cell)
{
	make_step(population, whole, cell);
	population->step_until = population->step_at + 0.1 * cell->dumps;
}

static void make_busy_leak(struct population *population, double whole, const struct objects_cell *cell)
{
	make_leak(population, whole, cell);
	population->level = 0.03 * whole;
	population->lifetime = 2;
	population->law = law_lognormal;
}

static void make_slow_leak(struct population *population, double whole, const struct objects_cell *cell)
{
	make_leak(population, 0.1 * whole, cell);
}

/* In a path of which little comes and goes. */
static void make_quiet_leak(struct population *population, double whole, const struct objects_cell *cell)
{
	make_leak(population, 0.2 * whole, cell);
	population->level = 0.03 * whole;
	population->lifetime = 200;
}

#define KIB *1024.0
static const struct objects_cell cells[] = {
	{"* objects: whatever sizes, period, dumps, paths", "alarms <= 1 %", 0, 0, 0, 0, 0, law_any, 0, NULL},
	{"* objects: nothing leaks, exponential lives", "alarms <= 1 %", 24, 0, 512 KIB, 64, 4096 KIB, law_exponential, 40, NULL},
	{"* objects: nothing leaks, lives all the same", "alarms <= 1 %", 24, 0, 512 KIB, 64, 4096 KIB, law_fixed, 40, NULL},
	{"* objects: nothing leaks, lognormal lives", "alarms <= 1 %", 24, 0, 512 KIB, 64, 4096 KIB, law_lognormal, 40, NULL},
	{"* objects: nothing leaks, Pareto lives", "alarms <= 1 %", 24, 0, 512 KIB, 64, 4096 KIB, law_pareto, 40, NULL},
	{"* objects: nothing leaks, short and long lives", "alarms <= 1 %", 24, 0, 512 KIB, 64, 4096 KIB, law_two, 40, NULL},
	{"* objects: nothing leaks, all sampled", "alarms <= 1 %", 24, 0, 1, 4 KIB, 1024 KIB, law_any, 40, NULL},
	{"* objects: nothing leaks, period 2 MiB", "alarms <= 1 %", 24, 0, 2048 KIB, 64, 4096 KIB, law_any, 40, NULL},
	{"* objects: nothing leaks, 5 dumps, period 64 KiB", "alarms <= 1 %", 5, 0, 64 KIB, 64, 1024 KIB, law_any, 200, NULL},
	{"* objects: restart, everything begins cold", "alarms <= 3 %", 24, 12, 512 KIB, 64, 64 KIB, law_exponential, 40, NULL, false, 0.5,
	 4},
	{"* objects: restart at a third, 48 dumps", "alarms <= 3 %", 48, 16, 512 KIB, 64, 1024 KIB, law_exponential, 40, NULL, false, 0.5,
	 4},
	{"* objects: leak of 0.5 %, 8 dumps", "found >= 95 %", 8, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_leak},
	{"* objects: leak of 0.5 %, 24 dumps", "found >= 99 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_leak},
	{"* objects: leak of 0.5 %, 24 dumps, 64 KiB", "found >= 99 %", 24, 0, 64 KIB, 64, 1024 KIB, law_any, 40, make_leak},
	{"* objects: leak of 0.5 %, irregular", "found >= 99 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_leak, true},
	{"* objects: leak of 0.5 % in a busy path", "found >= 95 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_busy_leak},
	{"* objects: leak from half on", "found >= 95 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_half},
	{"* objects: leak from three quarters on", "found >= 85 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_late},
	{"* objects: nothing leaks, accumulated", "alarms <= 1 %", 24, 0, 512 KIB, 64, 4096 KIB, law_any, 40, NULL, false, 0, 0, true},
	{"* objects: nothing leaks, accumulated, 6 dumps", "alarms <= 1 %", 6, 0, 64 KIB, 64, 64 KIB, law_any, 40, NULL, false, 0, 0, true},
	{"* objects: leak of 0.05 %, 8 dumps", "found", 8, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_slow_leak},
	{"* objects: leak of 0.05 %, accumulated", "found", 8, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_slow_leak, false, 0, 0, true},
	{"* objects: leak of 0.1 % beside long lives", "found", 8, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_quiet_leak},
	{"* objects: 0.1 % beside long lives, accumulated", "found", 8, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_quiet_leak, false, 0, 0,
	 true},
	{"* objects: steps, accumulated", "growing <= 2 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_step, false, 0, 0, true},
	{"* objects: new steps, accumulated", "growing <= 2 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_new_step, false, 0, 0, true},
	{"* objects: bunches, accumulated", "growing <= 3 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_bunches, false, 0, 0, true},
	{"* objects: filling, accumulated", "filling >= 90 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_slow_fill, false, 0, 0, true},
	{"* objects: late leak, accumulated", "found >= 85 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_late, false, 0, 0, true},
	{"* objects: stopped, accumulated", "growing <= 5 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_stopped, false, 0, 0, true},
	{"* objects: stopped at 80 %", "growing <= 5 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_stopped},
	{"* objects: stopped at 80 %, 60 dumps", "growing <= 5 %", 60, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_stopped},
	{"* objects: new path in one step", "growing <= 2 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_new_step},
	{"* objects: load steps up", "growing <= 2 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_step},
	{"* objects: load visits", "growing <= 2 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_visit},
	{"* objects: queue, first come first served", "growing <= 3 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_queue},
	{"* objects: queue, 12 dumps", "growing <= 3 %", 12, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_queue},
	{"* objects: queue, 60 dumps", "growing <= 3 %", 60, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_queue},
	{"* objects: cache filling, span", "filling >= 90 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_slow_fill},
	{"* objects: cache filling, third of span", "filling >= 90 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_live_fill},
	{"* objects: bunches", "growing <= 3 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_bunches},
	{"* objects: bunches, 8 dumps", "growing <= 3 %", 8, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_bunches},
	{"* objects: bunches of 1 MiB everywhere, 8 dumps", "alarms <= 1 %", 8, 0, 512 KIB, 64, 64 KIB, law_any, 40, NULL, .bunch = 2},
	{"* objects: bunches of 2 MiB everywhere, 8 dumps", "alarms <= 1 %", 8, 0, 512 KIB, 64, 64 KIB, law_any, 40, NULL, .bunch = 4},
	{"* objects: bunches of 2 MiB everywhere", "alarms <= 1 %", 24, 0, 512 KIB, 64, 64 KIB, law_any, 40, NULL, .bunch = 4},
	{"* objects: three days, hourly", "growing <= 2 %", 72, 0, 512 KIB, 64, 64 KIB, law_any, 40, make_day},
};

/* Draws what a scenario leaves open. */
static struct objects_cell drawn(const struct objects_cell *cell)
{
	static const int some_dumps[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 36, 48, 60, 96, 150, 200};
	static const double periods[] = {1, 512, 4 KIB, 16 KIB, 64 KIB, 512 KIB, 2048 KIB};
	static const size_t paths[] = {1, 3, 10, 40, 200, 600};
	struct objects_cell result = *cell;
	if (cell->dumps > 0)
		return result;
	result.dumps = some_dumps[(size_t)(sim_uniform() * 16)];
	result.period = periods[(size_t)(sim_uniform() * 7)];
	result.steady = paths[(size_t)(sim_uniform() * 6)];
	result.size_low = between(64, 1024 KIB);
	result.size_high = between(result.size_low, 4096 KIB);
	result.irregular = sim_uniform() < 0.25;
	result.lifetime_low = between(0.05, 200);
	result.lifetime_high = between(result.lifetime_low, 200);
	result.accumulated = sim_uniform() < 0.25;
	if (sim_uniform() < 0.5)
		result.law = (enum law)(sim_uniform() * law_count);
	return result;
}

static void take_times(const struct objects_cell *cell)
{
	dumps = cell->dumps;
	for (int i = 0; i < dumps; i++)
		taken[i] = i == 0 ? 0 : taken[i - 1] + (cell->irregular ? 0.2 + exponential(0.8) : 1);
}

static void make(size_t number, uint64_t seed, struct cairn_series *series, struct scenario_truth *truth)
{
	static struct cairn_profile profiles[dumps_most];
	sim_seed(seed);
	struct objects_cell cell = drawn(&cells[number]);
	double whole = 0;
	truth->special = cell.special != NULL;
	truth->spread = false;
	size_t count = cell.steady + truth->special;
	take_times(&cell);
	for (size_t p = truth->special; p < count; p++) {
		make_steady(&populations[p], &cell);
		populations[p].cold = cell.restart > 0;
		whole += populations[p].level;
	}
	if (truth->special)
		cell.special(&populations[0], whole, &cell);
	truth->per_hour = 0;
	for (int i = 0; i < dumps; i++) {
		sim_start_profile(&profiles[i], cell.period);
		if (cell.accumulated) {
			cairn_profile_add_value_type(&profiles[i], "alloc_objects", "count");
			cairn_profile_add_value_type(&profiles[i], "alloc_space", "bytes");
		}
		profiles[i].facts.time_ns = (int64_t)((taken[i] + 1) * 6e11);
		profiles[i].facts.process_id = cell.restart && i >= cell.restart ? 2 : 1;
	}
	for (size_t p = 0; p < count; p++) {
		const struct population *population = &populations[p];
		struct sim_path path = {.grows = population->grows}, ever = {.grows = population->grows};
		truth->paths[p] = (struct scenario_path){
			.grows = population->grows,
			.per_hour = population->grows ? population->leak * SCENARIO_DUMPS_PER_HOUR : 0,
			.since = population->grows && population->leak_from > 0 ? population->leak_from : -1,
			.level = population->fill > 0				? population->fill
				 : population->cold && truth->special && p == 0 ? population->level
										: 0,
		};
		truth->per_hour += truth->paths[p].per_hour;
		memset(live, 0, sizeof live);
		memset(born_by, 0, sizeof born_by);
		for (size_t s = 0; s < population->sizes; s++) {
			path.parts[s].size = ever.parts[s].size = population->size[s];
			run_size(population, s, cell.period, 0, cell.restart ? cell.restart : dumps);
			if (cell.restart)
				run_size(population, s, cell.period, cell.restart, dumps);
		}
		for (int i = 0; i < dumps; i++) {
			for (size_t s = 0; s < population->sizes; s++) {
				path.parts[s].sampled += live[s][i];
				ever.parts[s].sampled += born_by[s][i];
			}
			sim_add_path(&profiles[i], &path, cell.accumulated ? &ever : NULL, p, cell.period);
		}
	}
	struct cairn_error error;
	size_t duplicates;
	cairn_series_start(series);
	for (int i = 0; i < dumps; i++) {
		cairn_series_add(series, &profiles[i], "made up", &error);
		cairn_profile_free(&profiles[i]);
	}
	cairn_series_finish(series, &duplicates);
}

bool scenario_of_objects(size_t number, struct scenario *scenario)
{
	if (number >= sizeof cells / sizeof *cells)
		return false;
	*scenario = (struct scenario){cells[number].name, cells[number].wanted, cells[number].dumps, number, make};
	return true;
}
