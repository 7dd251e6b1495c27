/* cohort.c - adds up the increments of instances, and judges the sum.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/cohort.h"

#include "base/time.h"
#include "series/law.h"

#include <math.h>
#include <stdlib.h>

static const double false_alarms = 0.01;
static const double enough_cover = 0.2; /* share of the largest number of instances at any instant */
enum { least_steps = 3, least_instances = 5 };

struct cairn_cohort_grid cairn_cohort_grid_make(int64_t from_ns, int64_t to_ns, int64_t youngest_ns, int64_t oldest_ns, size_t points)
{
	struct cairn_cohort_grid grid = {.from_ns = {from_ns, youngest_ns}, .to_ns = {to_ns, oldest_ns}};
	bool good = points >= least_steps && to_ns > from_ns && oldest_ns > youngest_ns;
	grid.steps = !good ? 0 : points < CAIRN_COHORT_STEPS ? points : CAIRN_COHORT_STEPS;
	return grid;
}

static int64_t instant(const struct cairn_cohort_grid *grid, enum cairn_cohort_axis axis, size_t step)
{
	double share = (double)step / (double)(grid->steps - 1);
	return grid->from_ns[axis] + (int64_t)((double)(grid->to_ns[axis] - grid->from_ns[axis]) * share);
}

/* An instant of the grid, the point before it, and its position between that point and the next. */
struct between {
	size_t step, before;
	double share;
};

/* Finds the instants of AXIS within the points of SERIES. Returns how many. */
static size_t find_instants(const struct cairn_cohort_grid *grid, enum cairn_cohort_axis axis, const struct cairn_series *series,
			    int64_t start_ns, struct between *found)
{
	size_t count = 0, at = 0;
	int64_t zero = axis == CAIRN_COHORT_AGE ? start_ns : 0;
	/* Half an interval beyond the ends is close enough: instances are not observed in step. */
	int64_t slack = series->point_count > 1
				? (series->points[series->point_count - 1].origin.time_ns - series->points[0].origin.time_ns) /
					  (int64_t)(2 * (series->point_count - 1))
				: 0;
	for (size_t step = 0; step < grid->steps; step++) {
		int64_t time = instant(grid, axis, step) + zero;
		if (series->point_count < 2 || time < series->points[0].origin.time_ns - slack ||
		    time > series->points[series->point_count - 1].origin.time_ns + slack)
			continue;
		while (at + 2 < series->point_count && series->points[at + 1].origin.time_ns <= time)
			at++;
		double gap = (double)(series->points[at + 1].origin.time_ns - series->points[at].origin.time_ns);
		double share = gap > 0 ? (double)(time - series->points[at].origin.time_ns) / gap : 0;
		found[count++] = (struct between){step, at, fmin(1, fmax(0, share))};
	}
	return count;
}

void cairn_cohort_cover_add(struct cairn_cohort_cover *cover, const struct cairn_cohort_grid *grid, const struct cairn_series *series,
			    int64_t start_ns)
{
	struct between found[CAIRN_COHORT_STEPS];
	for (int axis = 0; axis < CAIRN_COHORT_AXES; axis++) {
		size_t count = find_instants(grid, (enum cairn_cohort_axis)axis, series, start_ns, found);
		for (size_t i = 1; i < count; i++)
			cover->instances[axis][found[i].step]++;
	}
}

/* The rate by least squares, and its variance as the residuals show it. */
static double rate_of(const struct cairn_series *series, const double *values, double *variance)
{
	double count = (double)series->point_count, time = 0, mean = 0, square = 0, product = 0, rest = 0;
	for (size_t i = 0; i < series->point_count; i++) {
		time += cairn_series_hours(series, i) / count;
		mean += values[i] / count;
	}
	for (size_t i = 0; i < series->point_count; i++) {
		double hours = cairn_series_hours(series, i) - time;
		square += hours * hours;
		product += hours * (values[i] - mean);
	}
	double rate = square > 0 ? product / square : 0;
	for (size_t i = 0; i < series->point_count; i++) {
		double residue = values[i] - mean - rate * (cairn_series_hours(series, i) - time);
		rest += residue * residue;
	}
	*variance = square > 0 && series->point_count > 2 ? rest / (count - 2) / square : 0;
	return rate;
}

