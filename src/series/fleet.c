/* fleet.c - rows of instances, joined by the names of their call paths.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/fleet.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

static const double false_alarms = 0.01; /* of all paths of a fleet together, as for one instance (trend.c) */
static const double deviations = 2;      /* what is enough for an instance once the fleet is sure */

static uint32_t find_release(struct cairn_fleet *fleet, const char *version, int64_t first_ns)
{
	for (size_t i = 0; i < fleet->release_count; i++)
		if (strcmp(fleet->releases[i].version, version) == 0) {
			struct cairn_fleet_release *release = &fleet->releases[i];
			release->first_ns = first_ns < release->first_ns ? first_ns : release->first_ns;
			return (uint32_t)i;
		}
	cairn_array_room(fleet->releases, fleet->release_count, fleet->release_capacity);
	fleet->releases[fleet->release_count] = (struct cairn_fleet_release){version, first_ns, 0};
	return (uint32_t)fleet->release_count++;
}

static uint32_t path_of(struct cairn_fleet *fleet, const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_leak *leak)
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

void cairn_fleet_add(struct cairn_fleet *fleet, const char *version, int64_t first_ns, const struct cairn_leaks *leaks,
		     const struct cairn_series *series, const struct cairn_view *view)
{
	uint32_t release = find_release(fleet, version, first_ns);
	struct cairn_series_value *values = cairn_array_new(series->point_count, sizeof *values);
	for (size_t i = 0; i < leaks->count; i++) {
		const struct cairn_leak *leak = &leaks->rows[i];
		const struct cairn_trend *trend = &leak->trend;
		cairn_leaks_values(leaks, leak, values);
		const struct cairn_series_value *first = &values[0], *last = &values[series->point_count - 1];
		double rise = last->value - first->value, deviation = sqrt(first->spread.variance + last->spread.variance);
		bool growing = trend->verdict == CAIRN_GROWING;
		cairn_array_room(fleet->records, fleet->record_count, fleet->record_capacity);
		fleet->records[fleet->record_count++] = (struct cairn_fleet_record){
			.path = path_of(fleet, leaks, view, leak),
			.release = release,
			.instance = (uint32_t)fleet->instance_count,
			.verdict = trend->verdict,
			.chance = growing ? fmin(1, trend->chance) : 1,
			.sure = growing ? trend->confidence : 0,
			.per_hour = growing || leaks->hours <= 0 ? trend->per_hour : rise / leaks->hours,
			.error = growing || leaks->hours <= 0 ? trend->error : deviation / leaks->hours,
			.risen = rise > deviations * deviation,
			.now = last->value,
			.since_ns = series->points[0].origin.time_ns + (int64_t)(trend->since * 3.6e12),
		};
	}
	fleet->releases[release].instances++;
	fleet->instance_count++;
	free(values);
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

static int compare_chances(const void *a, const void *b)
{
	const double *one = a, *other = b;
	return (*one > *other) - (*one < *other);
}

/* The chance that noise makes the COUNT records, of TOTAL instances, look as they do. */
static double chance_of(const struct cairn_fleet_record *records, size_t count, size_t total)
{
	double *chances = cairn_array_new(count, sizeof *chances), best = 1;
	size_t growing = 0;
	for (size_t i = 0; i < count; i++)
		if (records[i].verdict == CAIRN_GROWING)
			chances[growing++] = records[i].chance;
	qsort(chances, growing, sizeof *chances, compare_chances);
	for (size_t i = 0; i < growing; i++)
		best = fmin(best, cairn_fleet_tail(total, i + 1, chances[i]));
	free(chances);
	return fmin(1, best * (double)(growing ? growing : 1));
}

/* How sure the COUNT records are together that it grows and does nothing else that noise does not do. */
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

/* How many instances of each release show it growing, in GROWING. An instance may have the path twice, as a path and as a frame. */
static void count_growing(const struct cairn_fleet *fleet, const struct cairn_fleet_record *records, size_t count, bool established,
			  size_t *growing)
{
	for (size_t i = 0; i < fleet->release_count; i++)
		growing[i] = 0;
	for (size_t i = 0; i < count; i++) {
		bool again = i > 0 && records[i].instance == records[i - 1].instance;
		if (!again && (records[i].verdict == CAIRN_GROWING || (established && records[i].risen)))
			growing[records[i].release]++;
	}
}

/* The first release on which at least half of the instances show growth; where there is none, the one with the largest share. */
static uint32_t release_of(const struct cairn_fleet *fleet, const size_t *growing)
{
	uint32_t best = 0;
	double most = -1;
	for (uint32_t i = 0; i < fleet->release_count; i++) {
		double share = fleet->releases[i].instances ? (double)growing[i] / (double)fleet->releases[i].instances : 0;
		if (share >= 0.5)
			return i;
		if (share > most) {
			most = share;
			best = i;
		}
	}
	return best;
}

/* Fills in what is said about a path that grows. */
static void describe_growth(const struct cairn_fleet *fleet, const struct cairn_fleet_record *records, size_t count, struct cairn_fleet_row *row,
			    const size_t *growing)
{
	double rates = 0, variances = 0;
	size_t before = 0;
	row->release = release_of(fleet, growing);
	for (uint32_t i = 0; i < fleet->release_count; i++) {
		before += i < row->release ? growing[i] : 0;
		if (growing[i] > 0)
			row->of += fleet->releases[i].instances;
	}
	for (size_t i = 0; i < count; i++) {
		bool again = i > 0 && records[i].instance == records[i - 1].instance;
		if (again || (records[i].verdict != CAIRN_GROWING && !records[i].risen))
			continue;
		rates += records[i].per_hour;
		variances += records[i].error * records[i].error;
		row->growing++;
		if (records[i].verdict == CAIRN_GROWING && (!row->since_ns || records[i].since_ns < row->since_ns))
			row->since_ns = records[i].since_ns;
	}
	row->per_hour = row->growing ? rates / (double)row->growing : 0;
	row->error = row->growing ? sqrt(variances) / (double)row->growing : 0;
	row->new_in_release = row->release > 0 && before == 0 && growing[row->release] == fleet->releases[row->release].instances;
}

/* Judges the COUNT records of one path, which are in the order of instances. */
static void judge_path(struct cairn_fleet *fleet, const struct cairn_fleet_record *records, size_t count, size_t *growing)
{
	struct cairn_fleet_row row = {.path = records[0].path, .verdict = records[0].verdict};
	double chance = chance_of(records, count, fleet->instance_count), largest = -1;
	bool grows = chance <= false_alarms;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || records[i].instance != records[i - 1].instance)
			row.now += records[i].now;
		if (records[i].now > largest && records[i].verdict != CAIRN_GROWING) {
			largest = records[i].now;
			row.verdict = records[i].verdict;
		}
	}
	if (grows) {
		row.verdict = CAIRN_GROWING;
		row.confidence = fmin(1 - chance, sure_together(records, count));
		count_growing(fleet, records, count, true, growing);
		describe_growth(fleet, records, count, &row, growing);
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

/* Puts the releases in order; the records follow. */
static void order_releases(struct cairn_fleet *fleet)
{
	uint32_t *place = cairn_array_new(fleet->release_count, sizeof *place);
	struct cairn_fleet_release *ordered = cairn_array_new(fleet->release_count, sizeof *ordered);
	for (size_t i = 0; i < fleet->release_count; i++) {
		place[i] = 0;
		for (size_t k = 0; k < fleet->release_count; k++)
			place[i] += fleet->releases[k].first_ns < fleet->releases[i].first_ns ||
				    (fleet->releases[k].first_ns == fleet->releases[i].first_ns && k < i);
		ordered[place[i]] = fleet->releases[i];
	}
	for (size_t i = 0; i < fleet->record_count; i++)
		fleet->records[i].release = place[fleet->records[i].release];
	free(fleet->releases);
	fleet->releases = ordered;
	fleet->release_capacity = fleet->release_count;
	free(place);
}

void cairn_fleet_judge(struct cairn_fleet *fleet)
{
	if (fleet->record_count == 0)
		return;
	order_releases(fleet);
	size_t *growing = cairn_array_new(fleet->release_count, sizeof *growing);
	qsort(fleet->records, fleet->record_count, sizeof *fleet->records, compare_records);
	for (size_t from = 0, end; from < fleet->record_count; from = end) {
		for (end = from + 1; end < fleet->record_count && fleet->records[end].path == fleet->records[from].path; end++)
			;
		judge_path(fleet, fleet->records + from, end - from, growing);
	}
	qsort(fleet->rows, fleet->count, sizeof *fleet->rows, compare_rows);
	free(growing);
}

void cairn_fleet_free(struct cairn_fleet *fleet)
{
	cairn_strings_free(&fleet->stacks);
	free(fleet->releases);
	free(fleet->records);
	free(fleet->rows);
}
