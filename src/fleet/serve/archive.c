/* archive.c - adds dumps, drops old ones, and makes profiles and series of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/archive.h"

#include "base/array.h"
#include "base/time.h"
#include "dump/trailer.h"
#include "profile/read.h"
#include "report/view.h"
#include "symbol/demangle.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* The sum is rebuilt once it has at least `stale_least` rows and `stale_times` as many as are in use: rows of dropped points stay until
 * then. */
enum { stale_times = 4,
       stale_least = 20000,
       thin_least = 8 };

static void start(struct cairn_archive *archive)
{
	cairn_profile_init(&archive->sum);
	cairn_combine_start(&archive->combine, &archive->sum);
	archive->named = 0;
	archive->started = true;
}

void cairn_archive_open(struct cairn_archive *archive, const struct cairn_source_options *source, uint64_t bytes_most, int64_t keep_ns)
{
	*archive = (struct cairn_archive){.source = *source, .bytes_most = bytes_most, .keep_ns = keep_ns};
	start(archive);
}

static uint64_t point_bytes(const struct cairn_archive_point *point)
{
	return point->count * (sizeof *point->cells + sizeof *point->kinds) + point->value_count * sizeof *point->values;
}

static void drop_point(struct cairn_archive *archive, size_t at)
{
	struct cairn_archive_point *point = &archive->points[at];
	archive->bytes -= point_bytes(point);
	if (at + 1 == archive->count) /* those before it have no ages any more */
		archive->lives.seconds = 0, archive->lives.aged_count = archive->lives.freed_count = 0;
	free(point->cells);
	free(point->kinds);
	free(point->values);
	memmove(point, point + 1, (--archive->count - at) * sizeof *point);
}

bool cairn_archive_drop_later(struct cairn_archive *archive, int64_t time_ns)
{
	size_t before = archive->count;
	while (archive->count > 0 && archive->points[archive->count - 1].id > time_ns / CAIRN_MILLISECOND_NS)
		drop_point(archive, archive->count - 1);
	archive->epoch += archive->count < before;
	return archive->count < before;
}

static void clear(struct cairn_archive *archive)
{
	while (archive->count > 0)
		drop_point(archive, archive->count - 1);
	cairn_combine_finish(&archive->combine);
	cairn_profile_free(&archive->sum);
	archive->bytes = 0;
	archive->epoch++;
}

void cairn_archive_close(struct cairn_archive *archive)
{
	if (archive->started)
		clear(archive);
	free(archive->points);
	cairn_series_lives_free(&archive->lives);
	*archive = (struct cairn_archive){0};
}

bool cairn_archive_read(struct cairn_profile *part, const struct cairn_source_options *source, struct cairn_bytes dump, const char *name,
			int64_t modified_ns, struct cairn_error *error)
{
	cairn_profile_init(part);
	const struct cairn_view_options view = {0};
	const struct cairn_read_options options = {.split_threads = true, .split_ages = true, .split_sizes = true, .every_kind = true, .with_freed = true};
	if (!cairn_profile_read(part, dump, name, &options, error))
		return false;
	if (part->kind != CAIRN_PROFILE_HEAP)
		return cairn_fail(error, "%s: not a heap profile", name);
	if (!cairn_view_choose(part, &view, &part->default_value, error))
		return false;
	cairn_profile_complete(part); /* all dumps of an archive have the same values; one that is empty or has no section has fewer */
	if (!part->facts.time_ns)
		part->facts.time_ns = modified_ns;
	struct cairn_find_options find = cairn_source_find(source);
	cairn_modules_identify(part, &find);
	if (!source->no_symbols)
		cairn_demangle_profile(part); /* before it is added, so that it has the functions of the parts that were named in the sum */
	return true;
}

/* The program's own build-id, as a number. */
static uint64_t build_of(const struct cairn_profile *part)
{
	for (size_t i = 0; i < part->module_count; i++)
		if (part->modules[i].path == part->facts.process && part->modules[i].build_id)
			return cairn_hash_text(cairn_strings_bytes(&part->strings, part->modules[i].build_id));
	return 0;
}

static void copy_text(char *out, size_t size, struct cairn_bytes text)
{
	size_t length = text.length < size ? text.length : size - 1;
	for (size_t i = 0; i < length; i++)
		out[i] = (unsigned char)text.data[i] < ' ' ? ' ' : text.data[i];
	out[length] = 0;
}