double cairn_cohort_rate(const struct cairn_series *series, const double *values, double *level)
{
	double variance;
	*level = 0;
	for (size_t i = 0; i < series->point_count; i++)
		*level += values[i] / (double)series->point_count;
	return rate_of(series, values, &variance);
}

void cairn_cohort_add(struct cairn_cohort *cohort, const struct cairn_cohort_grid *grid, const struct cairn_series *series,
		      int64_t start_ns, const double *values, struct cairn_unit_size unit)
{
	struct between found[CAIRN_COHORT_STEPS];
	double variance, rate = rate_of(series, values, &variance), level = 0;
	for (int axis = 0; axis < CAIRN_COHORT_AXES; axis++) {
		size_t count = find_instants(grid, (enum cairn_cohort_axis)axis, series, start_ns, found);
		double before = 0;
		for (size_t i = 0; i < count; i++) {
			const double *at = &values[found[i].before];
			double value = at[0] + found[i].share * (at[1] - at[0]);
			if (i > 0)
				cohort->increments[axis][found[i].step] += value - before;
			before = value;
		}
	}
	for (size_t i = 0; i < series->point_count; i++)
		level += values[i] / (double)series->point_count;
	for (int axis = 0; axis < CAIRN_COHORT_AXES; axis++)
		cohort->increments[axis][0] += level;
	cohort->rates += rate;
	cohort->squares += rate * rate;
	cohort->levels += level;
	cohort->level_squares += level * level;
	cohort->products += rate * level;
	double first = (double)(series->points[0].origin.time_ns - grid->from_ns[CAIRN_COHORT_CLOCK]) / CAIRN_HOUR_NS;
	double span = cairn_series_hours(series, series->point_count - 1);
	cohort->middles += first + span / 2;
	cohort->spans += span;
	cohort->noise += variance;
	cohort->rising += rate > 0;
	cohort->falling += rate < 0;
	cohort->unit += unit.amount;
	cohort->unit_known = (cohort->present == 0 || cohort->unit_known) && unit.known;
	cohort->present++;
}

/* Finds the longest stretch of instants that enough instances cover, starting one before the first increment. */
static void find_stretch(struct cairn_cohort_judge *judge, int axis)
{
	const double *cover = judge->cover->instances[axis];
	double most = 0;
	for (size_t i = 1; i < judge->grid->steps; i++)
		most = fmax(most, cover[i]);
	judge->first[axis] = judge->count[axis] = 0;
	for (size_t i = 1, start = 1; i <= judge->grid->steps; i++) {
		if (i < judge->grid->steps && cover[i] > 0 && cover[i] >= enough_cover * most)
			continue;
		if (i > start && i - start + 1 > judge->count[axis]) {
			judge->first[axis] = start - 1;
			judge->count[axis] = i - start + 1;
		}
		start = i + 1;
	}
}

void cairn_cohort_judge_open(struct cairn_cohort_judge *judge, const struct cairn_cohort_grid *grid, const struct cairn_cohort_cover *cover,
			     size_t instances)
{
	*judge = (struct cairn_cohort_judge){.grid = grid, .cover = cover, .instances = instances};
	for (int axis = 0; axis < CAIRN_COHORT_AXES && grid->steps; axis++) {
		find_stretch(judge, axis);
		for (size_t i = 0; i < judge->count[axis]; i++)
			judge->hours[axis][i] = (double)(instant(grid, (enum cairn_cohort_axis)axis, judge->first[axis] + i) -
							 instant(grid, (enum cairn_cohort_axis)axis, judge->first[axis])) / CAIRN_HOUR_NS;
		if (judge->count[axis] < least_steps)
			continue;
		cairn_trend_clock_make(&judge->clock[axis], judge->hours[axis], judge->runs, judge->count[axis]);
		cairn_trend_judge_open(&judge->judge[axis], &judge->clock[axis]);
	}
	judge->same = judge->first[0] == judge->first[1] && judge->count[0] == judge->count[1] &&
		      memcmp(cover->instances[0], cover->instances[1], sizeof cover->instances[0]) == 0 &&
		      grid->to_ns[0] - grid->from_ns[0] == grid->to_ns[1] - grid->from_ns[1];
}

void cairn_cohort_judge_close(struct cairn_cohort_judge *judge)
{
	for (int axis = 0; axis < CAIRN_COHORT_AXES; axis++)
		if (judge->grid->steps && judge->count[axis] >= least_steps)
			cairn_trend_judge_close(&judge->judge[axis]);
}

