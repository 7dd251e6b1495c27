/* leaks.c - ranks call paths by growth.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/leaks.h"

#include "base/array.h"
#include "base/pool.h"
#include "series/law.h"
#include "series/onset.h"

#include <math.h>
#include <stdlib.h>

/* The working memory of one thread. */
struct workspace {
	struct cairn_series_value *values;
	double *amounts;
	struct cairn_trend_judge judge;
};

struct work {
	const struct cairn_series *series;
	struct cairn_leaks *leaks;
	struct workspace *workspaces;
	size_t comparisons;
	double *excesses, excess; /* of each path that shows it, and of the service (course.h) */
	double *hours; /* of each point */
	uint32_t *run;
	struct cairn_trend_clock clock;
	struct cairn_ages *ages; /* for each path; NULL if the newest dump does not have them */
	struct cairn_ages_clock age_clock;
};

/* With fewer points, the dumps alone prove nothing. */
enum { points_least = 3 };
static const double settled_hours = CAIRN_SETTLED_SECONDS / 3600.0;

static bool is_open(const struct cairn_trend *trend)
{
	return trend->verdict == CAIRN_GROWING || trend->verdict == CAIRN_TOO_EARLY;
}

/* Combines both kinds of evidence. Whether a path grows, how fast, and whether it is too early to tell is decided by ages alone, if they
 * tell: a rise of objects that die is load, not a leak, and one dump leads to the same answer as many. */
static enum cairn_leak_evidence combine(const struct work *work, struct cairn_trend *trend, const struct cairn_trend *by_age, bool tell)
{
	bool grows = trend->verdict == CAIRN_GROWING, stays = by_age->verdict == CAIRN_GROWING;
	if (work->clock.count < points_least || (stays && !grows) || (tell && (is_open(trend) || is_open(by_age)))) {
		*trend = *by_age;
		return CAIRN_BY_AGES;
	}
	if (!grows || !stays) {
		if (trend->verdict == by_age->verdict)
			trend->confidence = fmax(trend->confidence, by_age->confidence);
		return CAIRN_BY_DUMPS;
	}
	double confidence = fmax(trend->confidence, by_age->confidence), chance = fmin(trend->chance, by_age->chance);
	if (by_age->error < trend->error)
		*trend = *by_age;
	trend->confidence = confidence;
	trend->chance = chance;
	return CAIRN_BY_BOTH;
}

static enum cairn_leak_evidence judge(const struct work *work, struct workspace *workspace, const struct cairn_series_value *values,
				      const struct cairn_ages *ages, size_t comparisons, struct cairn_trend *trend)
{
	size_t points = work->series->point_count, shared = ages && work->clock.count >= points_least ? 2 * comparisons : comparisons;
	for (size_t i = 0; i < points; i++)
		workspace->amounts[i] = values[i].value;
	struct cairn_unit_size unit = cairn_series_unit(values, points);
	unit.excess = work->excess;
	cairn_trend_judge(trend, &workspace->judge, workspace->amounts, unit, shared);
	double hours = work->leaks->hours;
	if (trend->verdict == CAIRN_GROWING && hours < settled_hours)
		*trend = (struct cairn_trend){.verdict = CAIRN_TOO_EARLY, .chance = trend->chance, .more_hours = settled_hours - hours};
	if (!ages || (work->age_clock.endless && work->clock.count >= points_least))
		return CAIRN_BY_DUMPS;
	struct cairn_trend by_age;
	cairn_ages_judge(&by_age, ages, &work->age_clock, comparisons);
	by_age.since += by_age.since < 0 ? work->leaks->hours : 0; /* hours after the first point, as in TREND */
	return combine(work, trend, &by_age, cairn_ages_tell(ages, &work->age_clock));
}

static void measure_path(void *context, size_t path, unsigned worker)
{
	const struct work *work = context;
	struct workspace *workspace = &work->workspaces[worker];
	size_t points = work->series->point_count;
	cairn_series_paths_values(&work->leaks->paths, path, workspace->values);
	for (size_t i = 0; i < points; i++)
		workspace->amounts[i] = workspace->values[i].value;
	work->excesses[path] = cairn_trend_excess(&workspace->judge, workspace->amounts, cairn_series_unit(workspace->values, points));
}

