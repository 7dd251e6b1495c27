/* series.c - sorts dumps, and matches their stacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/series.h"

#include "base/array.h"
#include "heap/walk.h"
#include "profile/kind.h"
#include "profile/origin.h"
#include "profile/spread.h"

#include <math.h>
#include <stdlib.h>

void cairn_series_start(struct cairn_series *series)
{
	*series = (struct cairn_series){.knows_errors = true};
	cairn_profile_init(&series->profile);
	cairn_combine_start(&series->combine, &series->profile);
}

/* The program of a service may have changed: the newest dump names it. */
static void take_process(struct cairn_series *series, const struct cairn_profile *part)
{
	if (series->point_count > 0 && part->facts.time_ns < series->newest_ns)
		return;
	series->newest_ns = part->facts.time_ns;
	series->profile.facts.process = cairn_profile_text(&series->profile, cairn_profile_string(part, part->facts.process));
	series->profile.facts.process_id = part->facts.process_id;
	series->profile.facts.life = cairn_profile_text(&series->profile, cairn_profile_string(part, part->facts.life));
}

/* Objects much smaller than the period have the same weight whatever their sizes: a sample stands for a period of bytes. For larger
 * objects, the sizes matter, and a line shows them only if they are all equal. */
static bool is_unsure(const struct cairn_profile *part, uint32_t value, double amount, double partner)
{
	static const double small_share = 1 / 64.0;
	double size = cairn_profile_in_bytes(part, value) ? amount / partner : partner / amount;
	if (part->kind != CAIRN_PROFILE_HEAP)
		return false;
	return !(amount > 0) || !(partner > 0) || (!cairn_sizes_equal(size) && !(size < small_share * part->period));
}

struct cairn_series_cell cairn_series_cell_of(const struct cairn_profile *part, size_t sample)
{
	uint32_t value = part->default_value, partner = cairn_profile_partner(part, value);
	const double *values = cairn_profile_values(part, sample);
	double amount = values[value], other = partner == CAIRN_NONE ? 0 : values[partner];
	struct cairn_spread spread = cairn_profile_line_spread(part, value, amount, other);
	uint32_t allocated = cairn_profile_accumulated(part, value);
	return (struct cairn_series_cell){
		.value = amount,
		.weight = amount > 0 ? spread.variance / amount : 0,
		.mixed = spread.unknown > 0,
		.unsure = is_unsure(part, value, amount, other),
		.unit = cairn_profile_unit(part, value, amount, other),
		.allocated = allocated == CAIRN_NONE ? -1 : values[allocated],
	};
}

void cairn_series_lives_take(struct cairn_series_lives *lives, const struct cairn_profile *part, const uint32_t *places)
{
	enum cairn_value_kind kind = cairn_profile_value_kind(part, part->default_value);
	double seconds = cairn_profile_sampled_seconds(part);
	lives->aged_count = lives->freed_count = 0;
	lives->objects = kind == CAIRN_VALUE_LIVE_OBJECTS;
	lives->endless = part->shown == CAIRN_SHOWN_MAPPED;
	bool known = part->freed && seconds > 0 && cairn_value_is_live(kind);
	lives->seconds = known ? seconds : 0;
	if (!known)
		return;
	lives->aged = cairn_array_reserve(lives->aged, &lives->aged_capacity, part->aged_count + 1, sizeof *lives->aged);
	lives->freed = cairn_array_reserve(lives->freed, &lives->freed_capacity, part->freed_count + 1, sizeof *lives->freed);
	for (size_t i = 0; i < part->aged_count; i++) {
		lives->aged[i] = part->aged[i];
		lives->aged[i].sample = places[part->aged[i].sample];
	}
	lives->aged_count = part->aged_count;
	for (size_t i = 0; i < part->freed_count && i < part->sample_count; i++)
		if (part->freed[i].samples) {
			lives->freed[lives->freed_count] = part->freed[i];
			lives->freed[lives->freed_count++].stack = places[i];
		}
}

