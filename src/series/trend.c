/* trend.c - slopes and verdicts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/trend.h"

#include <math.h>

/* More points than this are averaged in order, so that the number of pairs stays bounded. */
enum { most_points = 64 };

/* The chance that any of all the paths looked at is called growing although none is. */
static const double false_alarm = 0.01;
/* How many standard deviations the later half must be slower to call the first one warming up. */
static const double slowing_sigmas = 3;
/* A later half slower than this share of the whole has stopped growing; slower than this share of the first one, it may be filling up. */
static const double late_share = 0.25;
/* The same of a run so short that what fills up has not had the time to slow down further. */
static const double short_late_share = 0.5;
/* How many standard deviations it must still move by after its first quarter. */
static const double going_on_sigmas = 2;
/* How many standard deviations the later half must be faster than what fills up would be. */
static const double filling_sigmas = 2;

const char *cairn_verdict_name(enum cairn_verdict verdict)
{
	static const char *const names[] = {"growing", "shrinking", "sawtooth", "plateaued"};
	return names[verdict];
}

size_t cairn_trend_scratch(size_t count)
{
	size_t points = count < most_points ? count : most_points;
	return points * (points - (points > 0)) / 2 + points + 1;
}

static void swap(double *a, double *b)
{
	double kept = *a;
	*a = *b;
	*b = kept;
}

/* The median of COUNT values, which are put in another order; 0 of none. */
static double median(double *values, size_t count)
{
	if (count == 0)
		return 0;
	size_t low = 0, high = count - 1, middle = count / 2;
	while (low < high) {
		double pivot = values[low + (high - low) / 2];
		size_t left = low, right = high;
		for (;;) {
			while (values[left] < pivot)
				left++;
			while (values[right] > pivot)
				right--;
			if (left >= right)
				break;
			swap(&values[left++], &values[right--]);
		}
		if (middle <= right)
			high = right;
		else
			low = right + 1;
	}
	if (count % 2)
		return values[middle];
	double below = values[0];
	for (size_t i = 1; i < middle; i++)
		if (values[i] > below)
			below = values[i];
	return (below + values[middle]) / 2;
}

struct line {
	double slope;
	double error; /* of the slope */
	double bend;  /* the same for what bends: a curve is no noise that stays for a while */
};

static double median_slope(const struct cairn_trend_point *points, size_t count, double *scratch)
{
	size_t pairs = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count && points[j].run == points[i].run; j++)
			if (points[j].hours > points[i].hours)
				scratch[pairs++] = (points[j].value - points[i].value) / (points[j].hours - points[i].hours);
	return median(scratch, pairs);
}

/* The first of POINTS behind START that is of another run. */
static size_t end_of_run(const struct cairn_trend_point *points, size_t count, size_t start)
{
	size_t end = start;
	while (end < count && points[end].run == points[start].run)
		end++;
	return end;
}

/* How far the points lie from lines of that slope, one line for each run: a robust standard deviation. */
static double scatter(const struct cairn_trend_point *points, size_t count, double slope, double *scratch)
{
	double *rests = scratch, *work = scratch + count;
	for (size_t start = 0, end; start < count; start = end) {
		end = end_of_run(points, count, start);
		for (size_t i = start; i < end; i++)
			work[i - start] = points[i].value - slope * points[i].hours;
		double level = median(work, end - start);
		for (size_t i = start; i < end; i++)
			rests[i] = fabs(points[i].value - slope * points[i].hours - level);
	}
	return 1.4826 * median(rests, count);
}

/* How alike the noise of two dumps in a row is, from 0 to 1: by how much less the series changes from one to the next than it would if
 * both had been drawn anew with NOISE. The first quarter of a run is left out: what fills up there changes by more than noise. */
static double likeness(const struct cairn_trend_point *points, size_t count, double slope, double noise)
{
	double sum = 0;
	size_t steps = 0;
	for (size_t start = 0, end; start < count; start = end) {
		end = end_of_run(points, count, start);
		for (size_t i = start + (end - start) / 4 + 1; i < end; i++) {
			double step = points[i].value - points[i - 1].value - slope * (points[i].hours - points[i - 1].hours);
			sum += step * step;
			steps++;
		}
	}
	return steps > 0 && noise > 0 ? fmax(0, 1 - sum / (double)steps / (2 * noise * noise)) : 0;
}

/* The variance of a slope, for noise of 1 that fades from dump to dump by the factor LIKENESS. Points lean on the line by their distance in
 * time from their run's middle; noise that stays for a while leans with many of them at once. It is never taken for less than noise that
 * is drawn anew. Infinite where there is nothing to lean on. */
