/* fleet.c - rows of instances, matched by the names of their call paths.
 *
 * Longer than other files: instances judged each for itself, and courses added over all of them, end in the same rows and the same
 * verdicts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/fleet.h"

#include "base/array.h"
#include "base/time.h"
#include "series/judge.h"
#include "series/law.h"
#include "series/onset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double false_alarms = 0.005; /* over all paths of a fleet: half of what a single instance may have (trend.c) */
static const double deviations = 2;      /* enough for an instance once the fleet is sure */
enum { few = 8 }; /* instances of a release: below this they are counted, from here on estimated */

static uint32_t find_release(struct cairn_fleet *fleet, const char *version, int64_t first_ns)
{
	for (size_t i = 0; i < fleet->release_count; i++)
		if (strcmp(fleet->releases[i].version, version) == 0) {
			struct cairn_fleet_release *release = &fleet->releases[i];
			release->first_ns = first_ns < release->first_ns ? first_ns : release->first_ns;
			return (uint32_t)i;
		}
	cairn_array_room(fleet->releases, fleet->release_count, fleet->release_capacity);
	fleet->releases[fleet->release_count] = (struct cairn_fleet_release){.version = version, .first_ns = first_ns};
	return (uint32_t)fleet->release_count++;
}

static uint32_t path_of(struct cairn_fleet *fleet, const struct cairn_leaks *leaks, const struct cairn_view *view,
			const struct cairn_leak *leak)
{
	struct cairn_buffer names = cairn_buffer(SIZE_MAX);
	for (size_t level = 0; level < cairn_leak_depth(leaks, leak); level++) {
		struct cairn_bytes name = cairn_leak_name(leaks, view, leak, level);
		cairn_buffer_append(&names, name.data, name.length);
		cairn_buffer_byte(&names, '\n');
	}
	uint32_t path = cairn_strings_add(&fleet->stacks, cairn_buffer_bytes(&names));
	cairn_buffer_free(&names);
	return path;
}

static struct cairn_cohort *find_cohort(struct cairn_fleet *fleet, uint32_t path, uint32_t release)
{
	uint32_t *at = cairn_map_at(&fleet->cohort_index, (uint64_t)release << 32 | path);
	if (*at == CAIRN_NONE) {
		*at = (uint32_t)fleet->cohort_count;
		cairn_array_room(fleet->cohorts, fleet->cohort_count, fleet->cohort_capacity);
		fleet->cohorts[fleet->cohort_count++] = (struct cairn_cohort){.path = path, .release = release};
	}
	return &fleet->cohorts[*at];
}

/* Whether TREND leaves open whether the path grows. */
static bool is_open(const struct cairn_trend *trend)
{
	static const double sure = 0.95;
	bool rests = trend->verdict == CAIRN_FILLING || trend->verdict == CAIRN_STOPPED;
	return (trend->verdict == CAIRN_TOO_EARLY && !trend->may_replace) || (rests && trend->confidence < sure);
}

static bool note_onset(struct cairn_fleet_release *release, const struct cairn_series *series, double *rise)
{
	bool late = cairn_onset_is_late(series, rise);
	release->late += late;
	release->rises += late ? *rise : 0;
	return late;
}

