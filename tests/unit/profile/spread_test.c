/* spread_test.c - which part of a line or of its change is random, and when that cannot be known.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/spread.h"
#include "profile/read.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>

enum { objects, bytes };
static const double period = 524288;

static void start(struct cairn_profile *profile)
{
	cairn_profile_init(profile);
	profile->kind = CAIRN_PROFILE_HEAP;
	profile->size_classes = true;
	profile->period = period;
	profile->unsampling = CAIRN_UNSAMPLE_POISSON;
	cairn_profile_add_value_type(profile, "inuse_objects", "count");
	cairn_profile_add_value_type(profile, "inuse_space", "bytes");
	profile->default_value = bytes;
}

/* Whether it is known how far the count of a line of SAMPLES of SIZE is off. */
static bool is_known(double samples, double size)
{
	struct cairn_profile profile;
	start(&profile);
	double count = samples / -expm1(-size / period);
	struct cairn_spread spread = cairn_profile_line_spread(&profile, objects, count, count * size);
	cairn_profile_free(&profile);
	return spread.unknown == 0;
}

static void test_counts(void)
{
	ok(is_known(20, 4096), "twenty samples of one size: the error of the count is known");
	ok(!is_known(3, 4096), "three may have missed other sizes: it is not");
	ok(is_known(1, 8 * period), "of very large objects none is missed");
	ok(!is_known(1000, 4096.4), "a mean that is no whole number is of several sizes");
	ok(!is_known(1000, 4104), "and so is one that jemalloc does not give out");
}

/* How wide the interval is of a change by so many samples of a line that had BEFORE, in samples, if so much was turned over. */
static double width_of(double before, double change, double turnover)
{
	struct cairn_profile profile;
	start(&profile);
	double size = 64, weight = 1 / -expm1(-size / period), after = (before + change) * weight;
	cairn_profile_stack_room(&profile, 0);
	cairn_profile_add_sample(&profile, 0, 0, (const double[]){after, after * size});
	cairn_profile_subtract(&profile, 0, objects, before * weight);
	cairn_profile_subtract(&profile, 0, bytes, before * weight * size);
	profile.base_within = true;
	struct cairn_spread spread = cairn_profile_spread(&profile, 0, bytes, objects, (struct cairn_turnover){.share = turnover});
	struct cairn_interval interval = cairn_spread_change(change * weight * size, spread);
	cairn_profile_free(&profile);
	return (interval.high - interval.low) / (weight * size);
}

static void test_changes(void)
{
	is_near(width_of(1000, 0, 0.5), 2 * 1.96 * sqrt(1000), 1, "a change varies by what came and went");
	is_near(width_of(80, 1, 0.01), 5, 0.01, "of few samples, by whole ones: two to either side");
	is_near(width_of(80, 0, 0.002), 3, 0.01, "and at least by one");
	ok(width_of(80, 30, 0.01) > 2 * 1.96 * sqrt(25), "what changed for real came by chance, too");
}

/* The turnover of a service of so many lines of 100 samples, of which every other one is replaced by SLOW and the others by FAST of its
 * samples. Changes are those of a normal law, at its quantiles. */
static struct cairn_turnover turnover_of(size_t lines, double slow, double fast)
{
	static const double quantiles[] = {-1.64, -1.04, -0.67, -0.39, -0.13, 0.13, 0.39, 0.67, 1.04, 1.64};
	struct cairn_profile profile;
	start(&profile);
	double size = 64, weight = 1 / -expm1(-size / period), before = 100;
	for (size_t i = 0; i < lines; i++) {
		double change = round(quantiles[i / 2 % 10] * sqrt(2 * before * (i % 2 ? fast : slow))), after = (before + change) * weight;
		cairn_profile_stack_room(&profile, 0);
		cairn_profile_add_sample(&profile, 0, 0, (const double[]){after, after * size});
		cairn_profile_subtract(&profile, i, objects, before * weight);
		cairn_profile_subtract(&profile, i, bytes, before * weight * size);
	}
	profile.base_within = true;
	struct cairn_turnover turnover = cairn_profile_turnover(&profile, bytes);
	profile.base_within = false;
	ok(cairn_profile_turnover(&profile, bytes).share == 1, "nothing is shared with another process");
	cairn_profile_free(&profile);
	return turnover;
}

static void test_turnover(void)
{
	struct cairn_turnover same = turnover_of(60, 0.2, 0.2), mixed = turnover_of(60, 0.02, 0.5);
	ok(same.share > 0.14 && same.share < 0.26 && same.varies == 0, "a fifth of all lines is replaced: %.2f", same.share);
	ok(mixed.varies > 0, "objects of some lines live longer: the share differs from line to line, by %.1f", mixed.varies);
}

/* The spread of VALUE of the one line of a dump that lists COUNT samples of two sizes, the second with SLACK. */
static struct cairn_spread spread_listed(uint32_t value, int count, int slack, bool show_slack)
{
	char text[8192];
	int length = snprintf(text, sizeof text, "heap_v2/524288\n  t*: 1: 64 [0: 0]\n@ 0x10 0x20\n  t*: 1: 64 [0: 0]\n  t1: 1: 64 [0: 0]\n\n"
						 "MAPPED_LIBRARIES:\n\n# cairn section samples 1\n");
	for (int i = 0; i < count; i++)
		length += snprintf(text + length, sizeof text - (size_t)length, "# cairn live 0 %d %d 524288 1 1 0\n", i % 2 ? 4096 : 64,
				   i % 2 ? slack : 0);
	struct cairn_profile profile;
	struct cairn_error error = {{0}};
	const struct cairn_read_options options = {.shown = show_slack ? CAIRN_SHOWN_SLACK : CAIRN_SHOWN_LIVE};
	cairn_profile_init(&profile);
	bool good = cairn_profile_read(&profile, (struct cairn_bytes){text, (size_t)length}, "listed", &options, &error);
	ok(good && profile.sample_count == 1, "a dump with %d samples is read: %s", count, error.text);
	struct cairn_spread spread = good ? cairn_profile_spread(&profile, 0, value, value == bytes ? objects : bytes,
								 (struct cairn_turnover){.share = 1})
					  : (struct cairn_spread){0};
	cairn_profile_free(&profile);
	return spread;
}

/* A dump of Cairn's engine has the size and slack of each sample. */
static void test_listed(void)
{
	double small = -1 / expm1(-64 / period), large = -1 / expm1(-4096 / period);
	struct cairn_spread spread = spread_listed(objects, 20, 0, false);
	is_int(spread.unknown == 0, 1, "the count of two sizes has a known error");
	is_near(spread.variance, 10 * small * (small - 1) + 10 * large * (large - 1), 1, "which is that of its samples, one by one");
	ok(spread_listed(objects, 4, 0, false).unknown > 0, "four samples may have missed other sizes");
	ok(spread_listed(bytes, 20, 0, true).unknown > 0, "if no sample has slack, that of the others is not known");
	ok(spread_listed(bytes, 20, 16, true).unknown == 0, "if some have, it is");
}

int main(void)
{
	test_counts();
	test_listed();
	test_changes();
	test_turnover();
	return tap_done();
}
