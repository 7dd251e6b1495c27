/* judge.c - decides what is announced, and when the limit is reached.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/judge.h"

#include "base/array.h"
#include "series/law.h"

#include <math.h>
#include <stdlib.h>

/* A path may grow if noise looks like this with a probability below this one, over all paths together. */
static const double suspicious = 0.05;
/* Mappings are looked at if they are at least this share of the memory of the process. */
static const double mapped_share = 0.05;
/* At least this share of the growth of mappings must be growth of the process. */
static const double shown_share = 0.5;
static const double sigmas_95 = 1.959964, wide = 2, far_hours = 365 * 24;
/* A line through fewer points, or less than two seconds, is none. */
enum { line_points = 3, forecast_points = 5, hidden_points = 8 };
static const double line_hours = 2.0 / 3600, settled_hours = CAIRN_SETTLED_SECONDS / 3600.0;
/* For minutes after its start an allocator takes memory that its heap has use for later. */
static const double hidden_hours = 300.0 / 3600;

const char *cairn_limit_name(enum cairn_limit_kind kind)
{
	static const char *const names[] = {
		[CAIRN_LIMIT_NONE] = "",
		[CAIRN_LIMIT_OPTION] = "option",
		[CAIRN_LIMIT_GROUP] = "cgroup",
		[CAIRN_LIMIT_AVAILABLE] = "available",
		[CAIRN_LIMIT_MACHINE] = "machine",
	};
	return names[kind];
}

/* The growth of the process; the error is the standard deviation. */
struct growth {
	bool known;
	double per_hour, error;
};

static const struct cairn_series_point *last_point(const struct cairn_series *series)
{
	return &series->points[series->point_count - 1];
}

/* The memory of the process at POINT: its own, swapped out or not, or else what is resident; 0 if unknown. */
static double memory_at(const struct cairn_series_point *point)
{
	return point->own.anonymous > 0 ? point->own.anonymous + point->own.swapped : point->resident;
}

static double total_at(const struct cairn_series_point *point)
{
	return point->bytes;
}

/* The slope of a line through AMOUNT at the points from FIRST on. */
static struct growth line_through(const struct cairn_series *series, size_t first, double (*amount)(const struct cairn_series_point *point))
{
	double count = (double)(series->point_count - first), mean_hours = 0, mean = 0, square = 0, product = 0, left = 0;
	for (size_t i = first; i < series->point_count; i++) {
		double value = amount(&series->points[i]);
		if (!(value > 0))
			return (struct growth){0};
		mean_hours += cairn_series_hours(series, i) / count;
		mean += value / count;
	}
	for (size_t i = first; i < series->point_count; i++) {
		double hours = cairn_series_hours(series, i) - mean_hours;
		square += hours * hours;
		product += hours * (amount(&series->points[i]) - mean);
	}
	if (count < line_points || cairn_series_hours(series, series->point_count - 1) - cairn_series_hours(series, first) < line_hours)
		return (struct growth){0};
	for (size_t i = first; i < series->point_count; i++)
		left += pow(amount(&series->points[i]) - mean - product / square * (cairn_series_hours(series, i) - mean_hours), 2);
	double student = cairn_law_student_quantile(0.025, count - 2) / sigmas_95;
	return (struct growth){true, product / square, sqrt(left / (count - 2) / square) * student};
}

/* How fast the process grows, by its memory since FROM hours after the first point; of many points, by the later half of them. With too few,
 * since sampling began if that was FROM the first point on. */
static struct growth process_growth(const struct cairn_series *series, double from, size_t least)
{
	const struct cairn_series_point *last = last_point(series);
	size_t first = series->point_count - 1;
	while (first > 0 && series->points[first - 1].run == last->run && cairn_series_hours(series, first - 1) >= from)
		first--;
	size_t count = series->point_count - first;
	if (count >= least)
		return line_through(series, count >= 2 * least ? first + count / 2 : first, memory_at);
	return (struct growth){0};
}

/* The same from the moment when sampling began, by two moments alone. */
static struct growth growth_since_sampling(const struct cairn_series *series)
{
	const struct cairn_series_point *last = last_point(series);
	int64_t since = last->origin.since_ns ? last->origin.since_ns : last->origin.start_ns;
	double hours = (double)(last->origin.time_ns - since) / CAIRN_HOUR_NS;
	if (!(last->own.anonymous > 0) || since <= 0 || !(hours > 0))
		return (struct growth){0};
	return (struct growth){true, (last->own.anonymous - last->own.before) / hours, 0};
}

static bool is_announced(const struct cairn_leak *leak)
{
	return leak->trend.verdict == CAIRN_GROWING && leak->trend.confidence >= CAIRN_JUDGE_SURE;
}

static const struct cairn_leak *first_announced(const struct cairn_leaks *leaks)
{
	for (size_t i = 0; i < leaks->count; i++)
		if (is_announced(&leaks->rows[i]))
			return &leaks->rows[i];
	return NULL;
}