void cairn_fleet_add(struct cairn_fleet *fleet, const char *version, int64_t start_ns, const struct cairn_leaks *leaks,
		     const struct cairn_series *series, const struct cairn_view *view)
{
	int64_t first_ns = series->points[0].origin.time_ns;
	uint32_t release = find_release(fleet, version, first_ns);
	struct cairn_series_value *values = cairn_array_new(series->point_count, sizeof *values);
	double *amounts = cairn_array_new(series->point_count, sizeof *amounts);
	start_ns = start_ns ? start_ns : first_ns;
	note_onset(&fleet->releases[release], series, &(double){0});
	if (fleet->grid.steps)
		cairn_cohort_cover_add(&fleet->releases[release].cover, &fleet->grid, series, start_ns);
	for (size_t i = 0; i < leaks->count; i++) {
		const struct cairn_leak *leak = &leaks->rows[i];
		const struct cairn_trend *trend = &leak->trend;
		cairn_leaks_values(leaks, leak, values);
		const struct cairn_series_value *first = &values[0], *last = &values[series->point_count - 1];
		double rise = last->value - first->value, deviation = sqrt(first->spread.variance + last->spread.variance);
		bool growing = trend->verdict == CAIRN_GROWING;
		for (size_t k = 0; k < series->point_count; k++)
			amounts[k] = values[k].value;
		double level, rate = cairn_cohort_rate(series, amounts, &level);
		uint32_t path = path_of(fleet, leaks, view, leak);
		if (fleet->grid.steps && leak->above == 0)
			cairn_cohort_add(find_cohort(fleet, path, release), &fleet->grid, series, start_ns, amounts,
					 cairn_series_unit(values, series->point_count));
		cairn_array_room(fleet->records, fleet->record_count, fleet->record_capacity);
		fleet->records[fleet->record_count++] = (struct cairn_fleet_record){
			.path = path,
			.release = release,
			.instance = (uint32_t)fleet->instance_count,
			.verdict = trend->verdict,
			.chance = growing ? fmin(1, trend->chance) : 1,
			.sure = growing ? trend->confidence : 0,
			.per_hour = growing || leaks->hours <= 0 ? trend->per_hour : rise / leaks->hours,
			.error = growing || leaks->hours <= 0 ? trend->error : deviation / leaks->hours,
			.may_grow = is_open(trend) && rise > deviations * deviation,
			.rate = rate,
			.level = level,
			.now = last->value,
			.sum = leak->above > 0,
			.since_ns = series->points[0].origin.time_ns + (int64_t)(trend->since * CAIRN_HOUR_NS),
		};
	}
	fleet->releases[release].instances++;
	fleet->instance_count++;
	free(values);
	free(amounts);
}

void cairn_fleet_add_courses(struct cairn_fleet *fleet, const char *version, int64_t start_ns, const struct cairn_series *series,
			     const struct cairn_fleet_course *courses, size_t count)
{
	int64_t first_ns = series->points[0].origin.time_ns;
	size_t points = series->point_count;
	uint32_t release = find_release(fleet, version, first_ns);
	double *hours = cairn_arena_alloc(&fleet->arena, points * sizeof *hours), span = cairn_series_hours(series, points - 1);
	struct cairn_fleet_clock clock = {.first_ns = first_ns, .hours = hours, .count = points};
	start_ns = start_ns ? start_ns : first_ns;
	clock.late = note_onset(&fleet->releases[release], series, &clock.rise);
	for (size_t i = 0; i < points; i++)
		hours[i] = cairn_series_hours(series, i);
	if (fleet->grid.steps)
		cairn_cohort_cover_add(&fleet->releases[release].cover, &fleet->grid, series, start_ns);
	for (size_t i = 0; i < count; i++) {
		const struct cairn_fleet_course *course = &courses[i];
		double *values = cairn_arena_alloc(&fleet->arena, points * sizeof *values);
		double rise = course->values[points - 1] - course->values[0], level,
		       rate = cairn_cohort_rate(series, course->values, &level);
		double deviation = sqrt(course->unit.amount * (course->values[points - 1] + course->values[0]));
		memcpy(values, course->values, points * sizeof *values);
		if (fleet->grid.steps)
			cairn_cohort_add(find_cohort(fleet, course->path, release), &fleet->grid, series, start_ns, values, course->unit);
		cairn_array_room(fleet->records, fleet->record_count, fleet->record_capacity);
		fleet->records[fleet->record_count++] = (struct cairn_fleet_record){
			.path = course->path,
			.release = release,
			.instance = (uint32_t)fleet->instance_count,
			.verdict = CAIRN_STEADY,
			.chance = 1,
			.per_hour = span > 0 ? rise / span : 0,
			.error = span > 0 ? deviation / span : 0,
			.may_grow = rise > deviations * deviation,
			.rate = rate,
			.level = level,
			.now = values[points - 1],
			.since_ns = first_ns,
			.values = values,
			.unit = course->unit,
			.clock = (uint32_t)fleet->clock_count,
		};
	}
	cairn_array_room(fleet->clocks, fleet->clock_count, fleet->clock_capacity);
	fleet->clocks[fleet->clock_count++] = clock;
	fleet->releases[release].instances++;
	fleet->instance_count++;
}