/* Learns from all paths how noisy the paths of this service are. Chance alone makes some of them noisier than their samples suggest, but if
 * one in seven is noisier than that, objects come and go in bunches, here and there: no path is trusted to be calmer. (Some paths always
 * move for another reason; so few do not decide.) */
static void learn_noise(struct work *work)
{
	enum { paths_least = 10 };
	static const double one_in_seven = 0.15, sigmas = 1.036; /* of a normal distribution, that share lies above */
	size_t count = work->leaks->path_count, found = 0;
	work->excesses = cairn_array_new(count, sizeof *work->excesses);
	cairn_pool_run(count, measure_path, work);
	for (size_t i = 0; i < count; i++)
		if (!isnan(work->excesses[i]))
			work->excesses[found++] = work->excesses[i];
	qsort(work->excesses, found, sizeof *work->excesses, cairn_law_compare);
	double freedom = (double)work->clock.count - 2, part = 2 / (9 * fmax(1, freedom));
	double by_chance = pow(1 - part + sigmas * sqrt(part), 3); /* a chi-squared variable, after Wilson and Hilferty */
	work->excess = found >= paths_least ? work->excesses[(size_t)((1 - one_in_seven) * (double)found)] / by_chance : 1;
	free(work->excesses);
}

static void judge_path(void *context, size_t path, unsigned worker)
{
	const struct work *work = context;
	struct workspace *workspace = &work->workspaces[worker];
	struct cairn_leak *leak = &work->leaks->rows[path];
	cairn_series_paths_values(&work->leaks->paths, path, workspace->values);
	*leak = (struct cairn_leak){.path = (uint32_t)path, .members = 1, .now = workspace->values[work->series->point_count - 1]};
	leak->evidence = judge(work, workspace, workspace->values, work->ages ? &work->ages[path] : NULL, work->comparisons, &leak->trend);
}

/* Of what the view shows, as the rows are. */
static void judge_total(struct work *work)
{
	const struct cairn_series *series = work->series;
	const struct cairn_series_paths *paths = &work->leaks->paths;
	struct workspace *workspace = &work->workspaces[0];
	struct cairn_series_value *all = cairn_array_zero(series->point_count, sizeof *all);
	for (size_t path = 0; path < work->leaks->path_count; path++) {
		cairn_series_paths_values(paths, path, workspace->values);
		cairn_series_values_add(all, workspace->values, series->point_count);
	}
	work->leaks->now = all[series->point_count - 1];
	struct cairn_ages *ages = work->ages ? cairn_array_zero(1, sizeof *ages) : NULL;
	for (size_t path = 0; ages && path < work->leaks->path_count; path++)
		cairn_ages_sum(ages, &work->ages[path]);
	judge(work, workspace, all, ages, 1, &work->leaks->total);
	free(ages);
	free(all);
}

/* Sums by frame. If paths are sorted by their entries from the root, those that share a frame are adjacent, so a stack of open frames is
 * enough to add them up. Frames with the same paths as their caller are merged into one, the deepest. */

struct frame {
	size_t depth; /* number of entries from the root down to it */
	uint32_t path;
	size_t members;
	struct cairn_series_value *values;
	struct cairn_ages *ages; /* NULL if unknown */
};

struct frames {
	struct frame *items;
	size_t count, capacity;
};

static uint32_t entry_at(const struct cairn_paths *paths, uint32_t path, size_t level)
{
	const struct cairn_path *at = &paths->items[path];
	return paths->entries[at->first + at->depth - 1 - level];
}

static size_t common_depth(const struct cairn_paths *paths, uint32_t a, uint32_t b)
{
	size_t most = paths->items[a].depth < paths->items[b].depth ? paths->items[a].depth : paths->items[b].depth, depth = 0;
	while (depth < most && entry_at(paths, a, depth) == entry_at(paths, b, depth))
		depth++;
	return depth;
}

