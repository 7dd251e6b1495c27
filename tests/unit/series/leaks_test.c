/* leaks_test.c - whole services with known truth, a hundred of each kind (twenty in `make check`): is what leaks named first, and nothing
 * else.
 *
 * Every dump is sampled as a profiler does: each object is seen with the chance its size gives it. Two worlds: one where every dump
 * samples anew, one where the samples persist, as they do in a real process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"
#include "tap.h"

enum { dumps = 24, steady = 40, kinds_of_path = 5 };
static const double period = 524288;

/* Which paths a service has beside the steady ones; they are called by their letter. */
enum { leak = 'L', slow_leak = 'S', cache = 'C', sawtooth = 'W', leaking_cache = 'K', leaking_pool = 'P' };

static double live(char path, double level, double age)
{
	switch (path) {
	case leak:
		return 200e6 + 6e6 * age;
	case slow_leak:
		return 100e6 + 2e6 * age;
	case cache:
		return 900e6 * (1 - exp(-age / 3));
	case leaking_cache:
		return 300e6 * (1 - exp(-age / 3)) + 6e6 * age;
	case leaking_pool:
		return 100e6 * (1 - exp(-age / 3)) + 6e6 * age;
	case sawtooth:
		return 300e6 + 200e6 * fmod(age, 4) / 3;
	default:
		return level;
	}
}

static double normal(void)
{
	return sqrt(-2 * log(1 - drand48())) * cos(2 * M_PI * drand48());
}

/* How many of COUNT objects are seen. */
static double see(double count, double chance)
{
	double mean = count * chance, hits = 0;
	if (mean > 50)
		return fmax(0, round(mean + sqrt(mean * (1 - chance)) * normal()));
	for (double i = 0; i < count; i++)
		hits += drand48() < chance;
	return hits;
}

struct path {
	char kind;
	double level, size; /* of a steady one; of one object */
	double objects, seen; /* in the dump before */
};

/* What is seen of PATH in a dump, AGE dumps after the process started. */
static double sample(struct path *path, double age, bool persists)
{
	double chance = -expm1(-path->size / period), objects = floor(live(path->kind, path->level, age) / path->size);
	if (!persists || age == 0)
		path->seen = see(objects, chance);
	else if (objects > path->objects)
		path->seen += see(objects - path->objects, chance);
	else
		path->seen -= round(path->seen * (path->objects - objects) / fmax(path->objects, 1));
	path->objects = objects;
	return path->seen;
}

static void add_path(struct cairn_profile *profile, const struct path *path, size_t number, double seen)
{
	char name[16];
	double values[] = {seen, seen * path->size};
	snprintf(name, sizeof name, "%c%zu", path->kind, number);
	uint32_t location = cairn_profile_new_location(profile, &(struct cairn_location){.address = 0, .mapping = CAIRN_NONE});
	uint32_t function = cairn_profile_add_function(profile, &(struct cairn_function){.name = cairn_profile_text(profile, name)});
	cairn_profile_set_frames(profile, location, &(struct cairn_frame){.function = function}, 1);
	*cairn_profile_stack_room(profile, 1) = location;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, period, &values[0], &values[1]);
	cairn_profile_add_sample(profile, 1, 0, values);
}

static void start_profile(struct cairn_profile *profile)
{
	cairn_profile_init(profile);
	profile->format = "made up";
	profile->period = period;
	profile->unsampling = CAIRN_UNSAMPLE_POISSON;
	cairn_profile_add_value_type(profile, "inuse_objects", "count");
	cairn_profile_add_value_type(profile, "inuse_space", "bytes");
	profile->default_value = 1;
}

/* SPECIAL has the letters of the paths beside the steady ones; RESTART_AT is the first dump of a second process, 0 for none. */
static void make_series(struct cairn_series *series, const char *special, bool persists, int restart_at)
{
	static const double sizes[] = {1024, 4096, 16384, 65536};
	struct path paths[steady + kinds_of_path];
	struct cairn_error error;
	size_t count = 0, duplicates;
	for (; *special; special++)
		paths[count++] = (struct path){.kind = *special, .size = 4096};
	for (int i = 0; i < steady; i++)
		paths[count++] = (struct path){.kind = 'n', .level = 5e6 + 75e6 * drand48(), .size = sizes[lrand48() % 4]};
	cairn_series_start(series);
	for (int i = 0; i < dumps; i++) {
		struct cairn_profile profile;
		bool second = restart_at && i >= restart_at;
		start_profile(&profile);
		profile.facts.time_ns = (int64_t)(1 + i) * 600000000000;
		profile.facts.process_id = second ? 2 : 1;
		for (size_t p = 0; p < count; p++) {
			double seen = sample(&paths[p], second ? i - restart_at : i, persists);
			if (seen > 0)
				add_path(&profile, &paths[p], p, seen);
		}
		cairn_series_add(series, &profile, "made up", &error);
		cairn_profile_free(&profile);
	}
	cairn_series_finish(series, &duplicates);
}

/* What was found of one service: the kinds of the paths that grow, the fastest first. */
struct found {
	char growing[steady + kinds_of_path + 1];
	double first_rate, first_error;
};

