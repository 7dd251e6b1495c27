/* trend.c - verdicts.
 *
 * Longer than other files: a verdict weighs all evidence on a path at once, and its parts (the evidence of the courses, the tests
 * against false alarms, runs before a restart) share the thresholds at the top, which are balanced against each other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/trend.h"

#include "base/array.h"
#include "series/law.h"
#include "series/rhythm.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The probability that any path of a series is called growing although none grows. */
static const double false_alarm = 0.01;
/* Prior odds that a path rests, against moving: most paths of a service hold a constant amount. */
static const double rest_odds = 10;
/* A path that moves by less than this share of its size over the whole time is steady. */
static const double steady_share = 0.1;
/* A path wanders if it changes by more than a fifth of its size, and by more standard deviations than a population spans in dozens of
 * dumps. */
static const double wander_share = 0.2, wander_sigmas = 6;
/* A change of fewer samples than this is not a course. */
static const double least_samples = 8;
/* A path that began to rise in the last third may be rising towards a level that it is still far from: there is no course that begins to
 * fill late, because so few dumps could not distinguish it from a line. One in twenty is about how often loads change in a third of the
 * time. */
static const double surest_late = 0.95;
/* 95 % of a normal distribution are within this many standard deviations. */
static const double sigmas_95 = 1.959964;
/* From this many points on, the beginning of growth is searched for (course.c): the test then divides its probability between the line and
 * the rest. */
enum { points_for_search = 12 };
/* Half of the probability of a false alarm is for lines, half for everything that began somewhere. */
static const double line_share = 2, searched_share = 2;
/* If the dumps count what came and went, a quarter of the probability of a false alarm is for the counts, the rest for the other tests. */
static const double counts_share = 4, other_share = 4 / 3.0;
/* Blocks of dumps must agree if there are at least this many. */
enum { blocks_least = 8 };
/* If at least this part of the noise is left one interval later, successive steps may be correlated. */
static const double lasting = 0.95;
/* Below this many samples that came or went, the coin test is applied as well; above it, Student's test is as careful. */
static const double few_events = 60;
/* A verdict needs at least points_least points. Counts of what came and went are used only with enough points to distinguish filling and a
 * step from growth (course.c). */
enum { points_least = 3, points_to_count = 5 };

const char *cairn_verdict_name(enum cairn_verdict verdict)
{
	static const char *const names[] = {"growing", "filling", "stopped", "steady", "wandering", "sawtooth", "shrinking", "too early"};
	static_assert(sizeof names / sizeof *names == CAIRN_TOO_EARLY + 1, "every verdict has a name");
	return names[verdict];
}

void cairn_trend_judge_open(struct cairn_trend_judge *judge, const struct cairn_trend_clock *clock)
{
	*judge = (struct cairn_trend_judge){.clock = clock, .evidence = cairn_array_zero(1, sizeof *judge->evidence),
					    .turns = cairn_array_zero(clock->all_count, sizeof *judge->turns)};
}

static void free_courses(struct cairn_courses *courses)
{
	if (courses)
		cairn_courses_free(courses);
	free(courses);
}

void cairn_trend_judge_close(struct cairn_trend_judge *judge)
{
	for (size_t i = 0; i < CAIRN_COURSE_POINTS; i++) {
		free_courses(judge->tail[i]);
		free_courses(judge->head[i]);
	}
	free(judge->evidence);
	free(judge->turns);
	*judge = (struct cairn_trend_judge){0};
}

static const struct cairn_courses *courses_of(const struct cairn_trend_clock *clock, struct cairn_courses **kept, size_t first, size_t end)
{
	if (!*kept) {
		*kept = cairn_array_zero(1, sizeof **kept);
		cairn_courses_make(*kept, clock->hours + first, clock->run + first, end - first);
	}
	return *kept;
}

/* One path being judged. */
struct path {
	const struct cairn_courses *courses;
	const struct cairn_evidence *evidence;
	const double *values;
	double unit;
	struct cairn_unit_size events; /* what came and went, if known for all points */
};

/* Courses, classified by what they say about the path now. */
enum trend_class {
	class_rest,
	class_growing,
	class_filling,
	class_stopped,
	class_recent, /* it made a step so lately that it may be the beginning of growth */
	class_shrinking,
	class_fallen,
	class_none,
	class_count
};