/* The rise per instant, from instant FIRST to LAST, by least squares. */
static double slope_of(const double *values, size_t first, size_t last)
{
	double middle = (double)(first + last) / 2, square = 0, product = 0;
	for (size_t i = first; i <= last; i++) {
		square += ((double)i - middle) * ((double)i - middle);
		product += ((double)i - middle) * values[i];
	}
	return square > 0 ? product / square : 0;
}

/* Whether an index that rose faster at first still slows down. The mean over very many instances has hardly any noise, and a cache never
 * follows a course of course.h exactly: the difference must not be taken for a leak. */
static bool slows_down(const double *values, size_t count, bool warmed_up)
{
	static const double enough = 0.75;
	size_t half = count / 2, late = count - 1 - count / 4, before = count - 1 - 2 * (count / 4);
	bool slower = slope_of(values, 0, half) > 2 * slope_of(values, half, count - 1);
	return count / 4 >= 2 && (warmed_up || slower) && slope_of(values, late, count - 1) < enough * slope_of(values, before, late);
}

/* Calculates the index of COHORT along AXIS, with mean 0. Returns its level. */
static double make_index(const struct cairn_cohort_judge *judge, const struct cairn_cohort *cohort, int axis, double *values)
{
	double mean = 0;
	values[0] = 0;
	for (size_t i = 1; i < judge->count[axis]; i++) {
		size_t step = judge->first[axis] + i;
		values[i] = values[i - 1] + cohort->increments[axis][step] / judge->cover->instances[axis][step];
		mean += values[i] / (double)judge->count[axis];
	}
	for (size_t i = 0; i < judge->count[axis]; i++)
		values[i] -= mean;
	return cohort->increments[axis][0] / (double)judge->instances;
}

/* Judges an index with mean 0, after raising it to LEVEL. */
static struct cairn_trend judge_index(struct cairn_cohort_judge *judge, const struct cairn_cohort *cohort, int axis, double *values,
				      double level, size_t comparisons)
{
	struct cairn_trend trend;
	double lift = level;
	/* Raised to what the instances hold, so that its size is right for noise that depends on it, and it is never negative. */
	for (size_t i = 0; i < judge->count[axis]; i++)
		lift = fmax(lift, 1e-6 - values[i]);
	for (size_t i = 0; i < judge->count[axis]; i++)
		values[i] += lift;
	struct cairn_unit_size unit = {cohort->unit / (double)cohort->present / (double)judge->instances, cohort->unit_known};
	cairn_trend_judge(&trend, &judge->judge[axis], values, unit, comparisons);
	if (trend.verdict == CAIRN_GROWING && slows_down(values, judge->count[axis], trend.warmed_up))
		trend.verdict = CAIRN_FILLING;
	return trend;
}

/* The mean of each quarter of COUNT values, plus LEVEL. */
static void quarters_of(const double *values, size_t count, double level, double quarters[4])
{
	for (size_t q = 0; q < 4; q++) {
		size_t from = q * count / 4, to = (q + 1) * count / 4;
		to = to > from ? to : from + 1;
		quarters[q] = level;
		for (size_t i = from; i < to; i++)
			quarters[q] += values[i] / (double)(to - from);
	}
}

/* How far a path moves between quarters, as a share of the smallest; -1 if the smallest is 0. */
static double movement_of(const double quarters[4])
{
	double least = quarters[0], most = quarters[0];
	for (size_t q = 1; q < 4; q++) {
		least = fmin(least, quarters[q]);
		most = fmax(most, quarters[q]);
	}
	return least > 0 ? (most - least) / least : -1;
}

/* A path that others are compared with. */
struct peer {
	double level, movement;
	double course[CAIRN_COHORT_STEPS]; /* as a multiple of its level */
};

static int compare_peers(const void *a, const void *b)
{
	const struct peer *one = a, *other = b;
	return (one->movement > other->movement) - (one->movement < other->movement);
}

