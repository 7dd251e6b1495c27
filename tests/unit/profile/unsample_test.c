/* unsample_test.c - estimates and their intervals against a simulated sampler whose truth is known.
 *
 * The sampler does what jemalloc's does: it lets an exponentially distributed number of bytes pass and takes the object in which
 * they end. What it saw is rounded to a line of counts, un-sampled and given an interval, as a dump is.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/unsample.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

static const double period = 524288;

/* Objects of one size from one place. */
struct site {
	double size, count;
};

struct estimate {
	double value, objects;
	struct cairn_spread spread, object_spread;
};

/* How many of the objects are seen: each time, those that fit into the bytes until the next sample are passed over. */
static double see(struct site site)
{
	double seen = 0;
	for (double left = site.count;;) {
		left -= floor(-log(1 - drand48()) * period / site.size) + 1;
		if (left < 0)
			return seen;
		seen++;
	}
}

static void add_site(struct estimate *sum, struct site site)
{
	double objects = see(site), bytes = objects * site.size;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, period, &objects, &bytes);
	sum->value += bytes;
	sum->objects += objects;
	cairn_spread_add(&sum->spread, cairn_spread_of(bytes, site.size * cairn_sample_weight(period, site.size)));
	cairn_spread_add(&sum->object_spread, cairn_spread_of(objects, cairn_sample_weight(period, site.size)));
}

static bool covers(struct cairn_interval interval, double truth)
{
	return interval.low <= truth && truth <= interval.high;
}

/* Live bytes of LOW to HIGH times the period, equally often in each doubling. */
static struct site draw_site(double size, double low, double high)
{
	return (struct site){size, fmax(1, round(period * low * exp(drand48() * log(high / low)) / size))};
}

static void is_honest(int hits, int shown, const char *what)
{
	double percent = 100.0 * hits / shown;
	ok(fabs(percent - 95) <= 2, "%s: %.1f %% of %d intervals hold the truth", what, percent, shown);
}

enum { trials = 20000 };

/* One place with objects of one size. What was never seen is in no dump, and so in no table. */
static void test_site(double size, double low, double high)
{
	int shown = 0, hits = 0, object_hits = 0;
	char text[128];
	for (int i = 0; i < trials; i++) {
		struct site site = draw_site(size, low, high);
		struct estimate estimate = {0};
		add_site(&estimate, site);
		if (estimate.value == 0)
			continue;
		shown++;
		hits += covers(cairn_spread_interval(estimate.value, estimate.spread), site.count * site.size);
		object_hits += covers(cairn_spread_interval(estimate.objects, estimate.object_spread), site.count);
	}
	snprintf(text, sizeof text, "%.3g periods an object, %g to %g in all", size / period, low, high);
	is_honest(hits, shown, text);
	if (object_hits != hits)
		is_int(object_hits, hits, "objects are covered when their bytes are");
}

/* A function with many call paths: sizes of all kinds, most of them seen once or never. */
static void test_sum(void)
{
	int hits = 0;
	for (int i = 0; i < trials / 10; i++) {
		struct estimate estimate = {0};
		double truth = 0;
		for (int k = 0; k < 40; k++) {
			struct site site = draw_site(16 * exp(drand48() * log(1 << 16)), 0.1, 20);
			truth += site.size * site.count;
			add_site(&estimate, site);
		}
		hits += covers(cairn_spread_interval(estimate.value, estimate.spread), truth);
	}
	is_honest(hits, trials / 10, "a sum over forty places of all sizes");
}

/* A buffer that is always seen beside small objects that rarely are: the whole is large, what is uncertain is not. */
static void test_beside_certain(void)
{
	int hits = 0, shown = 0;
	for (int i = 0; i < trials; i++) {
		struct estimate estimate = {0};
		struct site large = {200 * period, 1}, small = draw_site(256, 2, 10);
		add_site(&estimate, small);
		if (estimate.value == 0)
			continue;
		add_site(&estimate, large);
		shown++;
		hits += covers(cairn_spread_interval(estimate.value, estimate.spread), large.size + small.size * small.count);
	}
	is_honest(hits, shown, "a few samples beside a buffer that is certain");
}