static enum trend_class class_of(const struct path *path, size_t noise, size_t course)
{
	bool up = path->evidence->rate[noise][course] > 0, first_up = path->evidence->first[noise][course] > 0;
	switch (path->courses->items[course].kind) {
	case CAIRN_COURSE_FLAT:
		return class_rest;
	case CAIRN_COURSE_LINE:
	case CAIRN_COURSE_BEGAN:
		return up ? class_growing : class_shrinking;
	case CAIRN_COURSE_BENT:
	case CAIRN_COURSE_LIFTED:
		return up ? class_growing : first_up ? class_stopped : class_shrinking;
	case CAIRN_COURSE_WARMED:
		return up ? class_growing : first_up ? class_filling : class_shrinking;
	case CAIRN_COURSE_STOPPED:
	case CAIRN_COURSE_STEP:
		if (!up)
			return class_fallen;
		return cairn_course_is_recent(path->courses, path->courses->items[course].at) ? class_recent : class_stopped;
	case CAIRN_COURSE_FILLING:
		return up ? class_filling : class_fallen;
	case CAIRN_COURSE_SLOW:
		return class_none;
	default:
		return class_rest;
	}
}

/* A weighted mixture of possible values. */
struct blend {
	double weight, sum, squares; /* squares of the values plus their own variances */
};

static void blend_add(struct blend *blend, double weight, double value, double deviation)
{
	blend->weight += weight;
	blend->sum += weight * value;
	blend->squares += weight * (value * value + deviation * deviation);
}

static double blend_mean(const struct blend *blend)
{
	return blend->weight > 0 ? blend->sum / blend->weight : 0;
}

static double blend_deviation(const struct blend *blend)
{
	double mean = blend_mean(blend);
	return blend->weight > 0 ? sqrt(fmax(0, blend->squares / blend->weight - mean * mean)) : 0;
}

/* The evidence, summed up by class. */
struct summary {
	double share[class_count]; /* sums to 1 */
	struct blend growing, shrinking, level, slope;
	size_t best[class_count]; /* the likeliest course of each class */
};

static double last_value(const struct path *path)
{
	return path->values[path->courses->count - 1];
}

/* The level at which filling would end: the part still missing is the height times what the curve has left. */
static double level_of(const struct path *path, const struct cairn_course *course, double height)
{
	const struct cairn_courses *courses = path->courses;
	size_t last = courses->count - 1, start = last;
	while (start > 0 && courses->run[start - 1] == courses->run[last])
		start--;
	return last_value(path) + height * exp(-(courses->hours[last] - courses->hours[start]) / course->hours);
}

static struct summary sum_up(const struct path *path)
{
	const struct cairn_courses *courses = path->courses;
	const struct cairn_evidence *evidence = path->evidence;
	struct summary summary = {0};
	double most = -INFINITY, all = 0, best[class_count];
	for (size_t c = 0; c < class_count; c++)
		best[c] = -1;
	for (size_t n = 0; n < CAIRN_NOISES; n++)
		for (size_t s = 0; s < courses->item_count; s++)
			most = fmax(most, evidence->weight[n][s] + (courses->items[s].kind == CAIRN_COURSE_FLAT ? log(rest_odds) : 0));
	for (size_t s = 0; s < courses->item_count; s++) {
		const struct cairn_course *course = &courses->items[s];
		double of_course[class_count] = {0};
		for (size_t n = 0; n < CAIRN_NOISES; n++) {
			double log_weight = evidence->weight[n][s] + (course->kind == CAIRN_COURSE_FLAT ? log(rest_odds) : 0) - most;
			if (!(log_weight > -30))
				continue;
			double weight = exp(log_weight), rate = evidence->rate[n][s];
			double deviation = evidence->sigmas[n][s] != 0 ? fabs(rate / evidence->sigmas[n][s]) : 0;
			enum trend_class found = class_of(path, n, s);
			all += found == class_none ? 0 : weight;
			of_course[found] += weight;
			if (found == class_growing)
				blend_add(&summary.growing, weight, rate, deviation);
			if (found == class_shrinking)
				blend_add(&summary.shrinking, weight, rate, deviation);
			if (rate > 0 && (course->kind == CAIRN_COURSE_FILLING || course->kind == CAIRN_COURSE_SLOW))
				blend_add(&summary.level, weight, level_of(path, course, rate),
					  deviation * (level_of(path, course, 1) - last_value(path)));
			if (course->kind == CAIRN_COURSE_LINE)
				blend_add(&summary.slope, weight, rate, deviation);
		}
		for (size_t c = 0; c < class_count; c++) {
			summary.share[c] += of_course[c];
			if (of_course[c] > best[c]) {
				best[c] = of_course[c];
				summary.best[c] = s;
			}
		}
	}
	for (size_t c = 0; c < class_count && all > 0; c++)
		summary.share[c] /= all;
	return summary;
}

/* The evidence that the path grew, or made a step, and does not grow now, however lately that was. */
static double share_stopped(const struct summary *summary)
{
	return summary->share[class_stopped] + summary->share[class_recent];
}

/* The test. */

/* The noise model with the most evidence for COURSE, in *BEST. Returns that evidence. */
static double best_noise(const struct path *path, size_t course, size_t *best)
{
	double most = -INFINITY;
	*best = 0;
	for (size_t n = 0; n < CAIRN_NOISES; n++)
		if (path->evidence->weight[n][course] > most) {
			most = path->evidence->weight[n][course];
			*best = n;
		}
	return most;
}