/* Judges a course of one instance. */
static void judge_course(const struct cairn_fleet *fleet, struct cairn_fleet_record *record)
{
	const struct cairn_fleet_clock *at = &fleet->clocks[record->clock];
	struct cairn_trend_clock clock;
	struct cairn_trend_judge judge;
	struct cairn_trend trend;
	uint32_t *runs = cairn_array_zero(at->count, sizeof *runs);
	size_t paths = fleet->compared / (fleet->release_count ? fleet->release_count : 1);
	cairn_trend_clock_make(&clock, at->hours, runs, at->count);
	cairn_trend_judge_open(&judge, &clock);
	cairn_trend_judge(&trend, &judge, record->values, record->unit, paths + paths / 2 + 1);
	cairn_trend_judge_close(&judge);
	free(runs);
	record->values = NULL;
	record->verdict = trend.verdict;
	record->may_grow &= is_open(&trend);
	if (trend.verdict == CAIRN_GROWING && at->late && cairn_onset_explains(trend.per_hour - at->rise, trend.per_hour))
		record->verdict = CAIRN_TOO_EARLY;
	if (record->verdict != CAIRN_GROWING)
		return;
	record->chance = fmin(1, trend.chance);
	record->sure = trend.confidence;
	record->per_hour = trend.per_hour;
	record->error = trend.error;
	record->since_ns = at->first_ns + (int64_t)(trend.since * CAIRN_HOUR_NS);
}

double cairn_fleet_tail(size_t total, size_t count, double chance)
{
	if (count == 0 || chance >= 1)
		return 1;
	if (chance <= 0)
		return 0;
	double sum = 0;
	for (size_t k = count; k <= total; k++) {
		double n = (double)total, m = (double)k;
		sum += exp(lgamma(n + 1) - lgamma(m + 1) - lgamma(n - m + 1) + m * log(chance) + (n - m) * log1p(-chance));
	}
	return fmin(1, sum);
}

/* The median of COUNT values. Sorts them. */
static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof *values, cairn_law_compare);
	return values[count / 2];
}

/* How far the rate of a record is above USUAL, the usual rate as a share of the level, scaled so that small and large instances scatter
 * alike. */
static double excess_of(const struct cairn_fleet_record *record, double usual)
{
	return (record->rate - usual * record->level) / sqrt(fmax(1, record->level));
}

/* In a release with many instances, withdraws the verdict of records that do not differ from the others. Records that do differ and have
 * not been judged yet are judged now. */
static void compare_with_others(const struct cairn_fleet *fleet, struct cairn_fleet_record *records, size_t count)
{
	static const double far = 5, deviation_of_median = 1.4826; /* of a normal distribution */
	double *values = cairn_array_new(count, sizeof *values);
	for (uint32_t release = 0; release < fleet->release_count; release++) {
		size_t found = 0;
		for (size_t i = 0; i < count; i++)
			if (records[i].release == release && records[i].level > 0)
				values[found++] = records[i].rate / records[i].level;
		if (found < few || !fleet->grid.steps) {
			for (size_t i = 0; i < count; i++)
				if (records[i].release == release && records[i].values && records[i].rate > 0)
					judge_course(fleet, &records[i]);
			continue;
		}
		double usual = median_of(values, found);
		found = 0;
		for (size_t i = 0; i < count; i++)
			if (records[i].release == release && records[i].level > 0)
				values[found++] = fabs(excess_of(&records[i], usual));
		double most = far * deviation_of_median * median_of(values, found);
		for (size_t i = 0; i < count; i++) {
			struct cairn_fleet_record *record = &records[i];
			bool above = excess_of(record, usual) > most;
			if (record->release != release)
				continue;
			if (above && record->values && record->rate > 0)
				judge_course(fleet, record);
			if (!above && record->verdict == CAIRN_GROWING) {
				record->verdict = CAIRN_TOO_EARLY;
				record->chance = 1;
				record->sure = 0;
			}
		}
	}
	free(values);
}

