/* trend.c - verdicts.
 *
 * Longer than other files: a verdict weighs all evidence on a path at once, and its parts (the evidence of the courses, the tests
 * against false alarms, runs before a restart) share the thresholds at the top, which are balanced against each other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/trend.h"

#include "base/array.h"
#include "series/chance.h"
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
/* If the dumps count what came and went, a quarter of the probability of a false alarm is for the counts, the rest for the other tests. */
static const double counts_share = 4, other_share = 4 / 3.0;
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

static enum trend_class class_of(const struct cairn_judged *path, size_t noise, size_t course)
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
	double walks;              /* the share of the noises that are walks */
	struct blend growing, shrinking, level, slope;
	size_t best[class_count]; /* the likeliest course of each class */
};

static double last_value(const struct cairn_judged *path)
{
	return path->values[path->courses->count - 1];
}

/* The level at which filling would end: the part still missing is the height times what the curve has left. */
static double level_of(const struct cairn_judged *path, const struct cairn_course *course, double height)
{
	const struct cairn_courses *courses = path->courses;
	size_t last = courses->count - 1, start = last;
	while (start > 0 && courses->run[start - 1] == courses->run[last])
		start--;
	return last_value(path) + height * exp(-(courses->hours[last] - courses->hours[start]) / course->hours);
}

static struct summary sum_up(const struct cairn_judged *path)
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
			summary.walks += found == class_none || !courses->noises[n].wanders ? 0 : weight;
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
	summary.walks /= all > 0 ? all : 1;
	return summary;
}