/* Announces the rows of LEAKS that grow for sure, or else what is left at the root. Returns false if neither does. */
static bool announce(struct cairn_judgement *judgement, const struct cairn_leaks *leaks, const struct cairn_view *view)
{
	const struct cairn_leak *first = first_announced(leaks);
	const struct cairn_trend *trend = first ? &first->trend : &leaks->rest;
	if (!first && !(trend->verdict == CAIRN_GROWING && trend->confidence >= CAIRN_JUDGE_SURE))
		return false;
	judgement->verdict = CAIRN_GROWING;
	judgement->leaks = leaks;
	judgement->view = view;
	judgement->first = first;
	judgement->confidence = trend->confidence;
	judgement->per_hour = first ? 0 : trend->per_hour;
	judgement->error = first ? 0 : trend->error;
	for (size_t i = 0; i < leaks->count; i++)
		if (is_announced(&leaks->rows[i])) {
			judgement->growing++;
			judgement->per_hour += leaks->rows[i].trend.per_hour;
			judgement->error = hypot(judgement->error, leaks->rows[i].trend.error);
		}
	return true;
}

/* A row of LEAKS that may grow, the largest; NULL if there is none. */
static const struct cairn_leak *find_suspect(const struct cairn_leaks *leaks)
{
	const struct cairn_leak *suspect = NULL;
	for (size_t i = 0; i < leaks->count; i++) {
		const struct cairn_leak *leak = &leaks->rows[i];
		bool may = leak->trend.verdict == CAIRN_GROWING ||
			   (leak->trend.verdict == CAIRN_TOO_EARLY && leak->trend.chance > 0 && leak->trend.chance < suspicious &&
			    !leak->trend.may_replace);
		if (may && (!suspect || leak->now.value > suspect->now.value))
			suspect = leak;
	}
	return suspect;
}

enum process_course { process_rests, process_grows, process_unknown };

/* Whether the process grows with mappings that grow by PER_HOUR bytes since FROM hours after the first point. If no more than the moment
 * when sampling began is known besides the last point, they must have grown since then. */
static enum process_course grows_with(const struct cairn_series *series, double per_hour, double from)
{
	struct growth growth = process_growth(series, from, line_points);
	if (!growth.known && from == 0)
		growth = growth_since_sampling(series);
	if (!growth.known)
		return process_unknown;
	return growth.per_hour - sigmas_95 * growth.error >= shown_share * per_hour ? process_grows : process_rests;
}

/* Growth of resident memory that neither the heap nor mappings have. */
static double find_hidden(const struct cairn_series *series)
{
	double *hours = cairn_array_zero(series->point_count, sizeof *hours), *values = cairn_array_zero(series->point_count, sizeof *values);
	uint32_t *run = cairn_array_zero(series->point_count, sizeof *run);
	struct growth process = process_growth(series, 0, hidden_points), heap = {0};
	struct cairn_trend trend = {.verdict = CAIRN_STEADY};
	for (size_t i = 0; i < series->point_count; i++) {
		hours[i] = cairn_series_hours(series, i);
		values[i] = memory_at(&series->points[i]);
		run[i] = series->points[i].run;
	}
	if (process.known && hours[series->point_count - 1] >= hidden_hours) {
		struct cairn_trend_clock clock;
		struct cairn_trend_judge judge;
		cairn_trend_clock_make(&clock, hours, run, series->point_count);
		cairn_trend_judge_open(&judge, &clock);
		cairn_trend_judge(&trend, &judge, values, (struct cairn_unit_size){.amount = 4096, .all_seen = true}, 1);
		cairn_trend_judge_close(&judge);
		heap = line_through(series, series->point_count / 2, total_at);
	}
	free(hours);
	free(values);
	free(run);
	bool grows = trend.verdict == CAIRN_GROWING && trend.confidence >= CAIRN_JUDGE_SURE;
	double hidden = process.per_hour - fmax(0, heap.per_hour + sigmas_95 * heap.error);
	return grows && hidden >= shown_share * process.per_hour ? hidden : 0;
}

static struct cairn_limit find_limit(const struct cairn_series_point *point, double option)
{
	double own = point->resident > 0 ? point->resident : point->total; /* known more precisely than its objects are */
	struct cairn_limit limit = {0};
	if (option > 0)
		limit = (struct cairn_limit){CAIRN_LIMIT_OPTION, option, option - own};
	else if (point->limit > 0 && point->limit_of_group)
		limit = (struct cairn_limit){CAIRN_LIMIT_GROUP, point->limit, point->limit - fmax(own, point->group)};
	else if (point->available > 0)
		limit = (struct cairn_limit){CAIRN_LIMIT_AVAILABLE, point->available, point->available};
	else if (point->limit > 0)
		limit = (struct cairn_limit){CAIRN_LIMIT_MACHINE, point->limit, point->limit - own};
	limit.left = fmax(0, limit.left);
	return limit;
}

