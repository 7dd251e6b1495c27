/* course.c - filters, orthogonal vectors, and evidence.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/course.h"

#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The noise models. FADES is the part of a deviation that is left one interval later, in a population of objects that live for a while:
 * from samples that are all new in each dump, to objects that live for twenty intervals. WALKS is a level that wanders under such scatter;
 * the last model is a walk alone. The noise of a population can be guessed before any dump is seen: the number of samples is random, so the
 * variance is the value times the amount that one sample stands for; this guess counts as much as ten dumps. A walk may have any size; one
 * sample in one step counts as one dump. PRIOR is the prior probability of each: most paths are populations. */
static const struct {
	double fades, walks, prior;
} kinds_of_noise[] = {
	{0, 0, 0.24}, {0.4, 0, 0.15}, {0.7, 0, 0.15}, {0.85, 0, 0.15}, {0.95, 0, 0.15}, {0, 0.1, 0.01}, {0, 0.5, 0.01}, {1, 0, 0.14},
};
static_assert(sizeof kinds_of_noise / sizeof *kinds_of_noise == CAIRN_NOISES, "every model of noise has a row");
static const double population_freedom = 10, walk_freedom = 1;
/* A guess is wrong if the variance that the dumps show exceeds it by so many standard deviations: twice in two dozen dumps, three times in
 * eight. */
static const double wrong_sigmas = 3.3;
/* A path of fewer samples says nothing about the noise of others. */
static const double least_samples = 4;

/* Changes are looked for at no more than this many positions: closer ones cannot be distinguished. */
enum { positions_most = 24 };
/* The current course must have been seen in four dumps, and the one before it in two. */
enum { points_behind = 4, points_before = 2 };
/* And in this share of the time: a few dumps in quick succession do not show what goes on. */
static const double time_behind = 1 / 16.0;
/* A step, or the end of growth, is seen if this many dumps after it show the new level. A step that fewer show may be the beginning of
 * growth. */
enum { points_settled = 3 };
/* The number of points from which on a step is looked for. */
enum { points_for_step = 5 };

/* The prior probability of each kind, if the path moves at all: a plain leak first, the others about equal, combinations of two half as
 * much. Halving or doubling these changes verdicts little, because the evidence grows with every dump. */
static const double priors[] = {
	[CAIRN_COURSE_FLAT] = 1,     [CAIRN_COURSE_LINE] = 0.3,    [CAIRN_COURSE_BEGAN] = 0.15, [CAIRN_COURSE_BENT] = 0.05,
	[CAIRN_COURSE_WARMED] = 0.1, [CAIRN_COURSE_LIFTED] = 0.05, [CAIRN_COURSE_STOPPED] = 0.1, [CAIRN_COURSE_STEP] = 0.1,
	[CAIRN_COURSE_FILLING] = 0.15, [CAIRN_COURSE_SLOW] = 0.15,
};
static_assert(sizeof priors / sizeof *priors == CAIRN_COURSE_KINDS, "every course has a prior");

/* Time constants of filling, as shares of the longest run. Filling that is slower than the run looks like a line within it: such a course
 * is evidence neither for filling nor for growing, but only for where the level may be. */
static const double time_constants[] = {2.5, 1.6, 1, 0.6, 0.35, 0.2, 0.1, 0.05};
static const double warm_constants[] = {0.35, 0.25, 0.18, 0.13, 0.09, 0.06};

static size_t run_start(const struct cairn_courses *courses, size_t point)
{
	while (point > 0 && courses->run[point - 1] == courses->run[point])
		point--;
	return point;
}

static double longest_run(const struct cairn_courses *courses)
{
	double longest = 0;
	for (size_t i = 0; i < courses->count; i++)
		longest = fmax(longest, courses->hours[i] - courses->hours[run_start(courses, i)]);
	return longest;
}

/* The shapes that courses are combined from. */
enum vector_kind { vector_line, vector_hinge, vector_ramp, vector_step, vector_fill };