/* Whether record I, of records in the order of instances, is the first of its instance, which may have the path twice: as a path and as a
 * frame. Each instance counts once. */
static bool is_first(const struct cairn_fleet_record *records, size_t i)
{
	return i == 0 || records[i].instance != records[i - 1].instance;
}

/* The probability that noise makes the COUNT records, of TOTAL instances, look as they do. */
static double chance_of(const struct cairn_fleet_record *records, size_t count, size_t total)
{
	double *chances = cairn_array_new(count, sizeof *chances), best = 1;
	size_t growing = 0;
	for (size_t i = 0; i < count; i++)
		if (records[i].verdict == CAIRN_GROWING && is_first(records, i))
			chances[growing++] = records[i].chance;
	qsort(chances, growing, sizeof *chances, cairn_law_compare);
	for (size_t i = 0; i < growing; i++)
		best = fmin(best, cairn_fleet_tail(total, i + 1, chances[i]));
	free(chances);
	return fmin(1, best * (double)(growing ? growing : 1));
}

/* How sure the COUNT records are together that the path grows, rather than fills up or has stopped. */
static double sure_together(const struct cairn_fleet_record *records, size_t count)
{
	static const double most = 0.9999; /* no single instance decides alone */
	double odds = 0;
	for (size_t i = 0; i < count; i++)
		if (records[i].verdict == CAIRN_GROWING) {
			double sure = fmin(most, fmax(1 - most, records[i].sure));
			odds += log(sure / (1 - sure));
		}
	return 1 / (1 + exp(-odds));
}

/* Everything known about one path: its records, in the order of instances, and for each release its cohort, or NULL, and the verdict on the
 * cohort. */
struct evidence {
	const struct cairn_fleet_record *records;
	size_t count;
	const struct cairn_cohort **cohorts;
	struct cairn_cohort_verdict *pooled;
	double *growing; /* for each release, the number of instances on which it grows */
};

/* The standard deviation of the rate on an instance where the path does not grow: from the releases where it does not, else from its
 * dumps. */
static double scatter_of(const struct cairn_fleet *fleet, const struct evidence *evidence, const struct cairn_cohort *cohort)
{
	double squares = 0, instances = 0;
	for (size_t i = 0; i < fleet->release_count; i++)
		if (evidence->cohorts[i] && !evidence->pooled[i].grows && evidence->cohorts[i] != cohort) {
			squares += evidence->cohorts[i]->squares;
			instances += (double)evidence->cohorts[i]->present;
		}
	return instances >= few ? sqrt(squares / instances) : sqrt(cohort->noise / (double)cohort->present);
}

/* Whether the path grows on RELEASE: on the mean, or on one of its instances by its own verdict. */
static bool grows_on(const struct evidence *evidence, uint32_t release)
{
	bool grows = evidence->pooled[release].grows;
	for (size_t i = 0; i < evidence->count && !grows; i++)
		grows = evidence->records[i].release == release && evidence->records[i].verdict == CAIRN_GROWING;
	return grows;
}

/* Whether record I shows growth by itself, once for its instance. One that cannot tell counts where its release grows, unless the cohort of
 * a release with enough instances can be judged instead. */
static bool shows_growth(const struct cairn_fleet *fleet, const struct evidence *evidence, size_t i)
{
	const struct cairn_fleet_record *record = &evidence->records[i];
	bool has_cohort = fleet->releases[record->release].instances >= few && evidence->cohorts[record->release];
	bool counts = record->verdict == CAIRN_GROWING || (!has_cohort && record->may_grow && grows_on(evidence, record->release));
	return counts && is_first(evidence->records, i);
}