static int by_root(const void *a, const void *b, void *context)
{
	const struct cairn_paths *paths = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	size_t depth = common_depth(paths, left, right);
	bool left_ends = depth == paths->items[left].depth, right_ends = depth == paths->items[right].depth;
	if (left_ends || right_ends)
		return left_ends && right_ends ? 0 : left_ends ? -1 : 1;
	return entry_at(paths, left, depth) < entry_at(paths, right, depth) ? -1 : 1;
}

static uint32_t *order_by_root(const struct cairn_paths *paths)
{
	uint32_t *order = cairn_array_zero(paths->count, sizeof *order);
	for (size_t i = 0; i < paths->count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, paths->count, sizeof *order, by_root, (void *)(uintptr_t)paths);
	return order;
}

/* A frame begins where neighbours share more entries than those before them. */
size_t cairn_leaks_comparisons(const struct cairn_paths *paths)
{
	size_t count = paths->count, frames = 1, open = 0, capacity = 0, *depths = NULL;
	uint32_t *order = order_by_root(paths);
	for (size_t i = 0; i + 1 < count && frames < count / 2; i++) {
		size_t depth = common_depth(paths, order[i], order[i + 1]);
		while (open > 0 && depths[open - 1] > depth)
			open--;
		if (depth > 0 && (open == 0 || depths[open - 1] < depth)) {
			cairn_array_room(depths, open, capacity);
			depths[open++] = depth;
			frames++;
		}
	}
	free(depths);
	free(order);
	return count + (frames < count / 2 ? frames : count / 2);
}

/* Whether a closer look is worthwhile: a growing path is larger in its last quarter than in its first half, by more than it changes from
 * dump to dump. */
static bool may_grow(const struct cairn_series_value *values, size_t count)
{
	double early = 0, late = 0, steps = 0;
	for (size_t i = 0; i < count; i++) {
		early += i < count / 2 ? values[i].value : 0;
		late += i >= count - (count + 3) / 4 ? values[i].value : 0;
		steps += i ? (values[i].value - values[i - 1].value) * (values[i].value - values[i - 1].value) : 0;
	}
	double rise = late / (double)((count + 3) / 4) - early / fmax(1, (double)(count / 2));
	return rise > 0 && rise * rise > steps / fmax(1, (double)count - 1);
}

static void open_frame(struct work *work, struct frames *frames, size_t depth, uint32_t path)
{
	cairn_array_room(frames->items, frames->count, frames->capacity);
	frames->items[frames->count++] = (struct frame){
		.depth = depth, .path = path, .values = cairn_array_zero(work->series->point_count, sizeof *frames->items->values),
		.ages = work->ages ? cairn_array_zero(1, sizeof *frames->items->ages) : NULL};
}

/* If the frame grows, it becomes a row, and its caller is judged without it. Otherwise its values are added to its caller. */
static void close_frame(struct work *work, struct frames *frames, size_t depth)
{
	struct frame frame = frames->items[--frames->count];
	size_t points = work->series->point_count;
	struct cairn_leaks *leaks = work->leaks;
	struct cairn_trend trend = {.verdict = CAIRN_STEADY};
	enum cairn_leak_evidence evidence = CAIRN_BY_DUMPS;
	if (frame.members > 1 && frame.depth > 0 && (frame.ages || may_grow(frame.values, points)))
		evidence = judge(work, &work->workspaces[0], frame.values, frame.ages, work->comparisons, &trend);
	if (trend.verdict == CAIRN_GROWING) {
		leaks->rows = cairn_array_reserve(leaks->rows, &leaks->capacity, leaks->count + 1, sizeof *leaks->rows);
		leaks->rows[leaks->count++] = (struct cairn_leak){
			.path = frame.path,
			.above = leaks->paths.paths.items[frame.path].depth - frame.depth,
			.members = frame.members,
			.now = frame.values[points - 1],
			.evidence = evidence,
			.trend = trend,
		};
	} else {
		if (frames->count == 0 || frames->items[frames->count - 1].depth < depth)
			open_frame(work, frames, depth, frame.path);
		struct frame *caller = &frames->items[frames->count - 1];
		cairn_series_values_add(caller->values, frame.values, points);
		if (caller->ages)
			cairn_ages_sum(caller->ages, frame.ages);
		caller->members += frame.members;
	}
	free(frame.values);
	free(frame.ages);
}

