/* intervals.c - how often 95 % intervals hold the truth: of lines, of lines of several sizes, of changes within one process and across two.
 *
 *	intervals [TRIALS [SEED]]
 * SPDX-License-Identifier: Apache-2.0 */
#include "simulate.h"

#include "profile/combine.h"

#include <sys/random.h>

enum { paths = 40 };
static struct sim_path service[paths];
static const double period = 524288;
static int trials = 200;

static double truth_of(const struct sim_path *path, bool objects)
{
	double sum = 0;
	for (const struct sim_part *part = path->parts; part < path->parts + sim_parts && part->size > 0; part++)
		sum += part->objects * (objects ? 1 : part->size);
	return sum;
}

static void dump(struct cairn_profile *profile, size_t count, double the_period)
{
	sim_start_profile(profile, the_period);
	for (size_t p = 0; p < count; p++) {
		double values[2];
		sim_print(&service[p], the_period, &values[0], &values[1]);
		if (values[0] == 0)
			continue;
		cairn_unsample_jemalloc(the_period, &values[0], &values[1]);
		uint32_t location = cairn_profile_add_location(profile, 0x1000 * (p + 1), CAIRN_NONE, false);
		*cairn_profile_stack_room(profile, 1) = location;
		cairn_profile_add_sample(profile, 1, 0, values);
	}
}

static size_t number_of(const struct cairn_view *view, size_t sample)
{
	const struct cairn_profile *profile = view->profile;
	return (size_t)(profile->locations[profile->stacks[profile->samples[view->samples[sample]].stack]].address / 0x1000 - 1);
}

/* Two dumps of a service whose paths live for LIFETIME intervals (0 for a mixture); the first one grows by a tenth. */
static void measure_change(double lifetime, bool within)
{
	int covered = 0, shown = 0, seen = 0;
	double width = 0, ideal = 0;
	for (int trial = 0; trial < trials; trial++) {
		struct cairn_profile before, after, change;
		struct cairn_combine combine;
		struct cairn_view view;
		struct cairn_error error;
		double truth[paths];
		for (size_t p = 0; p < paths; p++) {
			service[p] = (struct sim_path){.level = p == 0 ? 100e6 : 5e6 + 95e6 * sim_uniform(), .exact = true,
						       .lifetime = lifetime > 0 ? lifetime : exp(log(2) + 4 * sim_uniform())};
			service[p].parts[0] = (struct sim_part){.size = exp2(10 + floor(6 * sim_uniform())), .share = 1};
			sim_step(&service[p], 0, 2, period, true);
			truth[p] = truth_of(&service[p], false);
		}
		dump(&before, paths, period);
		for (size_t p = 0; p < paths; p++) {
			service[p].level *= p == 0 ? 1.1 : 1;
			sim_step(&service[p], 1, 2, period, !within);
			truth[p] = truth_of(&service[p], false) - truth[p];
		}
		dump(&after, paths, period);
		cairn_profile_init(&change);
		cairn_combine_start(&combine, &change);
		cairn_combine_add(&combine, &after, 1, &error);
		cairn_combine_add(&combine, &before, -1, &error);
		cairn_combine_finish(&combine);
		change.base_within = within;
		cairn_view_make(&view, &change, &(struct cairn_view_options){0}, &error);
		for (size_t i = 0; i < view.sample_count; i++) {
			struct cairn_interval interval =
				cairn_view_interval(&view, cairn_view_value(&view, i), cairn_view_spread(&view, i));
			size_t p = number_of(&view, i);
			double gone = -expm1(-1 / service[p].lifetime);
			shown++;
			covered += interval.low <= truth[p] && truth[p] <= interval.high;
			width += interval.high - interval.low;
			ideal += 2 * 1.96 * sqrt(period * (within ? 2 * gone : 2) * service[p].level);
			seen += p == 0 && interval.low > 0;
		}
		cairn_view_free(&view);
		cairn_profile_free(&before);
		cairn_profile_free(&after);
		cairn_profile_free(&change);
	}
	char text[64] = "mixed lifetimes";
	if (lifetime > 0)
		snprintf(text, sizeof text, "lifetime %g intervals", lifetime);
	printf("change %s, %-24s %5.1f %% covered (wanted 93 to 97), %.2f times as wide as the truth allows, +10 %% of 100 MB seen in %.0f "
	       "%%\n",
	       within ? "within one process" : "across processes", text, 100.0 * covered / shown, width / ideal, 100.0 * seen / trials);
}