/* Counts the instances of each release that show growth. */
static void count_growing(const struct cairn_fleet *fleet, const struct evidence *evidence)
{
	for (size_t i = 0; i < fleet->release_count; i++)
		evidence->growing[i] = 0;
	for (size_t i = 0; i < evidence->count; i++)
		if (shows_growth(fleet, evidence, i))
			evidence->growing[evidence->records[i].release]++;
	for (size_t i = 0; i < fleet->release_count; i++)
		if (evidence->pooled[i].grows) {
			size_t instances = fleet->releases[i].instances;
			double *levels = cairn_array_new(evidence->count, sizeof *levels),
			       scatter = scatter_of(fleet, evidence, evidence->cohorts[i]);
			size_t count = 0;
			for (size_t k = 0; k < evidence->count; k++)
				if (evidence->records[k].release == i && is_first(evidence->records, k))
					levels[count++] = evidence->records[k].level;
			evidence->growing[i] = fmax(evidence->growing[i],
						    round(cairn_cohort_growing(evidence->cohorts[i], instances, scatter, levels, count)));
			free(levels);
		}
}

/* The share of the instances of RELEASE on which it grows. */
static double share_of(const struct cairn_fleet *fleet, const struct evidence *evidence, uint32_t release)
{
	size_t instances = fleet->releases[release].instances;
	return instances ? evidence->growing[release] / (double)instances : 0;
}

/* The first release that grows on the mean, or on at least half of its instances; if there is none, the one with the largest share. */
static uint32_t release_of(const struct cairn_fleet *fleet, const struct evidence *evidence)
{
	uint32_t best = 0;
	double most = -1;
	for (uint32_t i = 0; i < fleet->release_count; i++) {
		double share = share_of(fleet, evidence, i);
		if (share >= 0.5 || evidence->pooled[i].grows)
			return i;
		if (share > most) {
			most = share;
			best = i;
		}
	}
	return best;
}

/* Sets the rate from the instances that count by themselves. */
static void rate_of_records(const struct cairn_fleet *fleet, const struct evidence *evidence, struct cairn_fleet_row *row)
{
	double rates = 0, variances = 0, count = 0;
	for (size_t i = 0; i < evidence->count; i++) {
		const struct cairn_fleet_record *record = &evidence->records[i];
		if (!shows_growth(fleet, evidence, i))
			continue;
		rates += record->per_hour;
		variances += record->error * record->error;
		count++;
		if (record->verdict == CAIRN_GROWING && (!row->since_ns || record->since_ns < row->since_ns))
			row->since_ns = record->since_ns;
	}
	row->per_hour = count > 0 ? rates / count : 0;
	row->error = count > 0 ? sqrt(variances) / count : 0;
}

/* Sets the rate on the instances where it grows, from the mean over all instances of each release where it does. */
static void rate_of_cohorts(const struct cairn_fleet *fleet, const struct evidence *evidence, struct cairn_fleet_row *row)
{
	double rates = 0, variances = 0, growing = 0;
	int64_t since = 0;
	for (size_t i = 0; i < fleet->release_count; i++) {
		double instances = (double)fleet->releases[i].instances;
		if (!evidence->pooled[i].grows)
			continue;
		rates += evidence->pooled[i].per_hour * instances;
		variances += evidence->pooled[i].error * evidence->pooled[i].error * instances * instances;
		growing += evidence->growing[i];
		since = since && since < evidence->pooled[i].since_ns ? since : evidence->pooled[i].since_ns;
	}
	if (growing <= 0)
		return;
	row->per_hour = rates / growing;
	row->error = sqrt(variances) / growing;
	row->since_ns = since;
}