/* The probability of a rate like COURSE's under NOISE. If the noise is larger after the course begins than before, the larger one counts,
 * and the dumps before count half: they may have had another noise. */
static double chance_under(const struct path *path, size_t noise, size_t course, double sign)
{
	const struct cairn_courses *courses = path->courses;
	const struct cairn_course *of = &courses->items[course];
	double freedom = path->evidence->freedom[noise] - (double)of->vectors, sigmas = sign * path->evidence->sigmas[noise][course];
	if (of->kind == CAIRN_COURSE_BEGAN || of->kind == CAIRN_COURSE_BENT) {
		double residue[CAIRN_COURSE_POINTS], behind = 0, all = 0, steps = 0;
		cairn_course_residue(courses, path->evidence, noise, course, residue);
		for (size_t w = 0; w < courses->white; w++) {
			all += residue[w] * residue[w];
			if (w > of->at) {
				behind += residue[w] * residue[w];
				steps++;
			}
		}
		double known = freedom + (double)of->vectors - (double)(courses->count - courses->runs),
		       least = path->evidence->square[noise];
		for (size_t w = 0; w < courses->white; w++)
			least -= path->evidence->innovations[noise][w] * path->evidence->innovations[noise][w];
		double own = (behind + least) / fmax(1, steps - 1 + known), whole = (all + least) / fmax(1, freedom);
		if (own > whole)
			sigmas *= sqrt(whole / own);
		freedom = fmin(freedom, steps - 1 + known + 0.5 * ((double)courses->count - steps));
	}
	return cairn_law_student_above(sigmas, freedom);
}

/* If successive steps may be correlated, fewer and longer steps (blocks) must also show the movement. FIRST is where the judged part
 * begins. */
static double chance_of_blocks(const struct path *path, size_t first, double sign)
{
	const struct cairn_courses *courses = path->courses;
	size_t last = courses->count - 1, steps = last - first, length = steps / blocks_least;
	double worst = 0;
	if (courses->runs > 1)
		return 0;
	for (; length >= 2; length--) {
		size_t count = steps / length;
		double sum = 0, squares = 0, time = 0;
		for (size_t b = 0; b < count; b++) {
			size_t end = last - b * length;
			double hours = fmax(1e-9, courses->hours[end] - courses->hours[end - length]);
			double step = path->values[end] - path->values[end - length];
			sum += step;
			squares += step * step / hours;
			time += hours;
		}
		double rest = fmax(0, squares - sum * sum / time) + path->unit * path->unit * (double)count / time;
		double sigmas = sign * sum / sqrt(time * rest / (double)(count - 1));
		worst = fmax(worst, cairn_law_student_above(sigmas, (double)count - 1));
	}
	return worst;
}

/* If each sample came or went independently, the probability that so many more came. */
static double chance_of_events(const struct path *path, size_t first, double sign)
{
	const struct cairn_courses *courses = path->courses;
	double up = 0, down = 0;
	for (size_t i = first + 1; i < courses->count; i++)
		if (courses->run[i] == courses->run[i - 1]) {
			double events = sign * (path->values[i] - path->values[i - 1]) / path->unit;
			up += fmax(0, events);
			down += fmax(0, -events);
		}
	return up + down < few_events ? cairn_law_coin_above(up + down, up) : 0;
}

/* Adds the probability of each noise model, if the path follows COURSE, to WEIGHTS, scaled by SHARE. */
static void weigh_noises(const struct path *path, size_t course, double share, double *weights)
{
	size_t best;
	double most = best_noise(path, course, &best), sum = 0;
	for (size_t n = 0; n < CAIRN_NOISES; n++)
		sum += exp(path->evidence->weight[n][course] - most);
	for (size_t n = 0; n < CAIRN_NOISES; n++)
		weights[n] += share * exp(path->evidence->weight[n][course] - most) / sum;
}

enum { course_flat, course_line }; /* the first two courses */

/* The probability that noise alone makes a path look like COURSE. If the size of its noise could not be guessed, a slow noise may pass for
 * a course, and the remainder for a fast noise; so half of the weight of each noise model is its probability if the path did nothing. */
static double chance_of_course(const struct path *path, size_t course, double sign)
{
	const struct cairn_course *of = &path->courses->items[course];
	size_t best, first = of->kind == CAIRN_COURSE_BEGAN || of->kind == CAIRN_COURSE_BENT ? of->at : 0;
	double chance = 0, weights[CAIRN_NOISES] = {0};
	if (!(best_noise(path, course, &best) > -INFINITY))
		return 1;
	weigh_noises(path, course, path->evidence->guessed ? 1 : 0.5, weights);
	if (!path->evidence->guessed)
		weigh_noises(path, course_flat, 0.5, weights);
	for (size_t n = 0; n < CAIRN_NOISES; n++)
		chance += weights[n] > 1e-9 ? weights[n] * chance_under(path, n, course, sign) : 0;
	if (path->courses->noises[best].fades >= lasting) {
		if (of->kind != CAIRN_COURSE_WARMED && of->kind != CAIRN_COURSE_LIFTED)
			chance = fmax(chance, chance_of_blocks(path, first, sign));
		if (path->unit > 0)
			chance = fmax(chance, chance_of_events(path, first, sign));
	}
	return chance;
}