/* Two dumps, each sampled for itself: the interval of the change, and how often no change is called one. */
static void test_change(double low, double high)
{
	int hits = 0, alarms = 0;
	char text[128];
	for (int i = 0; i < trials; i++) {
		struct site before = draw_site(1024, low, high), after = draw_site(1024, low, high);
		struct estimate one = {0}, two = {0}, same = {0};
		add_site(&one, before);
		add_site(&two, after);
		add_site(&same, before);
		struct cairn_spread changed = one.spread, unchanged = one.spread;
		cairn_spread_add(&changed, two.spread);
		cairn_spread_add(&unchanged, same.spread);
		hits += covers(cairn_spread_change(two.value - one.value, changed), (after.count - before.count) * before.size);
		alarms += !covers(cairn_spread_change(same.value - one.value, unchanged), 0);
	}
	snprintf(text, sizeof text, "the change of a place of %g to %g periods", low, high);
	is_honest(hits, trials, text);
	ok(alarms < 0.06 * trials, "and %.1f %% of those that did not change are taken for changed", 100.0 * alarms / trials);
}

static void test_edges(void)
{
	struct cairn_spread none = {0};
	struct cairn_interval interval = cairn_spread_interval(1e6, none);
	ok(interval.low == 1e6 && interval.high == 1e6, "what is exact has no interval");
	none = cairn_spread_of(1e6, 4096 * cairn_sample_weight(1, 4096));
	ok(none.variance == 0, "where everything is recorded nothing varies");
	none = cairn_spread_of(1e6, cairn_sample_weight(period, 0));
	ok(none.variance == 0 && none.skew == 0, "objects without a size");
	interval = cairn_spread_interval(period, cairn_spread_of(period, 16 * cairn_sample_weight(period, 16)));
	ok(interval.low > 0 && interval.high > 4 * period && interval.high < 5 * period, "one sample may be of five: %.2f to %.2f",
	   interval.low / period, interval.high / period);
	interval = cairn_spread_change(period, cairn_spread_of(period, 16 * cairn_sample_weight(period, 16)));
	ok(interval.low < 0, "a single sample that was not there before is noise");
	interval = cairn_spread_change(6 * period, cairn_spread_of(6 * period, 16 * cairn_sample_weight(period, 16)));
	ok(interval.low > 0, "six are not");
	double shares[] = {1e3, 1e8, 1e14};
	for (size_t i = 0; i < 3; i++) {
		double value = shares[i] * period;
		interval = cairn_spread_interval(value, cairn_spread_of(value, 64 * cairn_sample_weight(period, 64)));
		is_near((interval.high - interval.low) / (2 * 1.96 * sqrt(value * period)), 1, 0.01,
			"%g samples: four standard deviations wide", shares[i]);
	}
}

/* The estimate leads back to the number of samples it was made from. */
static void test_count(void)
{
	static const struct {
		enum cairn_unsampling method;
		double objects, bytes;
	} lines[] = {{CAIRN_UNSAMPLE_POISSON, 13, 6688}, {CAIRN_UNSAMPLE_POISSON, 3, 3e7}, {CAIRN_UNSAMPLE_RATIO, 7, 700},
		     {CAIRN_UNSAMPLE_RATIO, 7, 7e7}, {CAIRN_UNSAMPLE_NONE, 5, 50}, {CAIRN_UNSAMPLE_POISSON, 0, 0}};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		double objects = lines[i].objects, bytes = lines[i].bytes;
		cairn_unsample(lines[i].method, period, &objects, &bytes);
		is_near(cairn_unsample_count(lines[i].method, period, objects, bytes), lines[i].objects, 1e-9, "%g samples are counted",
			lines[i].objects);
	}
}

int main(void)
{
	test_count();
	srand48(1);
	static const double sizes[] = {16, 4096, 65536, 524288, 1048576};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		test_site(sizes[i], 4, 20);
		test_site(sizes[i], 20, 400);
	}
	test_sum();
	test_beside_certain();
	test_change(3, 30);
	test_change(30, 300);
	test_edges();
	return tap_done();
}