static bool is_wide(struct growth growth)
{
	return (growth.per_hour - sigmas_95 * growth.error) * wide < growth.per_hour + sigmas_95 * growth.error;
}

/* How fast the process grows: by its memory or, if that is not known or swings too widely, by all that grows, as long as the two agree. */
static struct growth choose_growth(const struct cairn_judgement *judgement)
{
	const struct cairn_leaks *leaks = judgement->leaks;
	struct growth process = process_growth(judgement->series, judgement->first ? judgement->first->trend.since : 0, forecast_points);
	struct growth claimed = judgement->mapped ? (struct growth){true, judgement->per_hour, judgement->error}
						  : (struct growth){true, leaks->forecast_per_hour, leaks->forecast_error};
	bool agree = fabs(process.per_hour - claimed.per_hour) <= sigmas_95 * hypot(process.error, claimed.error);
	return !process.known || (is_wide(process) && agree) ? claimed : process;
}

static void forecast(struct cairn_judgement *judgement, const struct cairn_judge_context *context)
{
	const struct cairn_limit *limit = &judgement->limit;
	struct growth growth = choose_growth(judgement);
	judgement->process_per_hour = fmax(0, growth.per_hour);
	if (limit->kind == CAIRN_LIMIT_AVAILABLE || limit->kind == CAIRN_LIMIT_MACHINE)
		growth.per_hour += context->others_per_hour;
	if (limit->kind == CAIRN_LIMIT_NONE || context->no_forecast || !(judgement->process_per_hour > 0) || is_wide(growth) ||
	    limit->left / growth.per_hour > far_hours)
		return;
	judgement->hours_left = limit->left / growth.per_hour;
	judgement->soonest = limit->left / (growth.per_hour + sigmas_95 * growth.error);
	judgement->latest = limit->left / (growth.per_hour - sigmas_95 * growth.error);
}

/* Whether the present run of the service was seen for long enough for an all-clear. */
static bool is_settled(const struct cairn_series *series, const struct cairn_leaks *leaks)
{
	const double seconds = series->lives.seconds, longest = leaks->longest_hours * 3600;
	size_t first = series->point_count - 1;
	while (first > 0 && series->points[first - 1].run == series->points[first].run)
		first--;
	if (seconds > 0)
		return seconds >= CAIRN_SETTLED_SECONDS || (longest > 0 && seconds >= CAIRN_SETTLED_LIVES * longest);
	return series->point_count - first >= line_points &&
	       cairn_series_hours(series, series->point_count - 1) - cairn_series_hours(series, first) >= settled_hours;
}

bool cairn_judge_wants_mapped(const struct cairn_series *series, const struct cairn_leaks *leaks)
{
	struct cairn_judgement judgement = {0};
	const struct cairn_series_point *last = last_point(series);
	return last->own.mapped > 0 && last->own.mapped >= mapped_share * memory_at(last) && !announce(&judgement, leaks, NULL);
}

/* If the mappings grow by their ages, the process must grow with them. Returns whether they are announced; sets *EARLY if it is too early to
 * tell. */
static bool announce_mapped(struct cairn_judgement *judgement, const struct cairn_judge_context *context, bool *early)
{
	if (!context->mapped)
		return false;
	struct cairn_judgement mapped = *judgement;
	if (!announce(&mapped, context->mapped, context->mapped_view)) {
		*early |= context->mapped->total.verdict == CAIRN_TOO_EARLY;
		return false;
	}
	mapped.mapped = true;
	enum process_course process = grows_with(judgement->series, mapped.per_hour, mapped.first ? mapped.first->trend.since : 0);
	if (process == process_grows)
		*judgement = mapped;
	judgement->mapped = process != process_rests;
	*early |= process == process_unknown;
	return process == process_grows;
}

void cairn_judge(struct cairn_judgement *judgement, const struct cairn_series *series, const struct cairn_leaks *leaks,
		 const struct cairn_view *view, const struct cairn_judge_context *context)
{
	*judgement = (struct cairn_judgement){
		.verdict = leaks->total.verdict == CAIRN_SHRINKING ? CAIRN_SHRINKING : CAIRN_STEADY,
		.series = series,
		.leaks = leaks,
		.view = view,
		.limit = find_limit(last_point(series), context->limit),
		.hours_left = -1,
		.soonest = -1,
		.latest = -1,
	};
	bool early = leaks->total.verdict == CAIRN_TOO_EARLY || leaks->total.verdict == CAIRN_GROWING || !is_settled(series, leaks);
	if (announce(judgement, leaks, view) || announce_mapped(judgement, context, &early)) {
		forecast(judgement, context);
		return;
	}
	judgement->first = find_suspect(leaks);
	judgement->verdict = early || judgement->first ? CAIRN_TOO_EARLY : judgement->verdict;
	judgement->hidden_per_hour = last_point(series)->live ? find_hidden(series) : 0;
}