/* The likeliest course, other than the line, that now moves in the direction of SIGN. */
static size_t best_searched(const struct path *path, double sign)
{
	const struct cairn_courses *courses = path->courses;
	size_t best = 0;
	double most = -INFINITY;
	for (size_t s = 0; s < courses->item_count; s++) {
		enum cairn_course_kind kind = courses->items[s].kind;
		if (kind != CAIRN_COURSE_BEGAN && kind != CAIRN_COURSE_BENT && kind != CAIRN_COURSE_WARMED && kind != CAIRN_COURSE_LIFTED)
			continue;
		size_t noise;
		double weight = best_noise(path, s, &noise);
		if (weight > most && sign * path->evidence->rate[noise][s] > 0) {
			most = weight;
			best = s;
		}
	}
	return best;
}

static double chance_of_moving(const struct path *path, double sign)
{
	const struct cairn_courses *courses = path->courses;
	double line = chance_of_course(path, course_line, sign);
	if (courses->count < points_for_search || courses->positions == 0)
		return line;
	size_t searched = best_searched(path, sign);
	double other = searched ? chance_of_course(path, searched, sign) : 1;
	return fmin(1, fmin(line * line_share, other * (double)courses->positions * searched_share));
}

/* Selection bias: of two paths with the same rate near the threshold, only the one whose noise pointed up is seen. The mean of a normal
 * variable is estimated from a value that was examined only because it was above LIMIT (conditional likelihood, after Zhong and
 * Prentice). */
static double unlucky_share(double sigmas, double limit)
{
	double low = 0, high = sigmas;
	for (int step = 0; step < 40; step++) {
		double mean = (low + high) / 2, above = cairn_law_normal_above(limit - mean);
		double density = exp(-0.5 * (limit - mean) * (limit - mean)) / sqrt(2 * M_PI);
		if (mean + density / fmax(above, 1e-300) > sigmas)
			high = mean;
		else
			low = mean;
	}
	return sigmas > 0 ? fmax(0.25, (low + high) / 2 / sigmas) : 1;
}

/* How many more dumps it takes until a rate of SIGMAS standard deviations passes, if it goes on. Under a walk, errors fall with the root of
 * the number of dumps. */
static uint32_t dumps_needed(const struct path *path, double sigmas, size_t comparisons)
{
	double count = (double)path->courses->count;
	double needed = cairn_law_student_quantile(fmax(1e-12, false_alarm / fmax(1, (double)comparisons)), fmax(4, count));
	double more = sigmas > 0.5 ? count * (needed / sigmas * (needed / sigmas) - 1) : 0;
	return more > 0 && more < 1000 ? (uint32_t)fmax(1, ceil(more)) : 0;
}

static double mean_of(const struct path *path)
{
	double sum = 0;
	for (size_t i = 0; i < path->courses->count; i++)
		sum += path->values[i];
	return sum / (double)path->courses->count;
}

static double normal_quantile(double chance)
{
	return cairn_law_student_quantile(fmax(1e-15, chance), 1e6);
}

/* The standard deviation of RATE: that of the evidence, but at least that of the number of samples that came by chance in this time, unless
 * none came. With few dumps it is wider, so that 1.96 times it covers 95 % of Student's distribution. */
static double rate_error(const struct path *path, const struct cairn_course *course, double rate, double deviation)
{
	const struct cairn_courses *courses = path->courses;
	bool late = course->kind == CAIRN_COURSE_BEGAN || course->kind == CAIRN_COURSE_BENT;
	size_t first = late ? course->at : 0, points = courses->count - first;
	double hours = fmax(1e-9, courses->hours[courses->count - 1] - courses->hours[first]);
	double wider = cairn_law_student_quantile(0.025, fmax(2, (double)points)) / sigmas_95;
	return wider * fmax(deviation, path->events.resized ? 0 : sqrt(fabs(rate) * path->unit / hours));
}