static struct cairn_archive_point describe(const struct cairn_profile *part, struct cairn_bytes dump)
{
	struct cairn_trailer trailer;
	struct cairn_archive_point point = {
		.id = part->facts.time_ns / CAIRN_MILLISECOND_NS,
		.origin = cairn_origin_of(part),
		.resident = part->facts.resident_bytes,
		.limit = part->facts.limit_bytes,
		.limit_of_group = part->facts.limit_of_group,
		.group = part->facts.group_bytes,
		.available = part->facts.available_bytes,
		.own = cairn_own_memory_of(part),
		.period = part->period,
		.build = build_of(part),
	};
	cairn_series_walked(part, &point.free, &point.returnable);
	if (cairn_trailer_read(dump, &trailer))
		copy_text(point.reason, sizeof point.reason, cairn_trailer_value(&trailer, "reason"));
	copy_text(point.ended, sizeof point.ended, cairn_strings_bytes(&part->strings, part->facts.ended));
	return point;
}

/* Finds the value of PART for each value of the sum. Returns false if one is missing. */
static bool find_columns(const struct cairn_profile *sum, const struct cairn_profile *part, uint32_t *columns)
{
	for (uint32_t v = 0; v < sum->value_count; v++) {
		columns[v] = cairn_profile_find_value(part, cairn_profile_string(sum, sum->value_types[v].type));
		if (columns[v] == CAIRN_NONE)
			return false;
	}
	return sum->value_count == part->value_count;
}

static_assert(CAIRN_VALUES_MAX <= 16, "a bit for each value");

static void fill_point(struct cairn_archive_point *point, const struct cairn_archive *archive, const struct cairn_profile *part,
		       const uint32_t *columns)
{
	uint32_t values = archive->sum.value_count, partner = cairn_profile_partner(part, part->default_value);
	size_t needed = 1;
	for (size_t i = 0; i < part->sample_count * values; i++)
		needed += part->values[i] != 0;
	point->cells = cairn_array_zero(part->sample_count + 1, sizeof *point->cells);
	point->kinds = cairn_array_zero(part->sample_count + 1, sizeof *point->kinds);
	point->values = cairn_array_new(needed, sizeof *point->values);
	for (size_t i = 0; i < part->sample_count; i++) {
		const double *from = cairn_profile_values(part, i);
		uint16_t kinds = 0;
		for (uint32_t v = 0; v < values; v++)
			if (from[columns[v]] != 0) {
				kinds |= (uint16_t)(1u << v);
				point->values[point->value_count++] = from[columns[v]];
			}
		if (!kinds)
			continue;
		point->cells[point->count] = cairn_series_cell_of(part, i);
		point->cells[point->count].row = archive->combine.places[i];
		point->kinds[point->count] = kinds;
		point->total += point->cells[point->count].value;
		point->objects += partner == CAIRN_NONE ? 0 : from[partner];
		point->count++;
	}
}

/* Adds the values of POINT to SUMS, whose rows have WIDTH values. */
static void add_point(const struct cairn_archive_point *point, size_t width, double *sums)
{
	const double *value = point->values;
	for (size_t i = 0; i < point->count; i++)
		for (unsigned kinds = point->kinds[i]; kinds; kinds &= kinds - 1)
			sums[point->cells[i].row * width + (unsigned)__builtin_ctz(kinds)] += *value++;
}

static size_t rows_in_use(const struct cairn_archive *archive, bool *used)
{
	size_t count = 0;
	for (size_t p = 0; p < archive->count; p++)
		for (size_t i = 0; i < archive->points[p].count; i++) {
			uint32_t row = archive->points[p].cells[i].row;
			count += !used[row];
			used[row] = true;
		}
	for (size_t i = 0; i < archive->lives.aged_count + archive->lives.freed_count; i++) {
		size_t freed = i - archive->lives.aged_count;
		uint64_t row = i < archive->lives.aged_count ? archive->lives.aged[i].sample : archive->lives.freed[freed].stack;
		count += !used[row];
		used[row] = true;
	}
	return count;
}