/* Fills in the details of a path that grows. */
static void describe_growth(const struct cairn_fleet *fleet, const struct evidence *evidence, struct cairn_fleet_row *row)
{
	static const double all = 0.9, none = 0.05; /* as far as can be told with many instances */
	bool before = false;
	row->release = release_of(fleet, evidence);
	for (uint32_t i = 0; i < fleet->release_count; i++) {
		double share = share_of(fleet, evidence, i);
		bool many = fleet->releases[i].instances >= few;
		/* One of many instances may be sure by chance; that does not make its release a leaking one. */
		bool grows = evidence->pooled[i].grows || (many && i != row->release ? share > none : share > 0);
		before |= i < row->release && grows;
		row->growing += grows ? (size_t)evidence->growing[i] : 0;
		row->of += grows ? fleet->releases[i].instances : 0;
	}
	rate_of_records(fleet, evidence, row);
	rate_of_cohorts(fleet, evidence, row);
	double share = share_of(fleet, evidence, row->release);
	row->new_in_release = row->release > 0 && !before && (fleet->releases[row->release].instances >= few ? share >= all : share >= 1);
}

/* Judges one path. */
static void judge_path(struct cairn_fleet *fleet, const struct evidence *evidence)
{
	const struct cairn_fleet_record *records = evidence->records;
	struct cairn_fleet_row row = {.path = records[0].path, .verdict = records[0].verdict};
	double chance = chance_of(records, evidence->count, fleet->instance_count), largest = -1;
	bool grows = chance <= false_alarms;
	if (grows)
		row.confidence = fmin(1 - chance, sure_together(records, evidence->count));
	for (size_t i = 0; i < evidence->count; i++) {
		if (is_first(records, i))
			row.now += records[i].now;
		if (records[i].now > largest && records[i].verdict != CAIRN_GROWING) {
			largest = records[i].now;
			row.verdict = records[i].values ? evidence->pooled[records[i].release].verdict : records[i].verdict;
		}
	}
	for (size_t i = 0; i < fleet->release_count; i++)
		if (evidence->pooled[i].grows) {
			grows = true;
			row.confidence = fmax(row.confidence, fmin(1 - evidence->pooled[i].chance, evidence->pooled[i].confidence));
		}
	if (grows) {
		row.verdict = CAIRN_GROWING;
		count_growing(fleet, evidence);
		describe_growth(fleet, evidence, &row);
	} else if (row.verdict == CAIRN_GROWING) {
		row.verdict = CAIRN_TOO_EARLY; /* on one instance of many, and not sure enough for that */
	}
	cairn_array_room(fleet->rows, fleet->count, fleet->capacity);
	fleet->rows[fleet->count++] = row;
}

static int compare_records(const void *a, const void *b)
{
	const struct cairn_fleet_record *one = a, *other = b;
	if (one->path != other->path)
		return (one->path > other->path) - (one->path < other->path);
	if (one->instance != other->instance)
		return (one->instance > other->instance) - (one->instance < other->instance);
	return (one->chance > other->chance) - (one->chance < other->chance);
}

static int compare_rows(const void *a, const void *b)
{
	const struct cairn_fleet_row *one = a, *other = b;
	bool grows = one->verdict == CAIRN_GROWING, also = other->verdict == CAIRN_GROWING;
	double rate = one->per_hour * (double)one->growing, against = other->per_hour * (double)other->growing;
	if (grows != also)
		return also - grows;
	if (grows && one->new_in_release != other->new_in_release)
		return other->new_in_release - one->new_in_release;
	if (grows && rate != against)
		return (rate < against) - (rate > against);
	return (one->now < other->now) - (one->now > other->now);
}

/* Of releases that were first seen at the same time, the one with the lower version comes first. Versions differ. */
static bool is_before(const struct cairn_fleet_release *one, const struct cairn_fleet_release *other)
{
	return one->first_ns != other->first_ns ? one->first_ns < other->first_ns : strverscmp(one->version, other->version) < 0;
}

/* Sorts the releases, and renumbers the records. */
static void order_releases(struct cairn_fleet *fleet)
{
	uint32_t *place = cairn_array_new(fleet->release_count, sizeof *place);
	struct cairn_fleet_release *ordered = cairn_array_new(fleet->release_count, sizeof *ordered);
	for (size_t i = 0; i < fleet->release_count; i++) {
		place[i] = 0;
		for (size_t k = 0; k < fleet->release_count; k++)
			place[i] += k != i && is_before(&fleet->releases[k], &fleet->releases[i]);
		ordered[place[i]] = fleet->releases[i];
	}
	for (size_t i = 0; i < fleet->record_count; i++)
		fleet->records[i].release = place[fleet->records[i].release];
	for (size_t i = 0; i < fleet->cohort_count; i++)
		fleet->cohorts[i].release = place[fleet->cohorts[i].release];
	free(fleet->releases);
	fleet->releases = ordered;
	fleet->release_capacity = fleet->release_count;
	free(place);
}