void cairn_series_lives_free(struct cairn_series_lives *lives)
{
	free(lives->aged);
	free(lives->freed);
	*lives = (struct cairn_series_lives){0};
}

struct cairn_own_memory cairn_own_memory_of(const struct cairn_profile *profile)
{
	return (struct cairn_own_memory){
		.allocated = profile->facts.allocated_bytes,
		.anonymous = profile->facts.anonymous_bytes,
		.swapped = profile->facts.swap_bytes,
		.before = profile->facts.before_bytes,
		.mapped = profile->facts.mapped_bytes + profile->facts.break_bytes,
	};
}

double cairn_own_memory_unseen(const struct cairn_own_memory *own, double period)
{
	static const double much = 32 << 20, periods = 32;
	double grown = own->anonymous + own->swapped - own->before - own->mapped;
	return grown >= fmax(much, periods * period) ? grown : 0;
}

void cairn_series_point_follow(struct cairn_series_point *point, const struct cairn_series_point *before)
{
	point->process = before ? before->process + !cairn_origin_same(before->origin, point->origin) : 0;
	point->run = before ? before->run + !cairn_origin_continues(before->origin, point->origin) : 0;
}

/* What a walk of the heaps has added to the dump. */
void cairn_series_walked(const struct cairn_profile *part, double *free, double *returnable)
{
	struct cairn_trailer trailer;
	struct cairn_walk walk;
	if (part->facts.trailer && cairn_trailer_read(cairn_strings_bytes(&part->strings, part->facts.trailer), &trailer) &&
	    cairn_walk_read(&walk, &trailer)) {
		*free = (double)(walk.sum.resident_free + walk.sum.cached);
		*returnable = (double)walk.sum.returnable;
	}
}

bool cairn_series_add(struct cairn_series *series, const struct cairn_profile *part, const char *path, struct cairn_error *error)
{
	if (!cairn_combine_add(&series->combine, part, 1, error))
		return false;
	uint32_t point = (uint32_t)series->point_count;
	uint32_t partner = cairn_profile_partner(part, part->default_value);
	bool counts = cairn_profile_value_kind(part, part->default_value) == CAIRN_VALUE_LIVE_OBJECTS && partner != CAIRN_NONE;
	double total = 0, bytes = 0;
	take_process(series, part);
	if (part->facts.time_ns >= series->newest_ns)
		cairn_series_lives_take(&series->lives, part, series->combine.places);
	series->knows_errors &= cairn_profile_knows_errors(part, part->default_value);
	series->cells =
		cairn_array_reserve(series->cells, &series->cell_capacity, series->cell_count + part->sample_count, sizeof *series->cells);
	for (size_t i = 0; i < part->sample_count; i++) {
		struct cairn_series_cell cell = cairn_series_cell_of(part, i);
		cell.row = series->combine.places[i];
		cell.point = point;
		total += cell.value;
		bytes += counts ? cairn_profile_values(part, i)[partner] : cell.value;
		series->cells[series->cell_count++] = cell;
	}
	cairn_array_room(series->points, series->point_count, series->point_capacity);
	series->points[series->point_count++] = (struct cairn_series_point){
		.origin = cairn_origin_of(part),
		.total = total,
		.bytes = bytes,
		.live = cairn_profile_is_live(part) && cairn_value_is_live(cairn_profile_value_kind(part, part->default_value)),
		.resident = part->facts.resident_bytes,
		.own = cairn_own_memory_of(part),
		.limit = part->facts.limit_bytes,
		.limit_of_group = part->facts.limit_of_group,
		.group = part->facts.group_bytes,
		.available = part->facts.available_bytes,
		.ended = cairn_arena_text(&series->arena, cairn_strings_bytes(&part->strings, part->facts.ended)),
		.path = cairn_arena_text(&series->arena, cairn_bytes_of(path)),
	};
	cairn_series_walked(part, &series->points[point].free, &series->points[point].returnable);
	return true;
}