static double slope_variance(const struct cairn_trend_point *points, size_t count, double likeness)
{
	double alone = 0, together = 0;
	for (size_t start = 0, end; start < count; start = end) {
		double mean = 0, before = 0;
		end = end_of_run(points, count, start);
		for (size_t i = start; i < end; i++)
			mean += points[i].hours / (double)(end - start);
		for (size_t i = start; i < end; i++) {
			double lever = points[i].hours - mean;
			alone += lever * lever;
			together += lever * (lever + 2 * before);
			before = likeness * (before + lever);
		}
	}
	return alone > 0 ? fmax(alone, together) / (alone * alone) : INFINITY;
}

static struct line fit(const struct cairn_trend_point *points, size_t count, double *scratch)
{
	struct line line = {.slope = median_slope(points, count, scratch)};
	double noise = scatter(points, count, line.slope, scratch);
	for (size_t i = 0; i < count; i++)
		scratch[i] = points[i].error;
	noise = fmax(noise, median(scratch, count));
	line.error = noise * sqrt(slope_variance(points, count, likeness(points, count, line.slope, noise)));
	line.bend = noise * sqrt(slope_variance(points, count, 0));
	return line;
}

/* How often the series turns, counting only swings that are more than sampling and small change. */
static size_t count_legs(const struct cairn_trend_point *points, size_t count, size_t *falls)
{
	double largest = 0, error = 0;
	for (size_t i = 0; i < count; i++) {
		largest = fmax(largest, fabs(points[i].value));
		error = fmax(error, points[i].error);
	}
	double threshold = fmax(5 * error, 0.1 * largest), low = points[0].value, high = points[0].value;
	int direction = 0;
	size_t legs = 0;
	*falls = 0;
	for (size_t i = 1; i < count; i++) {
		double value = points[i].value;
		if (points[i].run != points[i - 1].run) {
			low = high = value;
			direction = 0;
		}
		low = fmin(low, value);
		high = fmax(high, value);
		if (direction >= 0 && high - value > threshold) {
			direction = -1;
			low = value;
			legs++;
			++*falls;
		} else if (direction <= 0 && value - low > threshold) {
			direction = 1;
			high = value;
			legs++;
		}
	}
	return legs;
}

/* The chance that pure noise gives a slope so many standard deviations up. */
static double tail(double sigmas)
{
	return 0.5 * erfc(sigmas / sqrt(2));
}

static struct cairn_trend_point mean_of(const struct cairn_trend_point *points, size_t count)
{
	struct cairn_trend_point mean = {.run = points[0].run};
	for (size_t i = 0; i < count; i++) {
		mean.hours += points[i].hours / (double)count;
		mean.value += points[i].value / (double)count;
		mean.error += points[i].error / (double)count;
	}
	return mean;
}

/* How many points of a run of LENGTH become one: two stay at least, or the run would have no slope. */
static size_t group_size(size_t length, size_t wanted)
{
	size_t half = (length + 1) / 2;
	return wanted < half ? wanted : half;
}

/* Where many short runs still make too many points, the oldest are given up. */
static size_t average(const struct cairn_trend_point *points, size_t count, struct cairn_trend_point *out)
{
	size_t made = 0, wanted = (count + most_points - 1) / most_points, groups = 0;
	for (size_t start = 0, end; start < count; start = end) {
		end = end_of_run(points, count, start);
		size_t size = group_size(end - start, wanted);
		groups += (end - start + size - 1) / size;
	}
	size_t skipped = groups > most_points ? groups - most_points : 0, seen = 0;
	for (size_t start = 0, end; start < count; start = end) {
		end = end_of_run(points, count, start);
		size_t size = group_size(end - start, wanted);
		for (size_t group = start; group < end; group += size)
			if (seen++ >= skipped)
				out[made++] = mean_of(points + group, end - group < size ? end - group : size);
	}
	return made;
}

/* The longest run is where warming up can be told from growing. */
static const struct cairn_trend_point *longest_run(const struct cairn_trend_point *points, size_t count, size_t *length)
{
	size_t best = 0;
	*length = 0;
	for (size_t start = 0, end; start < count; start = end) {
		end = end_of_run(points, count, start);
		if (end - start >= *length) {
			*length = end - start;
			best = start;
		}
	}
	return points + best;
}