static int compare_cohorts(const void *a, const void *b)
{
	const struct cairn_cohort *one = a, *other = b;
	if (one->path != other->path)
		return (one->path > other->path) - (one->path < other->path);
	return (one->release > other->release) - (one->release < other->release);
}

/* Withdraws the verdict on a release if its instances do only what all their paths do, and what the same path does on other releases, or
 * if what they have may only have come into view. */
static void drop_common(const struct cairn_fleet *fleet, const struct evidence *evidence, size_t comparisons)
{
	for (size_t i = 0; i < fleet->release_count; i++) {
		struct cairn_cohort_verdict *verdict = &evidence->pooled[i];
		bool differs = !verdict->common;
		for (size_t k = 0; k < fleet->release_count && verdict->grows && !differs; k++)
			differs = k != i && evidence->cohorts[k] &&
				  cairn_cohort_differs(evidence->cohorts[i], evidence->cohorts[k], comparisons);
		const struct cairn_fleet_release *release = &fleet->releases[i];
		bool in_view = release->late && cairn_onset_explains(release->claims - release->rises / (double)release->late,
								     verdict->per_hour);
		if (verdict->grows && (!differs || in_view)) {
			verdict->grows = false;
			verdict->verdict = in_view ? CAIRN_TOO_EARLY : CAIRN_WANDERING;
		}
	}
}

/* Drops the records of frames on releases with many instances. Returns how many of COUNT are left. */
static size_t drop_sums(const struct cairn_fleet *fleet, struct cairn_fleet_record *records, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (!records[i].sum || !fleet->grid.steps || fleet->releases[records[i].release].instances < few)
			records[kept++] = records[i];
	return kept;
}

/* Judges each cohort, and adds up what those that grow claim. */
static struct cairn_cohort_verdict *pool(struct cairn_fleet *fleet, struct cairn_cohort_judge *judges, size_t comparisons)
{
	struct cairn_cohort_verdict *pooled = cairn_array_new(fleet->cohort_count, sizeof *pooled);
	for (size_t i = 0; i < fleet->cohort_count; i++) {
		struct cairn_fleet_release *release = &fleet->releases[fleet->cohorts[i].release];
		pooled[i] = cairn_cohort_judge(&judges[fleet->cohorts[i].release], &fleet->cohorts[i], comparisons);
		release->claims += pooled[i].grows ? pooled[i].per_hour : 0;
	}
	return pooled;
}

/* Judges path by path. Records and cohorts are sorted by path. */
static void judge_paths(struct cairn_fleet *fleet, struct cairn_cohort_judge *judges)
{
	struct evidence evidence = {
		.cohorts = cairn_array_new(fleet->release_count, sizeof *evidence.cohorts),
		.pooled = cairn_array_new(fleet->release_count, sizeof *evidence.pooled),
		.growing = cairn_array_new(fleet->release_count, sizeof *evidence.growing),
	};
	/* Counts each path of a release, half as many frames that sum up several (leaks.h), and all that twice: alone, and against other
	 * releases. */
	size_t compared = fleet->compared > fleet->cohort_count ? fleet->compared : fleet->cohort_count;
	size_t comparisons = 2 * (compared + compared / 2), cohort = 0;
	struct cairn_cohort_verdict *pooled = pool(fleet, judges, comparisons);
	for (size_t from = 0, end; from < fleet->record_count; from = end) {
		uint32_t path = fleet->records[from].path;
		for (end = from + 1; end < fleet->record_count && fleet->records[end].path == path; end++)
			;
		evidence.records = fleet->records + from;
		evidence.count = drop_sums(fleet, fleet->records + from, end - from);
		if (evidence.count == 0)
			continue;
		compare_with_others(fleet, fleet->records + from, evidence.count);
		for (size_t i = 0; i < fleet->release_count; i++) {
			evidence.cohorts[i] = NULL;
			evidence.pooled[i] = (struct cairn_cohort_verdict){.chance = 1, .verdict = CAIRN_STEADY};
		}
		while (cohort < fleet->cohort_count && fleet->cohorts[cohort].path < path)
			cohort++;
		for (; cohort < fleet->cohort_count && fleet->cohorts[cohort].path == path; cohort++) {
			uint32_t release = fleet->cohorts[cohort].release;
			evidence.cohorts[release] = &fleet->cohorts[cohort];
			evidence.pooled[release] = pooled[cohort];
		}
		drop_common(fleet, &evidence, comparisons);
		judge_path(fleet, &evidence);
	}
	free(pooled);
	free(evidence.cohorts);
	free(evidence.pooled);
	free(evidence.growing);
}

