/* spread.c - the variances of lines and of their changes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/spread.h"

#include "base/array.h"
#include "profile/kind.h"

#include <math.h>
#include <stdlib.h>

/* The variance that one object of x bytes adds, x² / (exp(x / period) - 1), is largest at this multiple of the period, where it is this
 * multiple of the period squared: the maximum of x² / (exp(x) - 1). Up to that size the function is concave, so no mixture of sizes has a
 * larger variance than objects of its mean size; above it, a mixture of objects of that size and of huge ones has. */
static const double widest_size = 1.593624, widest_variance = 0.647610;

static const double samples_least = 8;

/* A few samples of one size do not prove that all objects of the line have that size: smaller objects, for which one sample stands for
 * many, may have been missed. If a third of the samples were of another size, the probability that eight samples show none of them is 4 %.
 * Objects of several periods are hardly ever missed. */
static bool is_small(const struct cairn_profile *profile, uint32_t value, double amount, double partner, double size)
{
	static const double periods_always_seen = 4;
	double unit = cairn_profile_unit(profile, value, amount, partner);
	return profile->period > 1 && size < periods_always_seen * profile->period && unit > 0 && amount < samples_least * unit;
}

struct cairn_spread cairn_profile_line_spread(const struct cairn_profile *profile, uint32_t value, double amount, double partner)
{
	struct cairn_spread spread = cairn_spread_of(amount, cairn_profile_weight(profile, value, amount, partner));
	if (profile->kind != CAIRN_PROFILE_HEAP || profile->unsampling != CAIRN_UNSAMPLE_POISSON || !(amount > 0) || !(partner > 0))
		return spread;
	bool in_bytes = cairn_profile_in_bytes(profile, value);
	double size = in_bytes ? amount / partner : partner / amount;
	bool equal = cairn_sizes_equal(size) && (!profile->size_classes || cairn_size_is_class(size));
	if (!in_bytes && (!equal || is_small(profile, value, amount, partner, size)))
		spread.unknown = amount;
	else if (equal)
		return spread;
	else if (size > widest_size * profile->period)
		spread = cairn_spread_of(amount, widest_variance * profile->period * profile->period / size);
	return spread;
}

uint32_t cairn_profile_accumulated(const struct cairn_profile *profile, uint32_t value)
{
	switch (cairn_profile_value_kind(profile, value)) {
	case CAIRN_VALUE_LIVE_BYTES: return cairn_profile_find_value(profile, "alloc_space");
	case CAIRN_VALUE_LIVE_OBJECTS: return cairn_profile_find_value(profile, "alloc_objects");
	default: return CAIRN_NONE;
	}
}

/* The values of one line before and after. */
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

/* The number of samples of one line, before and after together, and the change of that number. */
struct events {
	double samples, change;
};

static struct events events_of(const struct cairn_profile *profile, struct pair pair, uint32_t value)
{
	bool later = pair.after > 0;
	double unit =
		cairn_profile_unit(profile, value, later ? pair.after : pair.before, later ? pair.after_partner : pair.before_partner);
	return unit > 0 ? (struct events){(pair.before + pair.after) / unit, (pair.after - pair.before) / unit} : (struct events){0};
}

/* The turnover estimated from all lines together, as if it were the same in each. */
static double common_share(const struct events *lines, size_t count)
{
	/* A few samples reveal little, so the estimate starts with this many assumed samples of complete turnover. Real changes must not
	 * count as turnover, so each square is limited to that of 1.75 standard deviations, or of one sample; limited like this, the
	 * squares of a normal distribution have a mean of 0.8633. The estimate converges within twenty rounds. */
	enum { rounds = 20 };
	static const double assumed_samples = 4, most_square = 1.75 * 1.75, cut_mean = 0.8633;
	double share = 1;
	for (int round = 0; round < rounds; round++) {
		double changed = assumed_samples, all = assumed_samples;
		for (size_t i = 0; i < count; i++) {
			double samples = lines[i].samples, square = lines[i].change * lines[i].change;
			bool cuts = most_square * share * samples > 1;
			changed += fmin(square, cuts ? most_square * share * samples : 1);
			all += samples * (cuts ? cut_mean : 1);
		}
		share = fmin(1, changed / all);
	}
	return share;
}

/* Turnover varies from line to line by a lognormal distribution, represented by these points, given in standard deviations from its
 * median. */
enum { point_count = 9 };
static const double point_deviations[point_count] = {-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2};
static const double point_weights[point_count] = {0.0276, 0.0663, 0.1238, 0.1802, 0.2042, 0.1802, 0.1238, 0.0663, 0.0276};
/* About this share of all lines really changed, by anything up to all that they have. */
static const double really_changed = 0.03;

