/* spread.c - variances of lines and of their changes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/spread.h"

#include <math.h>
#include <string.h>

/* The variance that one object adds, x² / (exp(x / period) - 1), is largest at this multiple of the period, and then so many squares of
 * the period: the maximum of x² / (exp(x) - 1). Up to there it is concave, so no mixture has more than its mean; beyond, one of such
 * objects and of huge ones has. */
static const double widest_size = 1.593624, widest_variance = 0.647610;

static bool is_in_bytes(const struct cairn_profile *profile, uint32_t value)
{
	return strcmp(cairn_profile_string(profile, profile->value_types[value].unit), "bytes") == 0;
}

/* A few samples of one size do not say that all objects of the line have it: smaller ones, of which one sample stands for many, may have
 * been missed. If a third of the samples were of another size, the chance that eight show none of it is 4 %. Objects of several periods
 * are hardly ever missed. */
static bool is_small(const struct cairn_profile *profile, uint32_t value, double amount, double partner, double size)
{
	static const double samples_least = 8, periods_always_seen = 4;
	double unit = cairn_profile_unit(profile, value, amount, partner);
	return profile->period > 1 && size < periods_always_seen * profile->period && unit > 0 && amount < samples_least * unit;
}

struct cairn_spread cairn_profile_line_spread(const struct cairn_profile *profile, uint32_t value, double amount, double partner)
{
	struct cairn_spread spread = cairn_spread_of(amount, cairn_profile_weight(profile, value, amount, partner));
	if (profile->kind != CAIRN_PROFILE_HEAP || profile->unsampling != CAIRN_UNSAMPLE_POISSON || !(amount > 0) || !(partner > 0))
		return spread;
	bool in_bytes = is_in_bytes(profile, value);
	double size = in_bytes ? amount / partner : partner / amount;
	bool of_jemalloc = strncmp(profile->format, "jemalloc", strlen("jemalloc")) == 0;
	bool equal = cairn_sizes_equal(size) && (!of_jemalloc || cairn_size_is_class(size));
	if (!in_bytes && (!equal || is_small(profile, value, amount, partner, size)))
		spread.unknown = amount;
	else if (equal)
		return spread;
	else if (size > widest_size * profile->period)
		spread = cairn_spread_of(amount, widest_variance * profile->period * profile->period / size);
	return spread;
}

/* The total that goes with a value of what lives: "alloc_space" with "inuse_space". */
static uint32_t accumulated(const struct cairn_profile *profile, uint32_t value)
{
	const char *type = cairn_profile_string(profile, profile->value_types[value].type);
	if (strcmp(type, "inuse_space") == 0)
		return cairn_profile_find_value(profile, "alloc_space");
	return strcmp(type, "inuse_objects") == 0 ? cairn_profile_find_value(profile, "alloc_objects") : CAIRN_NONE;
}

/* What one line held before and after. */
struct pair {
	double before, after, before_partner, after_partner;
};

static struct pair pair_of(const struct cairn_profile *profile, size_t sample, uint32_t value, uint32_t partner)
{
	const double *values = cairn_profile_values(profile, sample);
	struct pair pair = {.before = cairn_profile_base(profile, sample, value)};
	pair.after = values[value] + pair.before;
	if (partner != CAIRN_NONE) {
		pair.before_partner = cairn_profile_base(profile, sample, partner);
		pair.after_partner = values[partner] + pair.before_partner;
	}
	return pair;
}

double cairn_profile_turnover(const struct cairn_profile *profile, uint32_t value)
{
	/* Of few samples little is learnt: before any is seen, so many speak for a complete turnover. What really changed must not count
	 * as turnover, so no square counts for more than that of 1.75 standard deviations, or one sample; cut like that, those of a
	 * normal law have a mean of 0.8633. The estimate settles within twenty rounds. */
	enum { rounds = 20 };
	static const double assumed_samples = 4, most_square = 1.75 * 1.75, cut_mean = 0.8633;
	uint32_t partner = cairn_profile_partner(profile, value);
	double turnover = 1;
	if (!profile->base || !profile->base_within || profile->kind != CAIRN_PROFILE_HEAP)
		return 1;
	for (int round = 0; round < rounds; round++) {
		double changed = assumed_samples, all = assumed_samples;
		for (size_t i = 0; i < profile->sample_count; i++) {
			struct pair pair = pair_of(profile, i, value, partner);
			bool later = pair.after > 0;
			double unit = cairn_profile_unit(profile, value, later ? pair.after : pair.before, later ? pair.after_partner : pair.before_partner);
			if (!(unit > 0))
				continue;
			double samples = (pair.before + pair.after) / unit, change = (pair.after - pair.before) / unit;
			bool cuts = most_square * turnover * samples > 1;
			changed += fmin(change * change, cuts ? most_square * turnover * samples : 1);
			all += samples * (cuts ? cut_mean : 1);
		}
		turnover = fmin(1, changed / all);
	}
	return turnover;
}

struct cairn_spread cairn_profile_spread(const struct cairn_profile *profile, size_t sample, uint32_t value, uint32_t partner,
					 double turnover)
{
	struct pair pair = pair_of(profile, sample, value, partner);
	struct cairn_spread after = cairn_profile_line_spread(profile, value, pair.after, pair.after_partner);
	if (pair.before == 0)
		return after;
	struct cairn_spread spread = cairn_profile_line_spread(profile, value, pair.before, pair.before_partner);
	/* What the line changed by beyond what turnover explains came or went, too. */
	static const double explained_sigmas = 2;
	bool later = pair.after > 0;
	double unit = cairn_profile_unit(profile, value, later ? pair.after : pair.before, later ? pair.after_partner : pair.before_partner);
	double both = pair.before + pair.after, came_and_went = turnover * both;
	came_and_went += fmax(0, fabs(pair.after - pair.before) - explained_sigmas * sqrt(fmax(0, came_and_went * unit)));
	uint32_t total = accumulated(profile, value);
	if (total != CAIRN_NONE && profile->base_within) {
		double came = cairn_profile_values(profile, sample)[total], went = came - (pair.after - pair.before);
		if (came >= 0 && went >= 0)
			came_and_went = fmin(came_and_went, came + went);
	}
	cairn_spread_add(&spread, after);
	double share = both > 0 ? fmin(1, fmax(0, came_and_went / both)) : 1;
	spread.variance *= share;
	spread.skew *= share;
	return spread;
}