static void draw(const struct cairn_courses *courses, enum vector_kind kind, size_t at, double hours, double *out)
{
	for (size_t i = 0; i < courses->count; i++) {
		double t = courses->hours[i], knee = courses->hours[at];
		switch (kind) {
		case vector_line:
			out[i] = t;
			break;
		case vector_hinge:
			out[i] = fmax(0, t - knee);
			break;
		case vector_ramp:
			out[i] = fmin(t, knee);
			break;
		case vector_step:
			out[i] = i >= at;
			break;
		case vector_fill:
			out[i] = -expm1(-(t - courses->hours[run_start(courses, i)]) / hours);
			break;
		}
	}
}

static size_t draw_course(const struct cairn_courses *courses, const struct cairn_course *course, double (*out)[CAIRN_COURSE_POINTS])
{
	static const struct {
		size_t count;
		enum vector_kind kinds[2];
	} made_of[] = {
		[CAIRN_COURSE_LINE] = {1, {vector_line}},
		[CAIRN_COURSE_BEGAN] = {1, {vector_hinge}},
		[CAIRN_COURSE_BENT] = {2, {vector_ramp, vector_hinge}},
		[CAIRN_COURSE_WARMED] = {2, {vector_fill, vector_line}},
		[CAIRN_COURSE_LIFTED] = {2, {vector_step, vector_line}},
		[CAIRN_COURSE_STOPPED] = {1, {vector_ramp}},
		[CAIRN_COURSE_STEP] = {1, {vector_step}},
		[CAIRN_COURSE_FILLING] = {1, {vector_fill}},
		[CAIRN_COURSE_SLOW] = {1, {vector_fill}},
	};
	static_assert(sizeof made_of / sizeof *made_of == CAIRN_COURSE_KINDS, "every course is made of something");
	for (size_t v = 0; out && v < made_of[course->kind].count; v++)
		draw(courses, made_of[course->kind].kinds[v], course->at, course->hours, out[v]);
	return made_of[course->kind].count;
}

static void add_course(struct cairn_courses *courses, enum cairn_course_kind kind, size_t at, double hours, double share)
{
	assert(courses->item_count < CAIRN_COURSES_MAX);
	struct cairn_course *course = &courses->items[courses->item_count++];
	*course = (struct cairn_course){.kind = kind, .at = at, .hours = hours, .prior = log(priors[kind] * share),
					.vector = courses->vector_count};
	course->vectors = draw_course(courses, course, NULL);
	courses->vector_count += course->vectors;
}

bool cairn_course_is_recent(const struct cairn_courses *courses, size_t at)
{
	return at + points_settled > courses->count;
}

/* The number of positions at which the present course may have begun, from the second point on. */
static size_t count_room(const struct cairn_courses *courses)
{
	size_t count = courses->count, room = count > points_behind + points_before ? count - points_behind - points_before + 1 : 0;
	double most = count > 0 ? courses->hours[count - 1] - time_behind * (courses->hours[count - 1] - courses->hours[0]) : 0;
	while (room > 0 && courses->hours[points_before - 1 + room - 1] > most)
		room--;
	return room;
}

static void list_steps(struct cairn_courses *courses)
{
	size_t count = courses->count, steps = count - 1, stride = (steps + positions_most - 1) / positions_most;
	double share = (double)stride / (double)steps;
	for (size_t at = 1; at < count; at += cairn_course_is_recent(courses, at + stride) ? 1 : stride) {
		add_course(courses, CAIRN_COURSE_STEP, at, 0, share);
		if (!cairn_course_is_recent(courses, at))
			add_course(courses, CAIRN_COURSE_STOPPED, at, 0, share);
	}
}