/* Rebuilds the sum with the rows that points still use: otherwise a process that keeps having new stacks would fill the memory. */
static void renew(struct cairn_archive *archive)
{
	size_t rows = archive->sum.sample_count, kept = 0;
	if (rows < stale_least)
		return;
	bool *used = cairn_array_zero(rows + 1, sizeof *used);
	uint32_t *place = cairn_array_zero(rows + 1, sizeof *place);
	size_t count = rows_in_use(archive, used);
	if (rows >= stale_times * (count + 1)) {
		struct cairn_profile old = archive->sum;
		cairn_combine_finish(&archive->combine);
		for (size_t row = 0; row < rows; row++)
			place[row] = used[row] ? (uint32_t)kept++ : CAIRN_NONE;
		cairn_profile_keep_samples(&old, used);
		start(archive);
		cairn_combine_add(&archive->combine, &old, 1, NULL);
		for (size_t p = 0; p < archive->count; p++)
			for (size_t i = 0; i < archive->points[p].count; i++) {
				struct cairn_series_cell *cell = &archive->points[p].cells[i];
				cell->row = archive->combine.places[place[cell->row]];
			}
		for (size_t i = 0; i < archive->lives.aged_count; i++)
			archive->lives.aged[i].sample = archive->combine.places[place[archive->lives.aged[i].sample]];
		for (size_t i = 0; i < archive->lives.freed_count; i++)
			archive->lives.freed[i].stack = archive->combine.places[place[archive->lives.freed[i].stack]];
		cairn_profile_free(&old);
		archive->epoch++;
	}
	free(used);
	free(place);
}

/* Drops points that are too old or take too much memory, but keeps the oldest of the rest, the newest, and last moments. */
static void thin(struct cairn_archive *archive)
{
	int64_t oldest = archive->keep_ns ? archive->points[archive->count - 1].id - archive->keep_ns / CAIRN_MILLISECOND_NS : INT64_MIN;
	while (archive->count > 1 && archive->points[0].id < oldest)
		drop_point(archive, 0);
	while (archive->bytes > archive->bytes_most && archive->count > thin_least) {
		size_t before = archive->count;
		for (size_t at = archive->count / 2; at >= 1; at = at > 2 ? at - 2 : 0)
			if (!archive->points[at].ended[0])
				drop_point(archive, at);
		if (archive->count == before)
			break;
		archive->epoch++; /* clients know points by their ids */
	}
	renew(archive);
}

void cairn_archive_limit(struct cairn_archive *archive, uint64_t bytes_most)
{
	archive->bytes_most = bytes_most;
	if (archive->count > 0)
		thin(archive);
}

const struct cairn_archive_point *cairn_archive_add(struct cairn_archive *archive, const struct cairn_profile *part,
						    struct cairn_bytes dump, struct cairn_error *error)
{
	uint32_t columns[CAIRN_VALUES_MAX];
	struct cairn_archive_point point = describe(part, dump);
	for (size_t i = 0; i < archive->count; i++)
		if (archive->points[i].id == point.id)
			return NULL;
	if (archive->sum.value_count > 0 && !find_columns(&archive->sum, part, columns)) {
		clear(archive);
		start(archive);
	}
	if (!cairn_combine_add(&archive->combine, part, 1, error) || !find_columns(&archive->sum, part, columns))
		return NULL;
	archive->sum.thread_count = archive->sum.comment_count = 0; /* each dump adds its own; they are not needed */
	if (archive->sum.location_count > archive->named)
		cairn_source_name(&archive->sum, &archive->source);
	archive->named = archive->sum.location_count;
	fill_point(&point, archive, part, columns);
	archive->bytes += point_bytes(&point);
	size_t at = archive->count;
	while (at > 0 && archive->points[at - 1].id > point.id)
		at--;
	if (at < archive->count)
		archive->epoch++; /* clients that ask only for newer points would never see it */
	else
		cairn_series_lives_take(&archive->lives, part, archive->combine.places);
	cairn_array_room(archive->points, archive->count, archive->capacity);
	memmove(archive->points + at + 1, archive->points + at, (archive->count++ - at) * sizeof *archive->points);
	archive->points[at] = point;
	int64_t id = point.id;
	thin(archive);
	return cairn_archive_find(archive, id);
}