/* Whether a path can be left out of sums: it grows and is a row, or it rose and rests, which would look like growth in a sum, or it
 * wanders, which many calm paths beside it would hide. Paths with few samples stay in: together they may show what none shows alone. */
static bool is_settled(const struct cairn_leak *leak)
{
	static const double enough_samples = 30;
	enum cairn_verdict verdict = leak->trend.verdict;
	bool known = verdict == CAIRN_FILLING || verdict == CAIRN_STOPPED || verdict == CAIRN_WANDERING || verdict == CAIRN_SAWTOOTH;
	bool many = leak->now.value * leak->now.value >= enough_samples * leak->now.coming;
	return verdict == CAIRN_GROWING || ((known || leak->trend.walks) && many);
}

static void add_path(struct work *work, struct frame *frame, uint32_t path)
{
	struct workspace *workspace = &work->workspaces[0];
	if (is_settled(&work->leaks->rows[path]))
		return;
	cairn_series_paths_values(&work->leaks->paths, path, workspace->values);
	cairn_series_values_add(frame->values, workspace->values, work->series->point_count);
	if (frame->ages)
		cairn_ages_sum(frame->ages, &work->ages[path]);
	frame->members++;
}

/* Rows are still in the order of their paths. Returns the trend of what is left at the root. */
static struct cairn_trend judge_frames(struct work *work)
{
	struct cairn_trend rest = {.verdict = CAIRN_STEADY};
	struct cairn_leaks *leaks = work->leaks;
	struct cairn_paths *paths = &leaks->paths.paths;
	size_t count = leaks->path_count;
	uint32_t *order = order_by_root(paths);
	struct frames frames = {0};
	for (size_t i = 0; i < count; i++) {
		size_t depth = i + 1 < count ? common_depth(paths, order[i], order[i + 1]) : 0;
		if (frames.count == 0 || frames.items[frames.count - 1].depth < depth)
			open_frame(work, &frames, depth, order[i]);
		add_path(work, &frames.items[frames.count - 1], order[i]);
		while (frames.count > 0 && frames.items[frames.count - 1].depth > depth)
			close_frame(work, &frames, depth);
	}
	if (frames.count > 0 && (frames.items[0].ages || may_grow(frames.items[0].values, work->series->point_count)))
		judge(work, &work->workspaces[0], frames.items[0].values, frames.items[0].ages, work->comparisons, &rest);
	for (size_t i = 0; i < frames.count; i++) {
		free(frames.items[i].values);
		free(frames.items[i].ages);
	}
	free(frames.items);
	free(order);
	return rest;
}

static int by_rank(const void *a, const void *b)
{
	const struct cairn_leak *left = a, *right = b;
	bool left_grows = left->trend.verdict == CAIRN_GROWING, right_grows = right->trend.verdict == CAIRN_GROWING;
	if (left_grows != right_grows)
		return left_grows ? -1 : 1;
	double l = left_grows ? left->trend.per_hour : left->now.value, r = left_grows ? right->trend.per_hour : right->now.value;
	if (l != r)
		return l > r ? -1 : 1;
	return left->path < right->path ? -1 : left->path > right->path;
}

/* The service grows by the rates of its rows, plus the growth of the rest that has no frame to name it. A total that rose because of paths
 * that now rest does not grow. */
static void forecast(struct cairn_leaks *leaks, const struct cairn_trend *rest)
{
	leaks->forecast_per_hour = leaks->per_hour;
	leaks->forecast_error = leaks->error;
	if (rest->verdict == CAIRN_GROWING) {
		leaks->forecast_per_hour += rest->per_hour;
		leaks->forecast_error = hypot(leaks->error, rest->error);
	}
	/* Growth under swings is growth. */
	if (leaks->forecast_per_hour > 0 && leaks->total.verdict != CAIRN_SHRINKING)
		leaks->total.verdict = CAIRN_GROWING;
	if (leaks->total.verdict != CAIRN_GROWING || leaks->forecast_per_hour > 0)
		return;
	double filling = 0, stopped = 0;
	for (size_t i = 0; i < leaks->count; i++) {
		filling += leaks->rows[i].trend.verdict == CAIRN_FILLING ? leaks->rows[i].now.value : 0;
		stopped += leaks->rows[i].trend.verdict == CAIRN_STOPPED ? leaks->rows[i].now.value : 0;
	}
	leaks->total.verdict = filling > stopped ? CAIRN_FILLING : stopped > 0 ? CAIRN_STOPPED : CAIRN_TOO_EARLY;
}