static void judge_moving(struct cairn_trend *trend, const struct path *path, const struct summary *summary, double chance,
			 size_t comparisons)
{
	bool up = trend->verdict == CAIRN_GROWING;
	const struct blend *rate = up ? &summary->growing : &summary->shrinking;
	enum trend_class own = up ? class_growing : class_shrinking;
	const struct cairn_course *course = &path->courses->items[summary->best[own]];
	double moving = up ? summary->share[class_growing] + summary->share[class_filling] + share_stopped(summary)
			   : summary->share[class_shrinking] + summary->share[class_fallen];
	double deviation = blend_deviation(rate), mean = blend_mean(rate);
	double sigmas = deviation > 0 ? fabs(mean) / deviation : 1e9, limit = normal_quantile(false_alarm / fmax(1, (double)comparisons));
	trend->per_hour = mean * unlucky_share(sigmas, fmin(sigmas, limit));
	trend->error = rate_error(path, course, mean, deviation);
	trend->confidence = (moving > 0 ? summary->share[own] / moving : 1) * (1 - chance);
	trend->warmed_up = course->kind == CAIRN_COURSE_WARMED || course->kind == CAIRN_COURSE_LIFTED || course->kind == CAIRN_COURSE_BENT;
	bool late = course->kind == CAIRN_COURSE_BEGAN || course->kind == CAIRN_COURSE_BENT;
	trend->since = path->courses->hours[late ? course->at : 0];
	if (up && late && course->at > path->courses->count * 2 / 3)
		trend->confidence = fmin(trend->confidence, surest_late);
}

/* How sure a rest can be: growth too small to show in the dumps is not ruled out. If a path could have grown by as much as it holds, only
 * the prior odds remain. */
static double surest_rest(const struct path *path, const struct summary *summary, double mean)
{
	static const double seen_sigmas = 3;
	const struct cairn_courses *courses = path->courses;
	double span = courses->hours[courses->count - 1] - courses->hours[0],
	       unseen = seen_sigmas * blend_deviation(&summary->slope) * span;
	return 1 - fmin(1, mean > 0 ? unseen / mean : 1) / rest_odds;
}

/* Whether the path rose several times and never fell, of objects so large that this is no chance of sampling, and has not rested for longer
 * than before. */
static bool only_rises(const struct path *path)
{
	enum { rises_least = 3 };
	static const double longer = 1.5;
	const struct cairn_courses *courses = path->courses;
	double last = courses->hours[0], pause = 0;
	size_t rises = 0;
	for (size_t i = 1; i < courses->count; i++) {
		if (courses->run[i] != courses->run[i - 1] || path->values[i] < path->values[i - 1])
			return false;
		if (path->values[i] > path->values[i - 1]) {
			pause = fmax(pause, courses->hours[i] - last);
			last = courses->hours[i];
			rises++;
		}
	}
	return path->events.all_seen && rises >= rises_least && courses->hours[courses->count - 1] - last <= longer * pause;
}

static void judge_resting(struct cairn_trend *trend, const struct path *path, const struct summary *summary, size_t comparisons)
{
	const struct cairn_courses *courses = path->courses;
	const double *share = summary->share;
	double mean = mean_of(path), low = path->values[0], high = low;
	for (size_t i = 1; i < courses->count; i++) {
		low = fmin(low, path->values[i]);
		high = fmax(high, path->values[i]);
	}
	double rest = share[class_rest] + share[class_fallen];
	bool resized = path->events.resized; /* then nothing comes and goes by chance */
	double slack = fmax(wander_share * mean, resized ? 0 : wander_sigmas * sqrt(fmax(0, mean) * path->unit));
	bool moved = resized ? high - low > slack : high - low >= least_samples * path->unit;
	trend->error = blend_deviation(&summary->slope);
	if (moved && (share[class_growing] > 0.5 || share[class_shrinking] > 0.5)) {
		bool up = share[class_growing] > 0.5;
		const struct blend *rate = up ? &summary->growing : &summary->shrinking;
		double deviation = blend_deviation(rate);
		trend->verdict = CAIRN_TOO_EARLY;
		trend->per_hour = blend_mean(rate) * 0.5;
		trend->error = deviation;
		trend->more_dumps = dumps_needed(path, deviation > 0 ? fabs(blend_mean(rate)) / deviation : 0, comparisons);
		trend->confidence = fmax(share[class_growing], share[class_shrinking]);
	} else if (moved && share[class_filling] > fmax(rest, share_stopped(summary))) {
		trend->verdict = CAIRN_FILLING;
		trend->confidence = share[class_filling];
	} else if (moved && share_stopped(summary) > rest && share[class_recent] > share[class_stopped]) {
		size_t at = courses->items[summary->best[class_recent]].at;
		trend->verdict = CAIRN_TOO_EARLY;
		trend->since = courses->hours[at];
		while (cairn_course_is_recent(courses, at - trend->more_dumps))
			trend->more_dumps++;
		trend->confidence = share[class_recent];
	} else if (high - low > wander_share * mean && only_rises(path)) {
		trend->verdict = CAIRN_TOO_EARLY;
		trend->confidence = 1 - rest;
	} else if (moved && share_stopped(summary) > rest) {
		trend->verdict = CAIRN_STOPPED;
		trend->since = courses->hours[courses->items[summary->best[class_stopped]].at];
		trend->confidence = share[class_stopped] * surest_rest(path, summary, mean);
	} else if (courses->count < points_for_search && last_value(path) - path->values[0] > slack) {
		/* It rose by more than its turnover explains, but so few dumps do not show a course. */
		trend->verdict = CAIRN_TOO_EARLY;
		trend->more_dumps = (uint32_t)(points_for_search - courses->count);
		trend->confidence = 1 - rest;
	} else if (high - low > slack && (resized || courses->count >= points_for_search)) {
		trend->verdict = CAIRN_WANDERING;
		trend->confidence = rest * surest_rest(path, summary, mean);
	} else {
		trend->verdict = CAIRN_STEADY;
		trend->confidence = fmin(rest, 1) * surest_rest(path, summary, mean);
	}
}