static void list_courses(struct cairn_courses *courses)
{
	size_t count = courses->count, room = count_room(courses), stride = (room + positions_most - 1) / positions_most;
	double span = longest_run(courses),
	       interval = count > 1 ? (courses->hours[count - 1] - courses->hours[0]) / (double)(count - 1) : 0;
	add_course(courses, CAIRN_COURSE_FLAT, 0, 0, 1);
	add_course(courses, CAIRN_COURSE_LINE, 0, 0, 1);
	bool changes = count >= CAIRN_COURSE_SEARCHED;
	courses->positions = room && stride ? (room + stride - 1) / stride : 0;
	double share = courses->positions ? 1 / (double)courses->positions : 0;
	for (size_t p = 0; p < courses->positions; p++) {
		size_t at = points_before - 1 + p * stride;
		if (changes) {
			add_course(courses, CAIRN_COURSE_BEGAN, at, 0, share);
			add_course(courses, CAIRN_COURSE_BENT, at, 0, share);
			add_course(courses, CAIRN_COURSE_LIFTED, at + 1, 0, share);
		}
	}
	if (count >= points_for_step) {
		list_steps(courses);
		for (size_t i = 0; i < sizeof time_constants / sizeof *time_constants; i++) {
			bool slow = time_constants[i] > 1;
			if (time_constants[i] * span > 0.7 * interval)
				add_course(courses, slow ? CAIRN_COURSE_SLOW : CAIRN_COURSE_FILLING, 0, time_constants[i] * span, 1 / 6.0);
		}
		for (size_t i = 0; changes && i < sizeof warm_constants / sizeof *warm_constants; i++)
			if (warm_constants[i] * span > 0.7 * interval)
				add_course(courses, CAIRN_COURSE_WARMED, 0, warm_constants[i] * span, 1 / 6.0);
	}
}

static bool is_run_start(const struct cairn_courses *courses, size_t point)
{
	return point == 0 || courses->run[point] != courses->run[point - 1];
}

/* The effect of a noise filter depends only on the times. There are two filters: for a population, the part left of the previous point is
 * subtracted; for a wandering level, the Kalman filter of the local level model subtracts its prediction. */
static void prepare_noise(const struct cairn_courses *courses, struct cairn_course_noise *noise)
{
	double steps = (double)(courses->count - courses->runs), time = longest_run(courses) * (double)courses->runs;
	double interval = fmax(1e-9, steps > 0 ? time / steps : 1);
	double variance = 1, constant = 0;
	noise->log_determinant = 0;
	for (size_t i = 0; i <= courses->count; i++) {
		bool fresh = i == courses->count || is_run_start(courses, i);
		if (fresh && i > 0 && !noise->wanders)
			noise->log_determinant += log(constant);
		if (i == courses->count)
			break;
		double wait = fresh ? 1 : fmax(1e-3, fmin(1e3, (courses->hours[i] - courses->hours[i - 1]) / interval));
		if (fresh) {
			variance = 1; /* the first point of a run is all that is known about its level */
			noise->deviation[i] = noise->constant[i] = constant = 1;
		} else if (noise->walks > 0) {
			double ahead = variance + noise->walks * wait;
			noise->gain[i] = ahead / (ahead + 1);
			noise->deviation[i] = sqrt(ahead + 1);
			variance = ahead * (1 - noise->gain[i]);
		} else if (noise->fades < 1) {
			noise->gain[i] = pow(noise->fades, wait);
			noise->deviation[i] = sqrt(1 - noise->gain[i] * noise->gain[i]);
			noise->constant[i] = (1 - noise->gain[i]) / noise->deviation[i];
			constant += noise->constant[i] * noise->constant[i];
		} else {
			noise->gain[i] = 1;
			noise->deviation[i] = sqrt(wait);
		}
		if (!fresh)
			noise->log_determinant += 2 * log(noise->deviation[i]);
	}
}

/* Removes the unknown level of the run from START to END from OUT. */
static void take_level(const struct cairn_course_noise *noise, size_t start, size_t end, double *out)
{
	double product = 0, square = 0;
	for (size_t i = start; i < end; i++) {
		product += out[i] * noise->constant[i];
		square += noise->constant[i] * noise->constant[i];
	}
	for (size_t i = start; i < end; i++)
		out[i] -= noise->constant[i] * product / square;
}