/* Finds the load: the median course of the peers that move about as far as USUAL. */
static void find_load(struct cairn_cohort_judge *judge, const struct peer *peers, size_t count)
{
	static const double alike = 0.75;
	double courses[CAIRN_COHORT_PEERS];
	for (size_t i = 0; i < judge->count[CAIRN_COHORT_CLOCK]; i++) {
		size_t found = 0;
		for (size_t p = 0; p < count; p++)
			if (peers[p].movement >= alike * judge->usual && peers[p].movement <= judge->usual / alike)
				courses[found++] = peers[p].course[i];
		qsort(courses, found, sizeof *courses, cairn_law_compare);
		judge->load[i] = (courses[found / 2] + courses[(found - 1) / 2]) / 2;
	}
}

void cairn_cohort_find_peers(struct cairn_cohort_judge *judge, const struct cairn_cohort *const *cohorts, size_t count)
{
	enum { least_peers = 5 };
	static const double in_five = 0.2;
	struct peer peers[CAIRN_COHORT_PEERS];
	double values[CAIRN_COHORT_STEPS], quarters[4];
	size_t steps = judge->count[CAIRN_COHORT_CLOCK], found = 0;
	if (judge->instances < least_instances || steps < least_steps)
		return;
	for (size_t c = 0; c < count; c++) {
		double level = make_index(judge, cohorts[c], CAIRN_COHORT_CLOCK, values);
		size_t at = found;
		if (2 * cohorts[c]->present < judge->instances || !(level > 0))
			continue;
		quarters_of(values, steps, level, quarters);
		struct peer peer = {.level = quarters[0], .movement = movement_of(quarters)}; /* the first quarter, because a leak must not
											       * become a peer by growing */
		if (peer.movement < 0)
			continue;
		for (size_t i = 0; i < steps; i++)
			peer.course[i] = 1 + values[i] / level;
		if (found == CAIRN_COHORT_PEERS) { /* replaces the smallest */
			at = 0;
			for (size_t i = 1; i < found; i++)
				at = peers[i].level < peers[at].level ? i : at;
			if (peer.level <= peers[at].level)
				continue;
		}
		peers[at] = peer;
		found += at == found;
	}
	judge->compares = found >= least_peers;
	if (!judge->compares)
		return;
	qsort(peers, found, sizeof *peers, compare_peers);
	judge->usual = peers[found - 1 - (size_t)(in_five * (double)found)].movement;
	find_load(judge, peers, found);
}

/* Whether a path rises further than its peers move, and would also rise without the load. It may be one of the peers itself, and others may
 * leak as well. */