/* If nothing grows, but it is too early to tell for a good part of the memory, or hardly any of it was sampled so far, it is too early to
 * tell for the service. */
static void doubt(struct cairn_leaks *leaks, const struct cairn_series *series)
{
	struct cairn_coverage coverage = cairn_onset_coverage(&series->points[series->point_count - 1]);
	leaks->hardly_sampled = cairn_coverage_is_partial(&coverage) &&
				coverage.sampled < CAIRN_LEAKS_GOOD_PART * fmax(coverage.before, coverage.allocated);
	bool early = leaks->hardly_sampled;
	uint32_t more = 0;
	for (size_t i = 0; i < leaks->count; i++) {
		const struct cairn_leak *leak = &leaks->rows[i];
		if (leak->trend.verdict == CAIRN_TOO_EARLY && leak->now.value >= CAIRN_LEAKS_GOOD_PART * leaks->now.value) {
			early = true;
			more = leak->trend.more_dumps > more ? leak->trend.more_dumps : more;
		}
	}
	if (leaks->growing > 0 || !early || leaks->total.verdict == CAIRN_GROWING || leaks->total.verdict == CAIRN_SHRINKING)
		return;
	leaks->total.verdict = CAIRN_TOO_EARLY;
	leaks->total.more_dumps = leaks->total.more_dumps > more ? leaks->total.more_dumps : more;
}

static void rank(struct cairn_leaks *leaks, const struct cairn_series *series, const struct cairn_trend *rest)
{
	for (size_t i = 0; i < leaks->count; i++)
		if (leaks->rows[i].trend.verdict == CAIRN_GROWING) {
			leaks->growing++;
			leaks->per_hour += leaks->rows[i].trend.per_hour;
			leaks->error = hypot(leaks->error, leaks->rows[i].trend.error);
		}
	for (size_t i = 0; i < leaks->count; i++)
		if (leaks->rows[i].trend.verdict == CAIRN_GROWING && leaks->per_hour > 0)
			leaks->rows[i].share = leaks->rows[i].trend.per_hour / leaks->per_hour;
	qsort(leaks->rows, leaks->count, sizeof *leaks->rows, by_rank);
	leaks->rest = *rest;
	forecast(leaks, rest);
	doubt(leaks, series);
}

static void set_clock(struct work *work)
{
	size_t points = work->series->point_count;
	work->hours = cairn_array_zero(points, sizeof *work->hours);
	work->run = cairn_array_zero(points, sizeof *work->run);
	for (size_t i = 0; i < points; i++) {
		work->hours[i] = cairn_series_hours(work->series, i);
		work->run[i] = work->series->points[i].run;
	}
	cairn_trend_clock_make(&work->clock, work->hours, work->run, points);
}

/* The longest ordinary lifetime of the service is the longest of any path, of which enough objects were freed, or that of all paths
 * together. */
static double longest_lifetime(const struct work *work)
{
	static const double freed_least = 20;
	struct cairn_ages all = {0};
	double longest = 0;
	for (uint32_t path = 0; path < work->leaks->path_count; path++) {
		longest = fmax(longest, cairn_ages_longest(&work->ages[path], &work->age_clock, freed_least));
		cairn_ages_sum(&all, &work->ages[path]);
	}
	return longest > 0 ? longest : cairn_ages_longest(&all, &work->age_clock, freed_least);
}