static void whiten(const struct cairn_courses *courses, const struct cairn_course_noise *noise, const double *values, double *out)
{
	double level = 0;
	size_t start = 0;
	for (size_t i = 0; i < courses->count; i++) {
		if (is_run_start(courses, i)) {
			if (i > 0 && !noise->wanders)
				take_level(noise, start, i, out);
			start = i;
			level = values[i];
			out[i] = noise->wanders ? 0 : values[i];
		} else if (noise->walks > 0) {
			double surprise = values[i] - level;
			out[i] = surprise / noise->deviation[i];
			level += noise->gain[i] * surprise;
		} else {
			out[i] = (values[i] - noise->gain[i] * values[i - 1]) / noise->deviation[i];
		}
	}
	if (!noise->wanders && courses->count > 0)
		take_level(noise, start, courses->count, out);
}

static double dot(const double *a, const double *b, size_t count)
{
	double sums[4] = {0};
	size_t i = 0;
	for (; i + 4 <= count; i += 4)
		for (size_t k = 0; k < 4; k++)
			sums[k] += a[i + k] * b[i + k];
	for (; i < count; i++)
		sums[0] += a[i] * b[i];
	return sums[0] + sums[1] + sums[2] + sums[3];
}

static void subtract(double *from, const double *vector, double amount, size_t count)
{
	for (size_t i = 0; i < count; i++)
		from[i] -= amount * vector[i];
}

static void prepare_course(struct cairn_courses *courses, struct cairn_course_noise *noise, const struct cairn_course *course)
{
	double drawn[2][CAIRN_COURSE_POINTS];
	size_t white = courses->white;
	draw_course(courses, course, drawn);
	for (size_t v = 0; v < course->vectors; v++) {
		double *vector = noise->vectors + (course->vector + v) * white, *height = &noise->heights[course->vector + v];
		whiten(courses, noise, drawn[v], vector);
		double before = sqrt(dot(vector, vector, white));
		if (v > 0)
			subtract(vector, vector - white, dot(vector, vector - white, white), white);
		*height = sqrt(dot(vector, vector, white));
		/* A vector that is almost 0, or almost equal to the previous one, is left out rather than scaled up. */
		if (*height <= 1e-6 * before || !(before > 0))
			*height = 0;
		for (size_t i = 0; i < white; i++)
			vector[i] = *height > 0 ? vector[i] / *height : 0;
	}
}

/* The logarithm of Zellner's Bayes factor for a course that leaves the share REST of the square, against no course. Its g, the ratio of the
 * height of a course to the noise of one dump, is unknown, so a few values are averaged: with a single one, even a perfect fit would count
 * for little in few dumps. */
static double log_factor(double rest, double freedom, double vectors)
{
	static const double scales[] = {1, 10, 100, 1000};
	enum { scale_count = sizeof scales / sizeof *scales };
	double terms[scale_count], most = -INFINITY, sum = 0;
	for (size_t i = 0; i < scale_count; i++) {
		double g = scales[i] * (freedom + 1);
		terms[i] = 0.5 * (freedom - vectors) * log1p(g) - 0.5 * freedom * log1p(g * rest);
		most = fmax(most, terms[i]);
	}
	for (size_t i = 0; i < scale_count; i++)
		sum += exp(terms[i] - most) / scale_count;
	return most + log(sum);
}

/* For given dumps, the factor depends only on the rest, so it is tabulated by the logarithm of the rest: beyond 24, a better fit makes no
 * difference. */
static const double factor_range = 24;

static void tabulate_factors(struct cairn_courses *courses)
{
	double contrasts = (double)(courses->count - courses->runs);
	for (size_t unknown = 0; unknown < 2; unknown++)
		for (size_t vectors = 1; vectors <= 2; vectors++)
			for (size_t i = 0; i <= CAIRN_FACTORS; i++)
				courses->factors[unknown][vectors - 1][i] = log_factor(exp(-factor_range * (double)i / CAIRN_FACTORS),
					contrasts + (unknown ? walk_freedom : population_freedom), (double)vectors);
}