/* The probability of the change of LINE. *ROOT gets the standard deviation of the change, as the root of a turnover. */
static double chance_of_line(struct cairn_turnover turnover, struct events line, double *root)
{
	size_t first = turnover.varies > 0 ? 0 : point_count / 2, end = turnover.varies > 0 ? point_count : first + 1;
	double sum = 0, roots = 0, usual = 0, weights = 0, other = really_changed / (2 * line.samples + 1);
	for (size_t p = first; p < end; p++) {
		double share = fmin(1, turnover.share * exp(turnover.varies * point_deviations[p]));
		double chance = point_weights[p] * cairn_change_chance(share * line.samples, line.change);
		sum += chance;
		roots += chance * sqrt(share);
		usual += point_weights[p] * sqrt(share);
		weights += point_weights[p];
	}
	double turned = (1 - really_changed) * sum / weights, all = turned + other;
	*root = (sum > 0 ? turned / all * roots / sum : 0) + (all > 0 ? other / all : 1) * usual / weights;
	return all;
}

struct cairn_turnover cairn_profile_turnover(const struct cairn_profile *profile, uint32_t value)
{
	/* The second parameter must improve the log-likelihood by this much: a smaller gain can be chance. */
	static const double better_least = 4;
	static const double varies[] = {0.6, 1}, middles[] = {0.5, 0.7, 1, 1.4};
	enum { lines_most = 2000 };
	if (!profile->base || !profile->base_within || profile->kind != CAIRN_PROFILE_HEAP)
		return (struct cairn_turnover){.share = 1};
	uint32_t partner = cairn_profile_partner(profile, value);
	size_t stride = 1 + profile->sample_count / lines_most, count = 0;
	struct events *lines = cairn_array_new(profile->sample_count + 1, sizeof *lines);
	for (size_t i = 0; i < profile->sample_count; i++) {
		lines[count] = events_of(profile, pair_of(profile, i, value, partner), value);
		count += lines[count].samples > 0;
	}
	struct cairn_turnover best = {.share = common_share(lines, count)}, one = best;
	double most = 0, root;
	for (size_t i = 0; i < count; i += stride)
		most += log(chance_of_line(one, lines[i], &root));
	most += better_least;
	for (size_t v = 0; v < sizeof varies / sizeof *varies; v++)
		for (size_t m = 0; m < sizeof middles / sizeof *middles; m++) {
			struct cairn_turnover other = {.share = fmin(1, one.share * middles[m]), .varies = varies[v]};
			double fits = 0;
			for (size_t i = 0; i < count; i += stride)
				fits += log(chance_of_line(other, lines[i], &root));
			if (fits > most) {
				most = fits;
				best = other;
			}
		}
	free(lines);
	return best;
}

/* Slack and fragmentation do not grow with an object's size, which decides how many objects one sample stands for: so it stands for its
 * share of the line. If no sample has any, nobody knows how much the objects have that were not sampled. */
static struct cairn_spread other_spread(const struct cairn_profile *profile, size_t sample, double amount)
{
	double samples = profile->sampled ? profile->sampled[sample] : 0;
	if (samples > 0 && !(amount > 0))
		return (struct cairn_spread){.unknown = samples};
	return cairn_spread_of(amount, samples > 0 ? amount / samples : 0);
}

/* Whether the spread of a count follows from its samples one by one, whatever sizes they have. */
static bool is_counted(const struct cairn_profile *profile, size_t sample, uint32_t value)
{
	return cairn_profile_value_kind(profile, value) == CAIRN_VALUE_LIVE_OBJECTS && profile->unsampling == CAIRN_UNSAMPLE_POISSON &&
	       sample < profile->counted_capacity && !isnan(profile->counted[sample].variance) && profile->sampled &&
	       profile->sampled[sample] >= samples_least;
}

struct cairn_spread cairn_profile_spread(const struct cairn_profile *profile, size_t sample, uint32_t value, uint32_t partner,
					 struct cairn_turnover turnover)
{
	struct pair pair = pair_of(profile, sample, value, partner);
	if (cairn_shown_views[profile->shown].by_object && pair.before == 0 && cairn_profile_in_bytes(profile, value))
		return other_spread(profile, sample, pair.after);
	if (pair.before == 0 && is_counted(profile, sample, value))
		return profile->counted[sample];
	struct cairn_spread after = cairn_profile_line_spread(profile, value, pair.after, pair.after_partner);
	if (pair.before == 0)
		return after;
	struct cairn_spread spread = cairn_profile_line_spread(profile, value, pair.before, pair.before_partner);
	/* A change beyond what turnover explains consists of objects that came or went, too. */
	static const double explained_sigmas = 2;
	struct events line = events_of(profile, pair, value);
	double both = pair.before + pair.after, unit = line.samples > 0 ? both / line.samples : 0, root = sqrt(turnover.share);
	if (turnover.varies > 0 && line.samples > 0)
		chance_of_line(turnover, line, &root);
	double came_and_went = root * root * both;
	came_and_went += fmax(0, fabs(pair.after - pair.before) - explained_sigmas * sqrt(fmax(0, came_and_went * unit)));
	uint32_t total = cairn_profile_accumulated(profile, value);
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