const struct cairn_archive_point *cairn_archive_find(const struct cairn_archive *archive, int64_t id)
{
	const struct cairn_archive_point *best = NULL;
	for (size_t i = 0; i < archive->count; i++) {
		const struct cairn_archive_point *point = &archive->points[i];
		if (!best || llabs(point->id - id) <= llabs(best->id - id))
			best = point;
	}
	return best;
}

void cairn_archive_profile(const struct cairn_archive *archive, const struct cairn_archive_point *at,
			   const struct cairn_archive_point *base, struct cairn_profile *profile)
{
	const struct cairn_profile *sum = &archive->sum;
	size_t values = sum->value_count;
	*profile = *sum;
	profile->values = cairn_array_zero(sum->sample_count * values + 1, sizeof(double));
	profile->sampled = NULL;
	profile->facts.time_ns = at->origin.time_ns;
	profile->facts.process_id = at->origin.process_id;
	profile->facts.start_ns = at->origin.start_ns;
	profile->facts.resident_bytes = at->resident;
	profile->facts.limit_bytes = at->limit;
	profile->facts.allocated_bytes = at->own.allocated;
	profile->facts.before_bytes = at->own.before;
	profile->facts.since_ns = at->origin.since_ns;
	profile->period = at->period;
	add_point(at, values, profile->values);
	if (!base)
		return;
	profile->base_count = sum->sample_count * values;
	profile->base = cairn_array_zero(profile->base_count + 1, sizeof(double));
	profile->base_within = cairn_origin_continues(at->origin, base->origin);
	add_point(base, values, profile->base);
	for (size_t i = 0; i < profile->base_count; i++)
		profile->values[i] -= profile->base[i];
}

void cairn_archive_profile_free(struct cairn_profile *profile)
{
	free(profile->values);
	free(profile->base);
	*profile = (struct cairn_profile){0};
}

/* Sorts cells by row, then by point. */
static void sort_cells(struct cairn_series *series, const struct cairn_archive_point *const *points)
{
	size_t rows = series->profile.sample_count;
	series->first = cairn_array_zero(rows + 2, sizeof *series->first);
	for (size_t p = 0; p < series->point_count; p++)
		for (size_t i = 0; i < points[p]->count; i++)
			series->first[points[p]->cells[i].row + 2]++;
	for (size_t row = 0; row < rows; row++)
		series->first[row + 2] += series->first[row + 1];
	series->cells = cairn_array_zero(series->first[rows + 1] + 1, sizeof *series->cells);
	for (size_t p = 0; p < series->point_count; p++)
		for (size_t i = 0; i < points[p]->count; i++) {
			struct cairn_series_cell *cell = &series->cells[series->first[points[p]->cells[i].row + 1]++];
			*cell = points[p]->cells[i];
			cell->point = (uint32_t)p;
		}
	series->cell_count = series->first[rows + 1];
}

void cairn_archive_series(const struct cairn_archive *archive, size_t most, struct cairn_series *series)
{
	*series = (struct cairn_series){.profile = archive->sum, .knows_errors = true, .lives = archive->lives};
	size_t count = archive->count < most ? archive->count : most;
	const struct cairn_archive_point **points = cairn_array_zero(count + 1, sizeof *points);
	series->points = cairn_array_zero(count + 1, sizeof *series->points);
	series->point_count = count;
	series->knows_errors = cairn_profile_knows_errors(&archive->sum, archive->sum.default_value);
	for (size_t i = 0; i < count; i++) {
		/* Always includes the newest. */
		const struct cairn_archive_point *point = points[i] =
			&archive->points[count == 1 ? archive->count - 1 : i * (archive->count - 1) / (count - 1)];
		series->points[i] = (struct cairn_series_point){
			.origin = point->origin,
			.total = point->total,
			.bytes = point->total,
			.live = true, /* an archive takes nothing else */
			.resident = point->resident,
			.own = point->own,
			.free = point->free,
			.returnable = point->returnable,
			.limit = point->limit,
			.limit_of_group = point->limit_of_group,
			.group = point->group,
			.available = point->available,
			.ended = point->ended,
			.path = "",
		};
		cairn_series_point_follow(&series->points[i], i ? &series->points[i - 1] : NULL);
	}
	sort_cells(series, points);
	free(points);
}

void cairn_archive_series_free(struct cairn_series *series)
{
	free(series->points);
	free(series->cells);
	free(series->first);
	*series = (struct cairn_series){0};
}