static void set_level(struct cairn_trend *trend, const struct path *path, const struct summary *summary)
{
	double now = last_value(path), deviation = hypot(blend_deviation(&summary->level), sqrt(fmax(0, now) * path->unit));
	trend->level = summary->level.weight > 0 ? blend_mean(&summary->level) : now;
	trend->level_low = fmax(0, trend->level - sigmas_95 * deviation);
	trend->level_high = trend->level + sigmas_95 * deviation;
}

/* A second test, if the dumps count the samples that came and went. In a balanced population as many come as go, so that number of heads
 * from a fair coin must be unlikely. The test needs no guess of the noise, but ignores swings and wandering: so the other evidence must be
 * for growth too. There, rest counts less, by the ratio of the counts' probability with a fair coin to that with any coin. */
static bool grows_by_counts(const struct path *path, const struct summary *summary, double *chance)
{
	static const double most_of_all = 0.5;
	double came = path->events.came, went = path->events.went, all = came + went;
	int sign;
	double log_fair = lgamma_r(all + 1, &sign) - lgamma_r(came + 1, &sign) - lgamma_r(went + 1, &sign) - all * M_LN2;
	double rest = summary->share[class_rest] * fmin(1, (all + 1) * exp(log_fair));
	*chance = fmin(1, *chance * cairn_law_coin_above(all, came));
	return *chance < false_alarm && summary->share[class_growing] > most_of_all * (1 - summary->share[class_rest] + rest);
}

/* If only the counts show growth, they also give the rate; the dumps cannot. */
static void set_counted_rate(struct cairn_trend *trend, const struct path *path)
{
	const struct cairn_courses *courses = path->courses;
	double hours = fmax(1e-9, courses->hours[courses->count - 1] - courses->hours[0]);
	trend->per_hour = (path->events.came - path->events.went) * path->unit / hours;
	trend->error = sqrt(path->events.came + path->events.went) * path->unit / hours;
}

static void judge_points(struct cairn_trend *trend, const struct path *path, size_t comparisons)
{
	struct summary summary = sum_up(path);
	bool counted = path->events.counted && path->courses->count >= points_to_count;
	double all = fmax(1, (double)comparisons), family = counted ? all * other_share : all, by_counts = all * counts_share;
	double up = fmin(1, family * chance_of_moving(path, 1)), down = fmin(1, family * chance_of_moving(path, -1));
	bool only_counts = up >= false_alarm && counted && grows_by_counts(path, &summary, &by_counts);
	up = only_counts ? by_counts : up;
	*trend = (struct cairn_trend){.since = path->courses->hours[0], .chance = fmin(up, down)};
	const double *share = summary.share;
	if (up < false_alarm && share[class_growing] >= fmax(share[class_filling], share_stopped(&summary))) {
		trend->verdict = CAIRN_GROWING;
		judge_moving(trend, path, &summary, up, comparisons);
		if (only_counts)
			set_counted_rate(trend, path);
	} else if (down < false_alarm && share[class_shrinking] >= share[class_fallen]) {
		trend->verdict = CAIRN_SHRINKING;
		judge_moving(trend, path, &summary, down, comparisons);
	} else {
		judge_resting(trend, path, &summary, comparisons);
	}
	if (trend->verdict == CAIRN_FILLING)
		set_level(trend, path, &summary);
}

/* Runs. */

static size_t last_run_start(const struct cairn_trend_clock *clock)
{
	size_t start = clock->count - 1;
	while (start > 0 && clock->run[start - 1] == clock->run[start])
		start--;
	return start;
}

/* The level of the runs before the last one, from FIRST on: the largest median of their second halves. */
static double earlier_level(const struct cairn_trend_clock *clock, const double *values, size_t first, size_t end)
{
	double level = 0, sorted[CAIRN_COURSE_POINTS];
	for (size_t start = first, next; start < end; start = next) {
		for (next = start; next < end && clock->run[next] == clock->run[start]; next++)
			;
		size_t middle = start + (next - start) / 2;
		memcpy(sorted, values + middle, (next - middle) * sizeof *sorted);
		qsort(sorted, next - middle, sizeof *sorted, cairn_law_compare);
		level = fmax(level, sorted[(next - middle) / 2]);
	}
	return level;
}