/* The evidence that the path grew, or made a step, and does not grow now, however lately that was. */
static double share_stopped(const struct summary *summary)
{
	return summary->share[class_stopped] + summary->share[class_recent];
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
static uint32_t dumps_needed(const struct cairn_judged *path, double sigmas, size_t comparisons)
{
	double count = (double)path->courses->count;
	double needed = cairn_law_student_quantile(fmax(1e-12, false_alarm / fmax(1, (double)comparisons)), fmax(4, count));
	double more = sigmas > 0.5 ? count * (needed / sigmas * (needed / sigmas) - 1) : 0;
	return more > 0 && more < 1000 ? (uint32_t)fmax(1, ceil(more)) : 0;
}

static double mean_of(const struct cairn_judged *path)
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
static double rate_error(const struct cairn_judged *path, const struct cairn_course *course, double rate, double deviation)
{
	const struct cairn_courses *courses = path->courses;
	bool late = course->kind == CAIRN_COURSE_BEGAN || course->kind == CAIRN_COURSE_BENT;
	size_t first = late ? course->at : 0, points = courses->count - first;
	double hours = fmax(1e-9, courses->hours[courses->count - 1] - courses->hours[first]);
	double wider = cairn_law_student_quantile(0.025, fmax(2, (double)points)) / sigmas_95;
	return wider * fmax(deviation, path->events.resized ? 0 : sqrt(fabs(rate) * path->unit / hours));
}

static void judge_moving(struct cairn_trend *trend, const struct cairn_judged *path, const struct summary *summary, double chance,
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
static double surest_rest(const struct cairn_judged *path, const struct summary *summary, double mean)
{
	static const double seen_sigmas = 3;
	const struct cairn_courses *courses = path->courses;
	double span = courses->hours[courses->count - 1] - courses->hours[0],
	       unseen = seen_sigmas * blend_deviation(&summary->slope) * span;
	return 1 - fmin(1, mean > 0 ? unseen / mean : 1) / rest_odds;
}

/* Whether growth that only adds may have just ended: nothing of the path ever went, and nothing came lately, which is no chance at the rate
 * before. Where objects come and go, so short a pause shows nothing. */
static bool may_have_ended(const struct cairn_judged *path)
{
	static const double surely_some = 4.6; /* of so many samples expected, none comes in one of a hundred cases */
	const struct cairn_courses *courses = path->courses;
	size_t last = courses->count - 1, until = last;
	for (size_t i = 1; i <= last; i++)
		if (courses->run[i] != courses->run[i - 1] || path->values[i] < path->values[i - 1] - path->unit / 2)
			return false;
	while (until > 0 && path->values[last] - path->values[until - 1] < path->unit / 2)
		until--;
	double before = courses->hours[until] - courses->hours[0], pause = courses->hours[last] - courses->hours[until];
	double came = (path->values[until] - path->values[0]) / path->unit;
	return !path->events.resized && before > 0 && came * pause / before > surely_some;
}

/* What is known of a path that is not shown to move: the first of the cases below that applies. */
struct resting {
	const struct cairn_judged *path;
	const struct summary *summary;
	size_t comparisons;
	double low, high, mean;
	double slack; /* it changes by less if nothing but its turnover moves it */
	bool moved;   /* by enough samples for a course */
	double rest;  /* the evidence that it rests, or fell */
};

/* The evidence is for movement, but chance is not ruled out. */
static bool moves_perhaps(const struct resting *at)
{
	return at->moved && fmax(at->summary->share[class_growing], at->summary->share[class_shrinking]) > 0.5;
}

static void say_moves_perhaps(struct cairn_trend *trend, const struct resting *at)
{
	bool up = at->summary->share[class_growing] > 0.5;
	const struct blend *rate = up ? &at->summary->growing : &at->summary->shrinking;
	double deviation = blend_deviation(rate);
	trend->verdict = CAIRN_TOO_EARLY;
	trend->per_hour = blend_mean(rate) * 0.5;
	trend->error = deviation;
	trend->more_dumps = dumps_needed(at->path, deviation > 0 ? fabs(blend_mean(rate)) / deviation : 0, at->comparisons);
	if (trend->more_dumps == 0 && may_have_ended(at->path))
		trend->more_dumps = 1;
	trend->confidence = at->summary->share[up ? class_growing : class_shrinking];
}

static bool fills(const struct resting *at)
{
	return at->moved && at->summary->share[class_filling] > fmax(at->rest, share_stopped(at->summary));
}

static void say_fills(struct cairn_trend *trend, const struct resting *at)
{
	trend->verdict = CAIRN_FILLING;
	trend->confidence = at->summary->share[class_filling];
}

/* It made a step so lately that this may be the beginning of growth. */
static bool stepped_lately(const struct resting *at)
{
	const double *share = at->summary->share;
	return at->moved && share_stopped(at->summary) > at->rest && share[class_recent] > share[class_stopped];
}

static void say_stepped_lately(struct cairn_trend *trend, const struct resting *at)
{
	const struct cairn_courses *courses = at->path->courses;
	size_t step = courses->items[at->summary->best[class_recent]].at;
	trend->verdict = CAIRN_TOO_EARLY;
	trend->since = courses->hours[step];
	while (cairn_course_is_recent(courses, step - trend->more_dumps))
		trend->more_dumps++;
	trend->confidence = at->summary->share[class_recent];
}

/* It rose several times and never fell, of objects so large that this is no chance of sampling, and has not rested for longer than
 * before. */
static bool only_rises(const struct resting *at)
{
	enum { rises_least = 3 };
	static const double longer = 1.5;
	const struct cairn_courses *courses = at->path->courses;
	const double *values = at->path->values;
	double last = courses->hours[0], pause = 0;
	size_t rises = 0;
	for (size_t i = 1; i < courses->count; i++) {
		if (courses->run[i] != courses->run[i - 1] || values[i] < values[i - 1])
			return false;
		if (values[i] > values[i - 1]) {
			pause = fmax(pause, courses->hours[i] - last);
			last = courses->hours[i];
			rises++;
		}
	}
	return at->high - at->low > wander_share * at->mean && at->path->events.all_seen && rises >= rises_least &&
	       courses->hours[courses->count - 1] - last <= longer * pause;
}

static void say_only_rises(struct cairn_trend *trend, const struct resting *at)
{
	trend->verdict = CAIRN_TOO_EARLY;
	trend->confidence = 1 - at->rest;
}

static bool has_stopped(const struct resting *at)
{
	return at->moved && share_stopped(at->summary) > at->rest;
}

static void say_has_stopped(struct cairn_trend *trend, const struct resting *at)
{
	const struct cairn_courses *courses = at->path->courses;
	trend->verdict = CAIRN_STOPPED;
	trend->since = courses->hours[courses->items[at->summary->best[class_stopped]].at];
	trend->confidence = at->summary->share[class_stopped] * surest_rest(at->path, at->summary, at->mean);
}

/* It rose by more than its turnover explains, but so few dumps do not show a course. */
static bool rose_in_few(const struct resting *at)
{
	return at->path->courses->count < CAIRN_COURSE_SEARCHED && last_value(at->path) - at->path->values[0] > at->slack;
}

static void say_rose_in_few(struct cairn_trend *trend, const struct resting *at)
{
	trend->verdict = CAIRN_TOO_EARLY;
	trend->more_dumps = (uint32_t)(CAIRN_COURSE_SEARCHED - at->path->courses->count);
	trend->confidence = 1 - at->rest;
}

static bool wanders(const struct resting *at)
{
	return at->high - at->low > at->slack && (at->path->events.resized || at->path->courses->count >= CAIRN_COURSE_SEARCHED);
}

static void say_wanders(struct cairn_trend *trend, const struct resting *at)
{
	trend->verdict = CAIRN_WANDERING;
	trend->confidence = at->rest * surest_rest(at->path, at->summary, at->mean);
}

/* Something came, and nothing ever went: nobody knows how long its objects live. */
static bool keeps_all(const struct resting *at)
{
	return at->path->events.counted && at->path->events.went < 0.5;
}

static void say_keeps_all(struct cairn_trend *trend, const struct resting *at)
{
	trend->verdict = CAIRN_TOO_EARLY;
	trend->confidence = 1 - at->rest;
}

static bool is_steady(const struct resting *at)
{
	(void)at;
	return true; /* nothing else is left */
}

static void say_is_steady(struct cairn_trend *trend, const struct resting *at)
{
	trend->verdict = CAIRN_STEADY;
	trend->confidence = fmin(at->rest, 1) * surest_rest(at->path, at->summary, at->mean);
}

static void judge_resting(struct cairn_trend *trend, const struct cairn_judged *path, const struct summary *summary, size_t comparisons)
{
	static const struct {
		bool (*applies)(const struct resting *at);
		void (*say)(struct cairn_trend *trend, const struct resting *at);
	} cases[] = {
		{moves_perhaps, say_moves_perhaps}, {fills, say_fills},
		{stepped_lately, say_stepped_lately}, /* before what has stopped, which needs as much evidence */
		{only_rises, say_only_rises},
		{has_stopped, say_has_stopped},
		{rose_in_few, say_rose_in_few}, {wanders, say_wanders}, /* by the range alone, where no course is known */
		{keeps_all, say_keeps_all}, {is_steady, say_is_steady},
	};
	double rest = summary->share[class_rest] + summary->share[class_fallen];
	struct resting at = {path, summary, comparisons, path->values[0], path->values[0], mean_of(path), .rest = rest};
	for (size_t i = 1; i < path->courses->count; i++) {
		at.low = fmin(at.low, path->values[i]);
		at.high = fmax(at.high, path->values[i]);
	}
	bool resized = path->events.resized; /* then nothing comes and goes by chance */
	at.slack = fmax(wander_share * at.mean, resized ? 0 : wander_sigmas * sqrt(fmax(0, at.mean) * path->unit));
	at.moved = resized ? at.high - at.low > at.slack : at.high - at.low >= least_samples * path->unit;
	trend->error = blend_deviation(&summary->slope);
	size_t found = 0;
	while (!cases[found].applies(&at))
		found++;
	cases[found].say(trend, &at);
}

static void set_level(struct cairn_trend *trend, const struct cairn_judged *path, const struct summary *summary)
{
	double now = last_value(path), deviation = hypot(blend_deviation(&summary->level), sqrt(fmax(0, now) * path->unit));
	trend->level = summary->level.weight > 0 ? blend_mean(&summary->level) : now;
	trend->level_low = fmax(0, trend->level - sigmas_95 * deviation);
	trend->level_high = trend->level + sigmas_95 * deviation;
}

/* A second test, if the dumps count the samples that came and went. In a balanced population as many come as go, so that number of heads
 * from a fair coin must be unlikely. The test needs no guess of the noise, but ignores swings and wandering: so the other evidence must be
 * for growth too. There, rest counts less, by the ratio of the counts' probability with a fair coin to that with any coin. */
static bool grows_by_counts(const struct cairn_judged *path, const struct summary *summary, double *chance)
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
static void set_counted_rate(struct cairn_trend *trend, const struct cairn_judged *path)
{
	const struct cairn_courses *courses = path->courses;
	double hours = fmax(1e-9, courses->hours[courses->count - 1] - courses->hours[0]);
	trend->per_hour = (path->events.came - path->events.went) * path->unit / hours;
	trend->error = sqrt(path->events.came + path->events.went) * path->unit / hours;
}

/* Whether the evidence for growth outweighs that for rest, a walk without direction included: a dozen dumps can tell. */
static bool outweighs_rest(const struct cairn_judged *path, const struct summary *summary)
{
	static const double against_rest = 2.5;
	return path->courses->count < CAIRN_COURSE_SEARCHED ||
	       summary->share[class_growing] >= against_rest * summary->share[class_rest];
}

static void judge_points(struct cairn_trend *trend, const struct cairn_judged *path, size_t comparisons)
{
	struct summary summary = sum_up(path);
	bool counted = path->events.counted && path->courses->count >= points_to_count;
	double all = fmax(1, (double)comparisons), family = counted ? all * other_share : all, by_counts = all * counts_share;
	double up = cairn_chance_moving(path, 1, family), down = cairn_chance_moving(path, -1, family);
	bool only_counts = up >= false_alarm && counted && grows_by_counts(path, &summary, &by_counts);
	up = only_counts ? by_counts : up;
	*trend = (struct cairn_trend){.since = path->courses->hours[0], .chance = fmin(up, down), .walks = summary.walks > 0.5};
	const double *share = summary.share;
	bool seen = only_counts || (outweighs_rest(path, &summary) && !may_have_ended(path));
	trend->rises = up <= down && seen && share[class_growing] >= fmax(share[class_filling], share_stopped(&summary));
	if (up < false_alarm && trend->rises) {
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
	struct cairn_judged path = {courses_of(judge->clock, kept, first, end), judge->evidence, values + first, unit.amount, unit};
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
	/* In runs that are short compared to the time of filling, filling looks like a line, and after a restart all caches fill at once.
	 * So growth has to be surer: beyond the level of the previous run, and much more below it. */
	static const double sure_of_leak = 0.6, surer = 3, much_surer = 300;
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
	double reach = level * (1 + steady_share / 2) + 3 * sqrt(2 * fmax(level, unit.amount) * unit.amount);
	if (start - first >= points_least) {
		judge_range(&before, judge, &judge->head[first], values, first, start, unit, 1);
		bool leaks = trend->verdict == CAIRN_GROWING && trend->confidence >= sure_of_leak &&
			     trend->chance * much_surer < false_alarm;
		if (before.verdict == CAIRN_GROWING && (now > reach || leaks))
			return;
	}
	if (length >= points_alone) {
		if (!too_few(&alone, clock, again))
			judge_range(&alone, judge, &judge->tail[again], values, again, clock->count, unit, comparisons);
		if (alone.verdict == CAIRN_GROWING && alone.chance * surer >= false_alarm)
			alone = (struct cairn_trend){.verdict = CAIRN_TOO_EARLY, .more_dumps = 1, .since = alone.since,
						     .confidence = alone.confidence, .chance = alone.chance};
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

/* The first dumps after a restart show nothing of a path but that it is there: only growth that went on before is known of it. */
static void wait_after_restart(struct cairn_trend *trend, const struct cairn_trend_clock *clock, size_t first)
{
	size_t start = last_run_start(clock);
	if (start > first && trend->verdict != CAIRN_GROWING)
		too_few(trend, clock, start);
}

double cairn_trend_excess(struct cairn_trend_judge *judge, const double *values, struct cairn_unit_size unit)
{
	const struct cairn_trend_clock *clock = judge->clock;
	double picked[CAIRN_COURSE_POINTS];
	for (size_t i = 0; i < clock->count; i++)
		picked[i] = values[clock->pick[i]];
	if (clock->count < points_least || !(unit.amount > 0))
		return NAN;
	return cairn_courses_excess(courses_of(clock, &judge->tail[0], 0, clock->count), picked, unit);
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
	wait_after_restart(trend, clock, first);
	trend->more_dumps = (uint32_t)ceil(trend->more_dumps * cairn_trend_clock_dumps(clock));
}