/* How sure that it does not move: the chance that noise would have shown a tenth of its size over the whole time. */
static double steadiness(const struct cairn_trend_point *points, size_t count, struct line late, double sign)
{
	double mean = 0;
	for (size_t i = 0; i < count; i++)
		mean += points[i].value / (double)count;
	double span = points[count - 1].hours - points[0].hours, slack = span > 0 ? 0.1 * fabs(mean) / span : 0;
	return late.error > 0 ? 1 - tail((slack - sign * late.slope) / late.error) : 1;
}

static double chance_of(struct line line, double sign, size_t comparisons)
{
	double sigmas = line.error > 0 ? sign * line.slope / line.error : sign * line.slope > 0 ? INFINITY : 0;
	return fmin(1, 2 * tail(sigmas) * (double)(comparisons ? comparisons : 1));
}

/* Whether a RUN that slowed down from EARLY to LATE is on its way to a level. What fills up, fills ever slower, by the same factor from
 * quarter to quarter; so the first two tell what to expect of the later half. Only one that is clearly faster than that shows that
 * something else goes on. */
static bool is_filling(const struct cairn_trend_point *run, size_t length, struct line early, struct line late, double sign,
		       double *scratch)
{
	enum { quarters_worth_it = 8, short_run = 12 };
	if (late.slope / early.slope > (length < short_run ? short_late_share : late_share))
		return false;
	if (length < quarters_worth_it)
		return true;
	struct line first = fit(run, length / 4, scratch), second = fit(run + length / 4, length / 2 - length / 4, scratch);
	double factor = fmin(1, fmax(0, second.slope / first.slope)), expected = second.slope * factor * (1 + factor) / 2;
	double error = hypot(second.bend * factor * (1 + 1.5 * factor), first.bend * factor * factor * (0.5 + factor));
	return sign * (late.slope - expected) < filling_sigmas * hypot(late.bend, error);
}

/* Whether RUN moves after its first quarter, too: one that only began to, has stopped since. */
static bool goes_on(const struct cairn_trend_point *run, size_t length, double sign, double *scratch)
{
	enum { quarters_worth_it = 16 };
	if (length < quarters_worth_it)
		return true;
	struct line rest = fit(run + length / 4, length - length / 4, scratch);
	return sign * rest.slope > going_on_sigmas * rest.error;
}

void cairn_trend_judge(struct cairn_trend *trend, const struct cairn_trend_point *points, size_t count, size_t comparisons, double *scratch)
{
	enum { halves_worth_it = 6, least_points = 3 };
	struct cairn_trend_point averaged[most_points];
	/* Before its first sample a path is not there yet: that it came is no growth. */
	for (; count > least_points && points[0].value == 0; count--)
		points++;
	if (count > most_points) {
		count = average(points, count, averaged);
		points = averaged;
	}
	*trend = (struct cairn_trend){.verdict = CAIRN_PLATEAUED};
	if (count < 2)
		return;
	struct line whole = fit(points, count, scratch), early = whole, late = whole;
	size_t falls, legs = count_legs(points, count, &falls), length;
	/* Points within one swing say the same thing; what counts is how many swings there are. */
	if (falls > 1)
		whole.error *= sqrt((double)count / (double)(legs + 1));
	const struct cairn_trend_point *run = longest_run(points, count, &length);
	if (length >= halves_worth_it) {
		early = fit(run, length / 2, scratch);
		late = fit(run + length / 2, length - length / 2, scratch);
	}

	double sign = whole.slope < 0 ? -1 : 1, chance = chance_of(whole, sign, comparisons);
	bool moves = chance < false_alarm && sign * late.slope > late_share * fabs(whole.slope) && goes_on(run, length, sign, scratch);
	/* What clearly slowed down must have enough left in its later half alone, and must not be filling up. */
	trend->warmed_up = sign * (early.slope - late.slope) > slowing_sigmas * hypot(early.bend, late.bend);
	if (trend->warmed_up) {
		chance = chance_of(late, sign, comparisons);
		moves = moves && chance < false_alarm && !is_filling(run, length, early, late, sign, scratch);
	}
	trend->per_hour = trend->warmed_up ? late.slope : whole.slope;
	trend->error = trend->warmed_up ? late.error : whole.error;
	if (moves) {
		trend->verdict = sign > 0 ? CAIRN_GROWING : CAIRN_SHRINKING;
		trend->confidence = 1 - chance;
	} else {
		trend->verdict = falls > 1 ? CAIRN_SAWTOOTH : CAIRN_PLATEAUED;
		trend->confidence = steadiness(points, count, late, sign);
	}
}