static int by_time(const void *a, const void *b, void *context)
{
	const struct cairn_series_point *points = context, *left = &points[*(const uint32_t *)a], *right = &points[*(const uint32_t *)b];
	if (left->origin.time_ns != right->origin.time_ns)
		return left->origin.time_ns < right->origin.time_ns ? -1 : 1;
	return strcmp(left->path, right->path);
}

static bool same_point(const struct cairn_series_point *a, const struct cairn_series_point *b)
{
	return a->origin.time_ns == b->origin.time_ns && cairn_origin_same(a->origin, b->origin) && a->total == b->total;
}

static uint32_t *numbers(size_t count)
{
	uint32_t *result = malloc((count + 1) * sizeof *result);
	if (!result)
		cairn_out_of_memory(count * sizeof *result);
	return result;
}

/* Sorts the points, drops duplicates, and sets PLACE to the new index of each; CAIRN_NONE for those dropped. */
static size_t sort_points(struct cairn_series *series, uint32_t *place)
{
	size_t count = series->point_count, kept = 0;
	uint32_t *order = numbers(count);
	struct cairn_series_point *sorted = malloc((count + 1) * sizeof *sorted);
	if (!sorted)
		cairn_out_of_memory(count * sizeof *sorted);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof *order, by_time, series->points);
	for (size_t i = 0; i < count; i++) {
		struct cairn_series_point point = series->points[order[i]];
		if (kept && same_point(&point, &sorted[kept - 1])) {
			place[order[i]] = CAIRN_NONE;
			continue;
		}
		cairn_series_point_follow(&point, kept ? &sorted[kept - 1] : NULL);
		place[order[i]] = (uint32_t)kept;
		sorted[kept++] = point;
	}
	free(order);
	free(series->points);
	series->points = sorted;
	series->point_count = kept;
	return count - kept;
}

/* Sorted by row, then by point. Cells were added dump by dump, so counting the cells of each row leaves only the points to be sorted. */
static int by_point(const void *a, const void *b)
{
	const struct cairn_series_cell *left = a, *right = b;
	return left->point < right->point ? -1 : left->point > right->point;
}

static void sort_cells(struct cairn_series *series)
{
	size_t rows = series->profile.sample_count, count = series->cell_count;
	struct cairn_series_cell *sorted = cairn_array_zero(count, sizeof *sorted);
	series->first = cairn_array_zero(rows + 2, sizeof *series->first);
	for (size_t i = 0; i < count; i++)
		series->first[series->cells[i].row + 2]++;
	for (size_t row = 0; row < rows; row++)
		series->first[row + 2] += series->first[row + 1];
	for (size_t i = 0; i < count; i++)
		sorted[series->first[series->cells[i].row + 1]++] = series->cells[i];
	for (size_t row = 0; row < rows; row++)
		qsort(sorted + series->first[row], series->first[row + 1] - series->first[row], sizeof *sorted, by_point);
	free(series->cells);
	series->cells = sorted;
	series->cell_capacity = count;
}

void cairn_series_finish(struct cairn_series *series, size_t *duplicates)
{
	cairn_combine_finish(&series->combine);
	uint32_t *place = numbers(series->point_count);
	*duplicates = sort_points(series, place);
	size_t kept = 0;
	for (size_t i = 0; i < series->cell_count; i++) {
		struct cairn_series_cell cell = series->cells[i];
		cell.point = place[cell.point];
		if (cell.point != CAIRN_NONE)
			series->cells[kept++] = cell;
	}
	series->cell_count = kept;
	free(place);
	sort_cells(series);
}

void cairn_series_free(struct cairn_series *series)
{
	cairn_profile_free(&series->profile);
	cairn_arena_free(&series->arena);
	free(series->points);
	free(series->cells);
	free(series->first);
	cairn_series_lives_free(&series->lives);
	*series = (struct cairn_series){0};
}