void cairn_courses_make(struct cairn_courses *courses, const double *hours, const uint32_t *run, size_t count)
{
	assert(count <= CAIRN_COURSE_POINTS);
	*courses = (struct cairn_courses){.count = count};
	for (size_t i = 0; i < count; i++) {
		courses->hours[i] = hours[i];
		courses->run[i] = run[i];
		courses->runs += i == 0 || run[i] != run[i - 1];
	}
	courses->white = count;
	list_courses(courses);
	tabulate_factors(courses);
	size_t per_noise = courses->vector_count * (courses->white + 1);
	courses->memory = cairn_array_zero(CAIRN_NOISES * per_noise + 1, sizeof *courses->memory);
	for (size_t n = 0; n < CAIRN_NOISES; n++) {
		struct cairn_course_noise *noise = &courses->noises[n];
		noise->fades = kinds_of_noise[n].fades;
		noise->walks = kinds_of_noise[n].walks;
		noise->prior = log(kinds_of_noise[n].prior);
		noise->wanders = noise->walks > 0 || noise->fades >= 1;
		noise->vectors = courses->memory + n * per_noise;
		noise->heights = noise->vectors + courses->vector_count * courses->white;
		prepare_noise(courses, noise);
		for (size_t s = 0; s < courses->item_count; s++)
			prepare_course(courses, noise, &courses->items[s]);
	}
}

void cairn_courses_free(struct cairn_courses *courses)
{
	free(courses->memory);
	*courses = (struct cairn_courses){0};
}

static double look_up_factor(const struct cairn_courses *courses, bool unknown, size_t vectors, double rest)
{
	const double *table = courses->factors[unknown][vectors - 1];
	double at = fmin(CAIRN_FACTORS, -log(rest) * (CAIRN_FACTORS / factor_range));
	size_t below = at > 0 ? (size_t)at : 0;
	if (below >= CAIRN_FACTORS)
		return table[CAIRN_FACTORS];
	return table[below] + (at - (double)below) * (table[below + 1] - table[below]);
}

/* Calculates the part of the square that each course explains under NOISE. Returns the largest. */
static double fit(const struct cairn_courses *courses, size_t n, double contrasts, struct cairn_evidence *evidence, double *explained)
{
	const struct cairn_course_noise *noise = &courses->noises[n];
	size_t white = courses->white;
	double most = 0;
	for (size_t s = 0; s < courses->item_count; s++) {
		const struct cairn_course *course = &courses->items[s];
		double amount = 0;
		bool applies = contrasts >= (double)course->vectors;
		explained[s] = 0;
		for (size_t v = 0; v < course->vectors; v++) {
			applies &= noise->heights[course->vector + v] > 0;
			amount = dot(evidence->innovations[n], noise->vectors + (course->vector + v) * white, white);
			explained[s] += amount * amount;
			if (v == 0)
				evidence->first[n][s] = amount;
		}
		evidence->sigmas[n][s] = amount;
		evidence->rate[n][s] = applies && course->vectors ? amount / noise->heights[course->vector + course->vectors - 1] : 0;
		explained[s] = applies ? explained[s] : -1;
		most = fmax(most, explained[s]);
	}
	return most;
}

/* Objects of several sizes, or that come in bunches, make more noise than their mean size suggests: the variance as a multiple of SIZE. It
 * is taken from the population that fits best, by what a course with so many VECTORS leaves. */
static double excess(const struct cairn_courses *courses, double contrasts, const double *left, double size, double vectors)
{
	double best = -INFINITY, result = 1;
	for (size_t n = 0; n < CAIRN_NOISES; n++) {
		const struct cairn_course_noise *noise = &courses->noises[n];
		double variance = fmax(left[n], 1e-3 * size * contrasts) / fmax(1, contrasts - vectors);
		double fits = -0.5 * noise->log_determinant - 0.5 * contrasts * log(variance);
		if (!noise->wanders && fits > best) {
			best = fits;
			result = variance / size;
		}
	}
	return result;
}

static double mean_of(const struct cairn_courses *courses, const double *values)
{
	double mean = 0;
	for (size_t i = 0; i < courses->count; i++)
		mean += fabs(values[i]) / (double)courses->count;
	return mean;
}

