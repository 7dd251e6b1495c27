/* onset.c - compares the growth of samples with that of the process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/onset.h"

#include <math.h>

/* A path may have come into view with up to this share of its growth, and is called growing. */
static const double share_in_view = 0.5;
/* The claims of the other paths may be too low by as many of their standard errors. */
static const double claim_sigmas = 2;
/* A view with less of the last dump than this was filtered. */
static const double share_of_all = 0.99;
/* From this many dumps on, the growth of the process is that of a line through them, less its standard error; with fewer, it is counted
 * from the moment when sampling began. */
enum { points_for_line = 3 };

struct cairn_coverage cairn_onset_coverage(const struct cairn_series_point *point)
{
	if (!point->live)
		return (struct cairn_coverage){0};
	return (struct cairn_coverage){
		.sampled = point->bytes,
		.start_ns = point->origin.start_ns,
		.since_ns = point->origin.since_ns,
		.time_ns = point->origin.time_ns,
		.allocated = point->own.allocated,
		.before = point->own.before,
		.resident = point->resident,
	};
}

static const struct cairn_series_point *last_point(const struct cairn_series *series)
{
	return &series->points[series->point_count - 1];
}

/* The first point of the last run that was taken FROM hours after the first of all, or later. */
static size_t first_from(const struct cairn_series *series, double from)
{
	size_t first = series->point_count - 1;
	while (first > 0 && series->points[first - 1].run == series->points[first].run && cairn_series_hours(series, first - 1) >= from)
		first--;
	return first;
}

/* The memory of the process at POINT; 0 if unknown. The allocator's count, if there is one, is not blurred by what it keeps unused. */
static double memory_at(const struct cairn_series_point *point, bool by_allocator)
{
	return by_allocator ? point->own.allocated : point->own.anonymous > 0 ? point->own.anonymous + point->own.swapped : 0;
}

/* Whether the memory of the process is known at all points from FIRST on. */
static bool is_known(const struct cairn_series *series, size_t first, bool by_allocator)
{
	bool known = true;
	for (size_t i = first; i < series->point_count; i++)
		known &= memory_at(&series->points[i], by_allocator) > 0;
	return known;
}

/* The slope of a line through the memory of the process at the points from FIRST on, in bytes per hour, less its standard error; NAN if all
 * were taken at one moment. */
static double rise_by_line(const struct cairn_series *series, size_t first, bool by_allocator)
{
	double count = (double)(series->point_count - first), mean_hours = 0, mean = 0, square = 0, product = 0, left = 0;
	for (size_t i = first; i < series->point_count; i++) {
		mean_hours += cairn_series_hours(series, i) / count;
		mean += memory_at(&series->points[i], by_allocator) / count;
	}
	for (size_t i = first; i < series->point_count; i++) {
		double hours = cairn_series_hours(series, i) - mean_hours;
		square += hours * hours;
		product += hours * (memory_at(&series->points[i], by_allocator) - mean);
	}
	if (!(square > 0))
		return NAN;
	for (size_t i = first; i < series->point_count; i++) {
		double residue = memory_at(&series->points[i], by_allocator) - mean -
				 product / square * (cairn_series_hours(series, i) - mean_hours);
		left += residue * residue;
	}
	return product / square - sqrt(left / (count - 2) / square);
}

/* How much the memory of the process grew per hour since FROM hours after the first point; NAN if unknown. */
static double rise_since(const struct cairn_series *series, double from)
{
	size_t first = first_from(series, from);
	const struct cairn_series_point *last = last_point(series);
	bool by_allocator = is_known(series, first, true);
	double hours = (double)(last->origin.time_ns - last->origin.since_ns) / CAIRN_HOUR_NS;
	if (series->point_count - first >= points_for_line && is_known(series, first, by_allocator))
		return rise_by_line(series, first, by_allocator);
	/* What was swapped out when sampling began is not known, so swapped memory does not count here. */
	return last->own.before > 0 && last->own.anonymous > 0 && hours > 0 ? (last->own.anonymous - last->own.before) / hours : NAN;
}

/* How much can have come into view at most: what the process held when sampling began; INFINITY if unknown. */
static double held_before(const struct cairn_series *series)
{
	const struct cairn_series_point *last = last_point(series);
	size_t first = first_from(series, 0);
	if (first > 0 && series->points[first - 1].process == last->process)
		return series->points[first - 1].bytes;
	return last->own.before > 0 ? last->own.before : INFINITY;
}

/* How much of CLAIMED, the growth of all paths in bytes per hour, may have come into view since FROM. If it is not of ALL paths, that of
 * the process says nothing about it. */
static double excess_since(const struct cairn_series *series, double from, double claimed, bool all)
{
	const struct cairn_origin *origin = &last_point(series)->origin;
	double rise = all ? rise_since(series, from) : NAN;
	if (!isnan(rise))
		return fmax(0, claimed - rise);
	return held_before(series) / fmax(1e-9, (double)(origin->time_ns - origin->since_ns) / CAIRN_HOUR_NS);
}

/* The growth that paths claim together, and its variance. */
struct claims {
	double sum, variance;
	bool all; /* no path was left out by a filter */
};

static void add_claim(struct claims *claims, const struct cairn_trend *trend, double bytes_each)
{
	if (trend->verdict != CAIRN_GROWING)
		return;
	claims->sum += trend->per_hour * bytes_each;
	claims->variance += pow(trend->error * bytes_each, 2);
}

static bool hold_back(struct cairn_trend *trend, const struct cairn_series *series, const struct claims *all, double bytes_each)
{
	struct claims own = {0};
	add_claim(&own, trend, bytes_each);
	double claimed = all->sum + claim_sigmas * sqrt(fmax(0, all->variance - own.variance));
	if (trend->verdict != CAIRN_GROWING || !cairn_onset_explains(excess_since(series, trend->since, claimed, all->all), own.sum))
		return false;
	*trend = (struct cairn_trend){.verdict = CAIRN_TOO_EARLY, .confidence = trend->confidence, .chance = trend->chance,
				      .may_replace = true};
	return true;
}

bool cairn_onset_is_late(const struct cairn_series *series, double *rise)
{
	struct cairn_coverage coverage = cairn_onset_coverage(last_point(series));
	double known = rise_since(series, 0);
	*rise = isnan(known) ? 0 : fmax(0, known);
	return cairn_coverage_is_partial(&coverage);
}

bool cairn_onset_explains(double excess, double rate)
{
	return excess > share_in_view * rate;
}

void cairn_onset_hold_back(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_trend *rest)
{
	const struct cairn_series_point *last = last_point(series);
	struct cairn_coverage coverage = cairn_onset_coverage(last);
	double bytes_each = last->total > 0 ? last->bytes / last->total : 1;
	struct claims all = {.all = leaks->now.value >= share_of_all * last->total};
	if (!cairn_coverage_is_partial(&coverage))
		return;
	add_claim(&all, rest, bytes_each);
	for (size_t i = 0; i < leaks->count; i++)
		add_claim(&all, &leaks->rows[i].trend, bytes_each);
	size_t kept = 0;
	for (size_t i = 0; i < leaks->count; i++) {
		bool held = hold_back(&leaks->rows[i].trend, series, &all, bytes_each);
		leaks->held_back += held;
		/* A sum of several paths is a row only if it grows. */
		if (!held || leaks->rows[i].members == 1)
			leaks->rows[kept++] = leaks->rows[i];
	}
	leaks->count = kept;
	hold_back(rest, series, &all, bytes_each);
}