/* Gives each path the ages of its objects. */
static void set_ages(struct work *work)
{
	const struct cairn_series_lives *lives = &work->series->lives;
	struct cairn_leaks *leaks = work->leaks;
	cairn_ages_clock_make(&work->age_clock, lives->seconds);
	work->age_clock.endless = lives->endless;
	if (!(work->age_clock.seconds > 0))
		return;
	uint32_t *path_of = cairn_array_none(work->series->profile.sample_count);
	work->ages = cairn_array_zero(leaks->path_count, sizeof *work->ages);
	for (uint32_t path = 0; path < leaks->path_count; path++)
		for (size_t r = leaks->paths.first[path]; r < leaks->paths.first[path + 1]; r++)
			path_of[leaks->paths.rows[r]] = path;
	for (size_t i = 0; i < lives->aged_count; i++) {
		const struct cairn_aged *aged = &lives->aged[i];
		if (path_of[aged->sample] != CAIRN_NONE)
			cairn_ages_add(&work->ages[path_of[aged->sample]], &work->age_clock, (double)aged->age_us / 1e6,
				       lives->objects ? aged->objects : aged->bytes);
	}
	for (size_t i = 0; i < lives->freed_count; i++)
		if (path_of[lives->freed[i].stack] != CAIRN_NONE)
			cairn_ages_add_freed(&work->ages[path_of[lives->freed[i].stack]], &lives->freed[i]);
	free(path_of);
	cairn_ages_clock_settle(&work->age_clock, longest_lifetime(work));
	for (uint32_t path = 0; path < leaks->path_count; path++)
		cairn_ages_finish(&work->ages[path], &work->age_clock);
	leaks->observed_hours = work->age_clock.seconds / 3600;
	leaks->longest_hours = work->age_clock.longest / 3600;
}

void cairn_leaks_rank(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_view *view)
{
	*leaks = (struct cairn_leaks){0};
	cairn_series_paths_make(&leaks->paths, series, view);
	leaks->count = leaks->path_count = leaks->paths.paths.count;
	leaks->capacity = leaks->count + 1;
	leaks->rows = cairn_array_zero(leaks->capacity, sizeof *leaks->rows);
	leaks->hours = cairn_series_hours(series, series->point_count - 1);

	unsigned width = cairn_pool_width();
	struct work work = {.series = series, .leaks = leaks, .comparisons = cairn_leaks_comparisons(&leaks->paths.paths)};
	work.workspaces = cairn_array_zero(width, sizeof *work.workspaces);
	set_clock(&work);
	set_ages(&work);
	for (unsigned i = 0; i < width; i++) {
		work.workspaces[i].values = cairn_array_zero(series->point_count, sizeof *work.workspaces->values);
		work.workspaces[i].amounts = cairn_array_zero(series->point_count, sizeof *work.workspaces->amounts);
		cairn_trend_judge_open(&work.workspaces[i].judge, &work.clock);
	}
	learn_noise(&work);
	cairn_pool_run(leaks->count, judge_path, &work);
	struct cairn_trend rest = judge_frames(&work);
	judge_total(&work);
	cairn_onset_hold_back(leaks, series, &rest);
	rank(leaks, series, &rest);
	for (unsigned i = 0; i < width; i++) {
		free(work.workspaces[i].values);
		free(work.workspaces[i].amounts);
		cairn_trend_judge_close(&work.workspaces[i].judge);
	}
	free(work.workspaces);
	free(work.ages);
	free(work.hours);
	free(work.run);
}

void cairn_leaks_values(const struct cairn_leaks *leaks, const struct cairn_leak *leak, struct cairn_series_value *values)
{
	const struct cairn_paths *paths = &leaks->paths.paths;
	size_t points = leaks->paths.series->point_count, depth = cairn_leak_depth(leaks, leak);
	cairn_series_paths_values(&leaks->paths, leak->path, values);
	if (leak->above == 0)
		return;
	struct cairn_series_value *one = cairn_array_zero(points, sizeof *one);
	for (uint32_t path = 0; path < leaks->path_count; path++)
		if (path != leak->path && paths->items[path].depth >= depth && common_depth(paths, path, leak->path) >= depth) {
			cairn_series_paths_values(&leaks->paths, path, one);
			cairn_series_values_add(values, one, points);
		}
	free(one);
}

void cairn_leaks_free(struct cairn_leaks *leaks)
{
	cairn_series_paths_free(&leaks->paths);
	free(leaks->rows);
	*leaks = (struct cairn_leaks){0};
}