static void find_peers(const struct cairn_fleet *fleet, struct cairn_cohort_judge *judges)
{
	const struct cairn_cohort **cohorts = cairn_array_new(fleet->cohort_count, sizeof *cohorts);
	for (uint32_t release = 0; release < fleet->release_count && fleet->cohort_count > 0; release++) {
		size_t count = 0;
		for (size_t i = 0; i < fleet->cohort_count; i++)
			if (fleet->cohorts[i].release == release)
				cohorts[count++] = &fleet->cohorts[i];
		cairn_cohort_find_peers(&judges[release], cohorts, count);
	}
	free(cohorts);
}

void cairn_fleet_judge(struct cairn_fleet *fleet)
{
	if (fleet->record_count == 0)
		return;
	order_releases(fleet);
	struct cairn_cohort_judge *judges = cairn_array_zero(fleet->release_count, sizeof *judges);
	for (size_t i = 0; i < fleet->release_count; i++)
		cairn_cohort_judge_open(&judges[i], &fleet->grid, &fleet->releases[i].cover, fleet->releases[i].instances);
	qsort(fleet->records, fleet->record_count, sizeof *fleet->records, compare_records);
	if (fleet->cohort_count > 0)
		qsort(fleet->cohorts, fleet->cohort_count, sizeof *fleet->cohorts, compare_cohorts);
	find_peers(fleet, judges);
	judge_paths(fleet, judges);
	qsort(fleet->rows, fleet->count, sizeof *fleet->rows, compare_rows);
	for (size_t i = 0; i < fleet->release_count; i++)
		cairn_cohort_judge_close(&judges[i]);
	free(judges);
}

enum cairn_verdict cairn_fleet_verdict(const struct cairn_fleet *fleet, const struct cairn_fleet_row **open)
{
	const struct cairn_fleet_row *first = &fleet->rows[0], *largest = NULL;
	double all = 0;
	*open = NULL;
	if (fleet->count == 0)
		return CAIRN_TOO_EARLY;
	if (first->verdict == CAIRN_GROWING) {
		*open = first->confidence < CAIRN_JUDGE_SURE ? first : NULL;
		return *open ? CAIRN_TOO_EARLY : CAIRN_GROWING;
	}
	for (size_t i = 0; i < fleet->count; i++) {
		const struct cairn_fleet_row *row = &fleet->rows[i];
		all += row->now;
		if (row->verdict == CAIRN_TOO_EARLY && (!largest || row->now > largest->now))
			largest = row;
	}
	*open = largest && largest->now >= CAIRN_LEAKS_GOOD_PART * all ? largest : NULL;
	return *open ? CAIRN_TOO_EARLY : CAIRN_STEADY;
}

void cairn_fleet_free(struct cairn_fleet *fleet)
{
	cairn_strings_free(&fleet->stacks);
	cairn_arena_free(&fleet->arena);
	free(fleet->clocks);
	free(fleet->releases);
	free(fleet->records);
	free(fleet->cohorts);
	cairn_map_free(&fleet->cohort_index);
	free(fleet->rows);
}