static void judge_range(struct cairn_trend *trend, struct cairn_trend_judge *judge, struct cairn_courses **kept, const double *values,
			size_t first, size_t end, struct cairn_unit_size unit, size_t comparisons)
{
	struct path path = {courses_of(judge->clock, kept, first, end), judge->evidence, values + first, unit.amount, unit};
	path.events.counted &= end == judge->clock->count && path.courses->runs == 1;
	cairn_courses_weigh(path.courses, path.values, unit, judge->evidence);
	judge_points(trend, &path, comparisons);
}

static size_t first_sample(const double *values, size_t from, size_t end)
{
	while (from < end && values[from] == 0)
		from++;
	return from;
}

/* Whether the points from FIRST on are too few for a verdict; then TREND says how many more it takes. */
static bool too_few(struct cairn_trend *trend, const struct cairn_trend_clock *clock, size_t first)
{
	size_t points = clock->count - first;
	if (points >= points_least && clock->hours[clock->count - 1] > clock->hours[first])
		return false;
	*trend = (struct cairn_trend){
		.verdict = CAIRN_TOO_EARLY,
		.more_dumps = points < points_least ? (uint32_t)(points_least - points) : 1,
		.since = points > 0 ? clock->hours[first] : 0,
	};
	return true;
}

/* After a restart, caches fill up again: growth below the level of the previous run is not a leak, unless the path clearly grew then
 * too. FIRST is the first point at which the path has a sample: if that is in the last run, the path was judged by that run alone. */
static void look_at_runs(struct cairn_trend *trend, struct cairn_trend_judge *judge, const double *values, size_t first,
			 struct cairn_unit_size unit, size_t comparisons)
{
	enum { points_alone = 6 };
	/* In runs that are short compared to the time of filling, filling looks like a line. So a path that stays below the level of the
	 * previous run is a leak only if filling is ten times less likely. */
	static const double sure_of_leak = 0.9;
	const struct cairn_trend_clock *clock = judge->clock;
	size_t start = last_run_start(clock), length = clock->count - start, again = first_sample(values, start, clock->count);
	struct cairn_trend before, alone;
	if (start <= first || (trend->verdict != CAIRN_GROWING && trend->verdict != CAIRN_FILLING && trend->verdict != CAIRN_TOO_EARLY))
		return;
	if (again == clock->count) { /* a path that is gone rests, but it may come back */
		if (!too_few(trend, clock, start))
			*trend = (struct cairn_trend){
				.verdict = CAIRN_STEADY, .confidence = 1 - 1 / rest_odds, .since = clock->hours[start]};
		return;
	}
	double level = earlier_level(clock, values, first, start), now = values[clock->count - 1];
	double reach = level * (1 + steady_share / 2) + 3 * sqrt(fmax(level, unit.amount) * unit.amount);
	if (start - first >= points_least) {
		judge_range(&before, judge, &judge->head[first], values, first, start, unit, 1);
		bool leaks = trend->verdict == CAIRN_GROWING && trend->confidence >= sure_of_leak;
		if (before.verdict == CAIRN_GROWING && (now > reach || leaks))
			return;
	}
	if (length >= points_alone) {
		if (!too_few(&alone, clock, again))
			judge_range(&alone, judge, &judge->tail[again], values, again, clock->count, unit, comparisons);
		if (now > reach || alone.verdict != CAIRN_GROWING)
			*trend = alone;
	}
	if (now <= reach && (trend->verdict == CAIRN_GROWING || trend->verdict == CAIRN_TOO_EARLY || trend->verdict == CAIRN_FILLING)) {
		trend->verdict = CAIRN_FILLING;
		trend->refilling = true;
		trend->level = level;
		trend->level_low = fmax(0, level - sigmas_95 * sqrt(level * unit.amount));
		trend->level_high = reach;
	}
}

/* A path that moves, but not clearly, may grow under a rhythm. A resting path is not examined. */
static void look_under_rhythm(struct cairn_trend *trend, struct cairn_trend_judge *judge, const double *values, size_t first,
			      struct cairn_unit_size unit, size_t comparisons)
{
	/* The wave uses up degrees of freedom, and many periods were tried. */
	static const size_t penalty = 16;
	const struct cairn_trend_clock *clock = judge->clock;
	double calm[CAIRN_COURSE_POINTS] = {0}, period;
	struct cairn_trend under;
	bool clear = trend->verdict == CAIRN_GROWING || trend->verdict == CAIRN_SHRINKING || trend->verdict == CAIRN_STEADY;
	if (clear || last_run_start(clock) > first ||
	    !cairn_rhythm_remove(clock->hours + first, values + first, clock->count - first, calm + first, &period))
		return;
	judge_range(&under, judge, &judge->tail[first], calm, first, clock->count, unit, comparisons * penalty);
	if (under.verdict != CAIRN_GROWING)
		return;
	*trend = under;
	trend->period_hours = period;
}