/* One line of PARTS sizes between LOW and HIGH. */
static void measure_line(const char *what, int parts, double low, double high)
{
	int covered[2] = {0}, shown = 0, unknown[2] = {0};
	for (int trial = 0; trial < 20 * trials; trial++) {
		struct cairn_profile profile;
		service[0] = (struct sim_path){.level = period * exp(log(4) + 4 * sim_uniform())};
		for (int p = 0; p < parts; p++) {
			double size = low * pow(high / low, sim_uniform()), group = exp2(floor(log2(size)) - 2);
			service[0].parts[p] = (struct sim_part){.size = ceil(size / group) * group, .share = 1.0 / parts};
		}
		sim_step(&service[0], 0, 1, period, true);
		dump(&profile, 1, period);
		if (profile.sample_count) {
			shown++;
			for (int objects = 0; objects < 2; objects++) {
				struct cairn_view view;
				struct cairn_error error;
				cairn_view_make(&view, &profile, &(struct cairn_view_options){.objects = objects}, &error);
				struct cairn_spread spread = cairn_view_spread(&view, 0);
				struct cairn_interval interval = cairn_view_interval(&view, cairn_view_value(&view, 0), spread);
				double truth = truth_of(&service[0], objects), slack = objects ? 0.5 : 1;
				unknown[objects] += spread.unknown > 0;
				covered[objects] += spread.unknown == 0 && interval.low - slack <= truth && truth <= interval.high + slack;
				cairn_view_free(&view);
			}
		}
		cairn_profile_free(&profile);
	}
	printf("line of %-36s bytes %5.1f %% covered; objects %5.1f %% of the known (unknown, and said so: %.0f %%)\n", what,
	       100.0 * covered[0] / shown, shown > unknown[1] ? 100.0 * covered[1] / (shown - unknown[1]) : 0, 100.0 * unknown[1] / shown);
}

static void measure_counts(void)
{
	double worst = 0, worst_mixed = 0, one = 0;
	int many = 50 * trials;
	for (double size = period / 2; size <= 4 * period; size += exp2(floor(log2(size)) - 2)) {
		double chance = sim_chance(size, period);
		service[0] = (struct sim_path){.parts = {{.size = size, .share = 1, .sampled = round(1e5 * chance)}}};
		double objects, bytes;
		sim_print(&service[0], period, &objects, &bytes);
		cairn_unsample_jemalloc(period, &objects, &bytes);
		worst = fmax(worst, fabs(objects / (service[0].parts[0].sampled / chance) - 1));
		double other = fmin(4 * period, size * 1.5), other_chance = sim_chance(other, period);
		service[0].parts[1] = (struct sim_part){.size = other, .share = 1, .sampled = round(0.6e5 * other_chance)};
		sim_print(&service[0], period, &objects, &bytes);
		cairn_unsample_jemalloc(period, &objects, &bytes);
		worst_mixed = fmax(worst_mixed,
				   fabs(objects / (service[0].parts[0].sampled / chance + service[0].parts[1].sampled / other_chance) - 1));
	}
	printf("objects of half to four periods: counts off by %.3f %% at most in lines of one size, %.2f %% in lines of two\n",
	       100 * worst, 100 * worst_mixed);
	for (int trial = 0; trial < many; trial++) {
		service[0] =
			(struct sim_path){.parts = {{.size = period, .share = 1, .sampled = sim_uniform() < sim_chance(period, period)}}};
		double objects, bytes;
		sim_print(&service[0], period, &objects, &bytes);
		cairn_unsample_jemalloc(period, &objects, &bytes);
		one += round(objects) / many;
	}
	printf("one object of 512 KiB: JSON says %.2f on average, %.2f before it is rounded\n", one,
	       one / round(1 / sim_chance(period, period)) / sim_chance(period, period));
}

int main(int argc, char **argv)
{
	uint64_t seed = 0;
	trials = argc > 1 ? atoi(argv[1]) : trials;
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	else if (getrandom(&seed, 4, 0) != 4)
		return 1;
	printf("seed %llu, %d trials\n", (unsigned long long)seed, trials);
	sim_seed(seed);
	static const double lifetimes[] = {1, 5, 20, 100, 0};
	for (size_t i = 0; i < sizeof lifetimes / sizeof *lifetimes; i++)
		measure_change(lifetimes[i], true);
	measure_change(5, false);
	measure_line("one size, 64 B to 64 KiB", 1, 64, 65536);
	measure_line("one size, 128 KiB to 1 MiB", 1, 131072, 1048576);
	measure_line("three sizes, 64 B to 64 KiB", 3, 64, 65536);
	measure_line("three sizes, 64 B to 4 MiB", 3, 64, 4194304);
	measure_line("three sizes, 512 KiB to 8 MiB", 3, 524288, 8388608);
	measure_counts();
	return 0;
}