static bool stands_out(struct cairn_cohort_judge *judge, const struct cairn_cohort *cohort, const double *values, double level,
		       size_t comparisons)
{
	static const double further = 1.5;
	size_t count = judge->count[CAIRN_COHORT_CLOCK];
	double quarters[4], calm[CAIRN_COHORT_STEPS], mean = 0;
	if (!judge->compares)
		return true;
	quarters_of(values, count, level, quarters);
	if (quarters[3] - quarters[0] <= further * judge->usual * fmax(0, quarters[0]))
		return false;
	for (size_t i = 0; i < count; i++) {
		calm[i] = (values[i] + level) / fmax(0.1, judge->load[i]);
		mean += calm[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++)
		calm[i] -= mean;
	return judge_index(judge, cohort, CAIRN_COHORT_CLOCK, calm, mean, comparisons).verdict == CAIRN_GROWING;
}

static struct cairn_trend judge_by_clock(struct cairn_cohort_judge *judge, const struct cairn_cohort *cohort, size_t comparisons,
					 bool *common)
{
	double values[CAIRN_COHORT_STEPS], level = make_index(judge, cohort, CAIRN_COHORT_CLOCK, values);
	*common = !stands_out(judge, cohort, values, level, comparisons);
	return judge_index(judge, cohort, CAIRN_COHORT_CLOCK, values, level, comparisons);
}

static struct cairn_trend judge_by_age(struct cairn_cohort_judge *judge, const struct cairn_cohort *cohort, size_t comparisons)
{
	double values[CAIRN_COHORT_STEPS], level = make_index(judge, cohort, CAIRN_COHORT_AGE, values);
	return judge_index(judge, cohort, CAIRN_COHORT_AGE, values, level, comparisons);
}

struct cairn_cohort_verdict cairn_cohort_judge(struct cairn_cohort_judge *judge, const struct cairn_cohort *cohort, size_t comparisons)
{
	struct cairn_cohort_verdict verdict = {.chance = 1, .verdict = CAIRN_STEADY};
	double count = (double)judge->instances, mean = cohort->rates / count;
	if (judge->instances < least_instances || mean <= 0 || judge->count[0] < least_steps || judge->count[1] < least_steps)
		return verdict;
	/* Instances without the path have a rate of 0. */
	double error = sqrt(fmax(0, cohort->squares - count * mean * mean) / (count - 1) / count);
	double chance = (double)comparisons * (error > 0 ? cairn_law_student_above(mean / error, count - 1) : 0);
	if (chance > false_alarms)
		return verdict;
	struct cairn_trend clock = judge_by_clock(judge, cohort, comparisons, &verdict.common);
	struct cairn_trend age = judge->same ? clock : judge_by_age(judge, cohort, comparisons);
	verdict.verdict = clock.verdict != CAIRN_GROWING ? clock.verdict : age.verdict;
	if (verdict.verdict != CAIRN_GROWING)
		return verdict;
	verdict.grows = true;
	verdict.chance = fmin(1, fmax(chance, fmax(clock.chance, age.chance)));
	verdict.confidence = fmin(clock.confidence, age.confidence);
	verdict.per_hour = clock.per_hour;
	verdict.error = fmax(clock.error, error);
	int64_t first_ns = instant(judge->grid, CAIRN_COHORT_CLOCK, judge->first[CAIRN_COHORT_CLOCK]);
	verdict.since_ns = first_ns + (int64_t)(clock.since * CAIRN_HOUR_NS);
	return verdict;
}

/* The rate of a cohort as a share of what it holds, and its variance between instances: from the difference between each instance's rate
 * and that share of what it holds. */
static double share_of(const struct cairn_cohort *cohort, double *variance)
{
	double count = (double)cohort->present, share = cohort->levels > 0 ? cohort->rates / cohort->levels : 0;
	double rest = cohort->squares - 2 * share * cohort->products + share * share * cohort->level_squares;
	*variance = cohort->levels > 0 && count > 1 ? fmax(0, rest) * count / (count - 1) / (cohort->levels * cohort->levels) : INFINITY;
	return share;
}

bool cairn_cohort_differs(const struct cairn_cohort *cohort, const struct cairn_cohort *other, size_t comparisons)
{
	static const double good_part = 0.5, alike = 0.1; /* of the rate; of the time */
	double variance, of_other, share = share_of(cohort, &variance), against = share_of(other, &of_other);
	double count = (double)cohort->present, others = (double)other->present;
	if (cohort->present < least_instances || other->present < least_instances || !(share > 0))
		return false;
	double span = cohort->spans / count, tolerated = alike * span;
	if (fabs(other->spans / others - span) > tolerated || fabs(other->middles / others - cohort->middles / count) > tolerated)
		return false;
	double error = sqrt(variance + of_other), freedom = fmin(count, others) - 1;
	double chance = (double)comparisons * (error > 0 ? cairn_law_student_above((share - against) / error, freedom) : 0);
	return chance <= false_alarms && share - against >= good_part * share;
}

/* How many more instances rise than fall, as a share of INSTANCES, if those with the COUNT known LEVELS grow by RATE on average. */
static double surplus_of(double rate, double deviation, const double *levels, size_t count, size_t instances)
{
	double mean = 0, surplus = 0;
	for (size_t i = 0; i < count; i++)
		mean += levels[i] / (double)count;
	/* The rate is proportional to the level, and its scatter to the root of the level. */
	for (size_t i = 0; i < count && mean > 0; i++)
		surplus += 1 - 2 * cairn_law_normal_above(deviation > 0 ? rate * sqrt(levels[i] / mean) / deviation : 40);
	return surplus / (double)instances;
}

double cairn_cohort_growing(const struct cairn_cohort *cohort, size_t instances, double deviation, const double *levels, size_t count)
{
	double all = (double)instances, mean = cohort->rates / all, more = ((double)cohort->rising - (double)cohort->falling) / all;
	double low = 0, high = 1;
	if (mean <= 0 || more <= 0)
		return 0;
	/* If a share of the instances grows, each by mean / share, noise lets some of them fall; among the others, as many fall as rise. */
	for (int i = 0; i < 40; i++) {
		double share = (low + high) / 2;
		if (share * surplus_of(mean / share, deviation, levels, count, instances) < more)
			low = share;
		else
			high = share;
	}
	return all * high;
}