/* The variance of a population that holds MEAN, guessed from its samples. */
static double guess_of(struct cairn_unit_size unit, double mean)
{
	return fmax(fmax(unit.amount * unit.amount, 1e-12), unit.amount * mean * fmax(1, unit.excess));
}

double cairn_courses_excess(const struct cairn_courses *courses, const double *values, struct cairn_unit_size unit)
{
	double left[CAIRN_NOISES], out[CAIRN_COURSE_POINTS], mean = mean_of(courses, values);
	double contrasts = (double)(courses->count - courses->runs);
	if (unit.resized || !unit.known || values[0] == 0 || contrasts < 2 || !(mean >= least_samples * unit.amount))
		return NAN;
	for (size_t n = 0; n < CAIRN_NOISES; n++) {
		const struct cairn_course_noise *noise = &courses->noises[n];
		whiten(courses, noise, values, out);
		double line = dot(out, noise->vectors + courses->items[CAIRN_COURSE_LINE].vector * courses->white, courses->white);
		left[n] = fmax(0, dot(out, out, courses->white) - line * line);
	}
	return excess(courses, contrasts, left, guess_of(unit, mean), 1);
}

void cairn_courses_weigh(const struct cairn_courses *courses, const double *values, struct cairn_unit_size unit,
			 struct cairn_evidence *evidence)
{
	double mean = mean_of(courses, values), contrasts = (double)(courses->count - courses->runs);
	double explained[CAIRN_NOISES][CAIRN_COURSES_MAX], all[CAIRN_NOISES], left[CAIRN_NOISES];
	for (size_t n = 0; n < CAIRN_NOISES; n++) {
		whiten(courses, &courses->noises[n], values, evidence->innovations[n]);
		all[n] = dot(evidence->innovations[n], evidence->innovations[n], courses->white);
		left[n] = fmax(0, all[n] - fit(courses, n, contrasts, evidence, explained[n]));
	}
	int sign;
	double sample = fmax(unit.amount * unit.amount, 1e-12), population = guess_of(unit, mean);
	double more = fmax(1, excess(courses, contrasts, left, population, 2));
	population *= more;
	evidence->guessed = unit.known && more <= 1 + wrong_sigmas * sqrt(2 / fmax(1, contrasts - 2));
	for (size_t n = 0; n < CAIRN_NOISES; n++) {
		const struct cairn_course_noise *noise = &courses->noises[n];
		/* A guess that turned out wrong does not count as ten dumps. */
		bool guessed = !noise->wanders && evidence->guessed;
		double known = guessed ? population_freedom : walk_freedom, freedom = contrasts + known;
		double least = known * (noise->fades >= 1 ? sample : population);
		evidence->square[n] = all[n] + least;
		evidence->freedom[n] = freedom;
		double base = noise->prior - 0.5 * noise->log_determinant - 0.5 * freedom * log(evidence->square[n]) +
			      0.5 * known * log(least) + lgamma_r(freedom / 2, &sign) - lgamma_r(known / 2, &sign);
		for (size_t s = 0; s < courses->item_count; s++) {
			const struct cairn_course *course = &courses->items[s];
			double rest = fmax(0, all[n] - explained[n][s]) + least;
			bool applies = explained[n][s] >= 0;
			evidence->weight[n][s] = applies ? base + course->prior : -INFINITY;
			if (applies && course->vectors > 0)
				evidence->weight[n][s] += look_up_factor(courses, !guessed, course->vectors, rest / evidence->square[n]);
			evidence->sigmas[n][s] *= applies ? 1 / sqrt(rest / (freedom - (double)course->vectors)) : 0;
		}
	}
}

void cairn_course_residue(const struct cairn_courses *courses, const struct cairn_evidence *evidence, size_t noise, size_t course,
			  double *out)
{
	const struct cairn_course *of = &courses->items[course];
	size_t white = courses->white;
	memcpy(out, evidence->innovations[noise], white * sizeof *out);
	for (size_t v = 0; v < of->vectors; v++) {
		const double *vector = courses->noises[noise].vectors + (of->vector + v) * white;
		subtract(out, vector, dot(evidence->innovations[noise], vector, white), white);
	}
}