/* Judges the lows that a path falls back to: what a leak adds is there in each of them. */
static void judge_troughs(struct cairn_trend *trend, const struct cairn_swing_turn *troughs, size_t count, struct cairn_unit_size unit,
			  size_t comparisons)
{
	double *hours = cairn_array_new(count, sizeof *hours), *values = cairn_array_new(count, sizeof *values);
	uint32_t *run = cairn_array_zero(count, sizeof *run);
	struct cairn_trend_clock clock;
	struct cairn_trend_judge judge;
	double picked[CAIRN_COURSE_POINTS];
	for (size_t i = 0; i < count; i++) {
		hours[i] = troughs[i].hours;
		values[i] = troughs[i].value;
	}
	cairn_trend_clock_make(&clock, hours, run, count);
	cairn_trend_judge_open(&judge, &clock);
	for (size_t i = 0; i < clock.count; i++)
		picked[i] = values[clock.pick[i]];
	/* How deep a dump happens to see a low is another noise than that of samples. */
	unit.known = unit.counted = false;
	if (!too_few(trend, &clock, 0))
		judge_range(trend, &judge, &judge.tail[0], picked, 0, clock.count, unit, comparisons);
	cairn_trend_judge_close(&judge);
	free(hours);
	free(values);
	free(run);
}

/* A path that does not clearly move may rise and fall, and grow under that: then its lows rise, and its tops with them. All dumps count
 * here, because a swing may be shorter than the time between two that were picked. */
static void look_for_swings(struct cairn_trend *trend, struct cairn_trend_judge *judge, const double *values, struct cairn_unit_size unit,
			    size_t comparisons)
{
	static const size_t penalty = 4; /* only what swings comes here, and whether it does was looked for */
	static const double with_tops = 0.5;
	const struct cairn_trend_clock *clock = judge->clock;
	size_t first = first_sample(values, 0, clock->all_count);
	struct cairn_trend lows = {.verdict = CAIRN_TOO_EARLY};
	if (trend->verdict == CAIRN_GROWING || trend->verdict == CAIRN_SHRINKING)
		return;
	struct cairn_swing swing = cairn_swing_find(clock->all_hours + first, values + first, clock->all_run + first,
						    clock->all_count - first, unit.amount, judge->turns);
	if (swing.falls < 2)
		return;
	if (swing.troughs >= points_least)
		judge_troughs(&lows, judge->turns, swing.troughs, unit, comparisons * penalty);
	double hours = swing.troughs ? judge->turns[swing.troughs - 1].hours - judge->turns[0].hours : 0;
	bool may_rise = trend->verdict == CAIRN_TOO_EARLY && trend->per_hour > 0;
	if (lows.per_hour > 0 && swing.last_top - swing.first_top > with_tops * lows.per_hour * hours) {
		lows.more_dumps = lows.more_dumps * (uint32_t)clock->count / (uint32_t)swing.troughs;
		*trend = lows; /* growing, or too early to tell */
	} else if (!may_rise || lows.verdict != CAIRN_TOO_EARLY) {
		trend->verdict = CAIRN_SAWTOOTH;
		trend->confidence = 1; /* counted, not estimated */
	}
	trend->period_hours = swing.period_hours;
}

void cairn_trend_judge(struct cairn_trend *trend, struct cairn_trend_judge *judge, const double *values, struct cairn_unit_size unit,
		       size_t comparisons)
{
	const struct cairn_trend_clock *clock = judge->clock;
	double picked[CAIRN_COURSE_POINTS];
	size_t count = clock->count;
	assert(count <= CAIRN_COURSE_POINTS);
	for (size_t i = 0; i < count; i++)
		picked[i] = values[clock->pick[i]];
	/* Points before the first sample of a path are ignored: its appearance is not growth. */
	size_t first = first_sample(picked, 0, count);
	if (first == count && count >= points_least) {
		/* It never held anything. Growth too small to be sampled is not ruled out: only the prior odds remain. */
		*trend = (struct cairn_trend){.verdict = CAIRN_STEADY, .confidence = 1 - 1 / rest_odds};
		return;
	}
	if (too_few(trend, clock, first))
		return;
	unit.amount = fmax(unit.amount, 1e-9);
	judge_range(trend, judge, &judge->tail[first], picked, first, count, unit, comparisons);
	look_at_runs(trend, judge, picked, first, unit, comparisons);
	look_under_rhythm(trend, judge, picked, first, unit, comparisons);
	look_for_swings(trend, judge, values, unit, comparisons);
	trend->more_dumps = (uint32_t)ceil(trend->more_dumps * cairn_trend_clock_dumps(clock));
}