static struct found look(const char *special, int seed, bool persists, int restart_at)
{
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_error error;
	struct found found = {0};
	srand48(seed);
	make_series(&series, special, persists, restart_at);
	cairn_view_make(&view, &series.profile, &(struct cairn_view_options){0}, &error);
	cairn_leaks_rank(&leaks, &series, &view);
	for (size_t i = 0; i < leaks.growing; i++)
		found.growing[i] = cairn_leak_name(&leaks, &view, &leaks.rows[i], 0).data[0];
	found.first_rate = leaks.rows[0].trend.per_hour;
	found.first_error = leaks.rows[0].trend.error;
	cairn_leaks_free(&leaks);
	cairn_view_free(&view);
	cairn_series_free(&series);
	return found;
}

static double leaked_line(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->rate * (i + 1);
}

enum world { fresh_samples, lasting_samples };

/* WANTED are the kinds that grow, in their order: the first must be first, all must be there. */
static void test_service(const char *what, const char *special, const char *wanted, double rate, int restart_at, enum world first_world)
{
	for (enum world persists = first_world; persists <= lasting_samples; persists++) {
		int first = 0, all = 0, others = 0, rates = 0, covered = 0, seeds = tap_rounds(20, 100);
		const char *samples = persists ? "lasting" : "fresh";
		for (int seed = 0; seed < seeds; seed++) {
			struct found found = look(special, seed, persists, restart_at);
			first += found.growing[0] == wanted[0];
			all += strncmp(found.growing, wanted, strlen(wanted)) == 0;
			others += strlen(found.growing) > strlen(wanted);
			rates += fabs(found.first_rate - rate) < rate / 4;
			covered += fabs(found.first_rate - rate) <= 1.96 * found.first_error;
		}
		if (*wanted) {
			ok(first * 100 >= 90 * seeds, "%s, %s samples: the leak is first in %d of %d", what, samples, first, seeds);
			ok(rates * 100 >= 85 * seeds, "%s, %s samples: its rate is right within a quarter in %d", what, samples, rates);
			ok(covered * 100 >= 88 * seeds, "%s, %s samples: and within its interval in %d", what, samples, covered);
		}
		if (strlen(wanted) > 1)
			ok(all * 100 >= 95 * seeds, "%s, %s samples: both are found, the faster first, in %d", what, samples, all);
		ok(others * 100 <= 5 * seeds, "%s, %s samples: something else is called growing in %d of %d", what, samples, others, seeds);
	}
}

/* A leak of 8 MB an interval over 200 call paths below one frame: none of them shows it, the frame does. */
static void test_spread(void)
{
	enum { spread = 200, others = 20 };
	int few_seeds = tap_rounds(2, 10);
	static struct sim_path spread_paths[spread + others];
	int found = 0, paths_named = 0, rates = 0, dates = 0;
	for (int seed = 0; seed < few_seeds; seed++)
		for (int leaks_now = 0; leaks_now < 2; leaks_now++) {
			struct cairn_series series;
			struct cairn_view view;
			struct cairn_leaks leaks;
			struct cairn_error error;
			sim_seed((uint64_t)(100 + seed));
			memset(spread_paths, 0, sizeof spread_paths);
			for (size_t p = 0; p < spread + others; p++) {
				spread_paths[p].parts[0] = (struct sim_part){.size = 4096, .share = 1};
				spread_paths[p].parent = p < spread;
				spread_paths[p].level = p < spread ? 0 : 40e6;
				spread_paths[p].lifetime = 5;
				spread_paths[p].rate = p < spread && leaks_now ? 8e6 / spread : 0;
				spread_paths[p].leaked = leaked_line;
			}
			sim_series(&series, spread_paths, spread + others, dumps, period, 0);
			cairn_view_make(&view, &series.profile, &(struct cairn_view_options){0}, &error);
			cairn_leaks_rank(&leaks, &series, &view);
			if (leaks_now) {
				found += leaks.growing == 1 && leaks.rows[0].members > 100 &&
					 strcmp(cairn_leak_name(&leaks, &view, &leaks.rows[0], 0).data, "parent1") == 0;
				paths_named += leaks.growing > 0 && leaks.rows[0].above == 0;
				rates += fabs(leaks.forecast_per_hour - 48e6) < 12e6;
			} else {
				dates += leaks.forecast_per_hour > 0;
			}
			cairn_leaks_free(&leaks);
			cairn_view_free(&view);
			cairn_series_free(&series);
		}
	ok(found * 10 >= 9 * few_seeds, "a leak spread over 200 paths: the frame above them is named in %d of %d", found, few_seeds);
	ok(paths_named == 0, "and no path");
	ok(rates * 10 >= 9 * few_seeds, "the service's growth is that of the frame in %d", rates);
	ok(dates * 10 <= few_seeds, "without the leak there is growth in %d", dates);
}

int main(void)
{
	test_spread();
	test_service("a leak, a cache, a sawtooth", "LCW", "L", 36e6, 0, fresh_samples);
	/* Samples drawn anew for every dump scatter too much to see these among forty other paths, or to tell a leak from a cache that
	 * fills. */
	test_service("two leaks", "LSCW", "LS", 36e6, 0, lasting_samples);
	test_service("a leak across a restart", "LCW", "L", 36e6, 11, lasting_samples);
	test_service("a cache that fills and leaks", "KCW", "K", 36e6, 0, lasting_samples);
	test_service("a small pool that fills and leaks", "PCW", "P", 36e6, 0, lasting_samples);
	test_service("a cache that fills", "C", "", 0, 0, fresh_samples);
	test_service("a leak across a restart after a short run", "LCW", "L", 36e6, 8, lasting_samples);
	test_service("a sawtooth", "W", "", 0, 0, fresh_samples);
	test_service("nothing but noise", "", "", 0, 0, fresh_samples);
	return tap_done();
}
