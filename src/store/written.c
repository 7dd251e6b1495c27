/* written.c - selects the rows that a store lacks, by what was written to it before.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/written.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/time.h"
#include "profile/unsample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t bases_most_bytes = (size_t)256 << 20, rows_most = 2000000;
static const double bar = 1.96; /* standard errors: 95 % */

void cairn_written_free(struct cairn_written *written)
{
	for (size_t i = 0; i < written->base_count; i++)
		free(written->bases[i].samples);
	free(written->bases);
	cairn_map_free(&written->base_of);
	cairn_map_free(&written->rows);
	*written = (struct cairn_written){0};
}

static struct cairn_bytes rest_of(const struct cairn_cursor *rows)
{
	return (struct cairn_bytes){(const char *)rows->at, cairn_cursor_left(rows)};
}

struct cairn_snapshot_row cairn_snapshot_row_take(struct cairn_cursor *rows)
{
	struct cairn_snapshot_row row = {.start = rest_of(rows)};
	size_t before = cairn_cursor_left(rows);
	row.instance = cairn_row_take_number(rows);
	row.time_ns = (int64_t)cairn_row_take_number(rows);
	for (unsigned i = 0; i < 3; i++)
		cairn_row_take_real(rows); /* bytes, resident, memory_limit */
	cairn_row_take_number(rows);
	row.period = cairn_row_take_real(rows);
	row.sampling = cairn_row_take_number(rows);
	row.has_allocated = cairn_row_take_number(rows);
	row.ended = cairn_row_take_text(rows).length > 0;
	row.start.length = before - cairn_cursor_left(rows);
	cairn_row_take_number(rows); /* base_ns */
	return row;
}

bool cairn_snapshot_stands_on(const struct cairn_snapshot_row *snapshot, const struct cairn_snapshot_row *whole)
{
	return whole->time_ns < snapshot->time_ns && snapshot->time_ns - whole->time_ns < CAIRN_STORE_WHOLE_NS &&
	       whole->time_ns / CAIRN_DAY_NS == snapshot->time_ns / CAIRN_DAY_NS && whole->period == snapshot->period &&
	       whole->sampling == snapshot->sampling && whole->has_allocated == snapshot->has_allocated;
}

static struct cairn_base *known_of(const struct cairn_written *written, uint64_t instance)
{
	uint32_t at = cairn_map_get(&written->base_of, instance);
	return at == CAIRN_NONE ? NULL : &written->bases[at];
}

static struct cairn_base *base_for(const struct cairn_written *written, const struct cairn_snapshot_row *snapshot)
{
	struct cairn_base *base = known_of(written, snapshot->instance);
	return base && !base->hour_only && cairn_snapshot_stands_on(snapshot, &base->snapshot) ? base : NULL;
}

/* Whether a whole snapshot is the first known one of its hour. */
static bool begins_hour(const struct cairn_written *written, const struct cairn_snapshot_row *snapshot)
{
	const struct cairn_base *base = known_of(written, snapshot->instance);
	return !base || base->hour != cairn_store_hour(snapshot->time_ns);
}

bool cairn_written_knows(const struct cairn_written *written, const struct cairn_snapshot_row *snapshot)
{
	return snapshot->ended ? !begins_hour(written, snapshot) : base_for(written, snapshot) != NULL;
}

static int compare_use(const void *a, const void *b)
{
	const struct cairn_base *one = a, *other = b;
	return (one->used < other->used) - (one->used > other->used);
}

/* Forgets the least recently used half of the bases. */
static void forget_bases(struct cairn_written *written)
{
	qsort(written->bases, written->base_count, sizeof *written->bases, compare_use);
	for (size_t i = written->base_count / 2; i < written->base_count; i++) {
		written->base_bytes -= written->bases[i].count * sizeof *written->bases[i].samples;
		free(written->bases[i].samples);
	}
	written->base_count /= 2;
	cairn_map_free(&written->base_of);
	written->base_of = (struct cairn_map){0};
	for (size_t i = 0; i < written->base_count; i++)
		*cairn_map_at(&written->base_of, written->bases[i].snapshot.instance) = (uint32_t)i;
}

static int compare_stacks(const void *a, const void *b)
{
	const struct cairn_stored_sample *one = a, *other = b;
	return (one->stack > other->stack) - (one->stack < other->stack);
}

static void sort_samples(struct cairn_stored_sample *samples, size_t count)
{
	if (count > 1)
		qsort(samples, count, sizeof *samples, compare_stacks);
}

/* The base of INSTANCE, added if it is missing. */
static struct cairn_base *know(struct cairn_written *written, uint64_t instance)
{
	uint32_t *at = cairn_map_at(&written->base_of, instance);
	if (*at == CAIRN_NONE) {
		*at = (uint32_t)written->base_count;
		cairn_array_room(written->bases, written->base_count, written->base_capacity);
		written->bases[written->base_count++] = (struct cairn_base){.snapshot.instance = instance, .hour_only = true};
	}
	return &written->bases[*at];
}

void cairn_written_add_hour(struct cairn_written *written, const struct cairn_snapshot_row *snapshot)
{
	struct cairn_base *base = know(written, snapshot->instance);
	base->hour = cairn_store_hour(snapshot->time_ns);
	base->used = ++written->clock;
}

void cairn_written_add_base(struct cairn_written *written, const struct cairn_snapshot_row *snapshot, struct cairn_stored_sample *samples,
			    size_t count)
{
	if (written->base_count > 1 && written->base_bytes + count * sizeof *samples > bases_most_bytes)
		forget_bases(written);
	struct cairn_base *base = know(written, snapshot->instance);
	/* Hourly has this hour: either this snapshot or an earlier one was the first of it. */
	int64_t hour = cairn_store_hour(snapshot->time_ns);
	sort_samples(samples, count);
	written->base_bytes += (count - base->count) * sizeof *samples; /* may wrap on the way */
	free(base->samples);
	*base = (struct cairn_base){
		.snapshot = *snapshot, .samples = samples, .count = count, .hour = hour, .used = ++written->clock};
	base->snapshot.start = (struct cairn_bytes){0}; /* it belongs to the caller */
}

/* A stack in the base and in the snapshot; one of them may be all zeroes. */
struct pair {
	struct cairn_stored_sample then, now;
	bool write;
};

/* The variance of BYTES and of OBJECTS of one line. */
static void variances(const struct cairn_snapshot_row *snapshot, double bytes, double objects, double *of_bytes, double *of_objects)
{
	bool size_classes;
	enum cairn_unsampling method = cairn_sampling_method(snapshot->sampling, &size_classes);
	bool sampled = method == CAIRN_UNSAMPLE_POISSON || method == CAIRN_UNSAMPLE_RATIO;
	double mean = objects > 0 ? bytes / objects : 0, weight = sampled ? cairn_sample_weight(snapshot->period, mean) : 0;
	*of_objects = objects * weight;
	*of_bytes = bytes * mean * weight;
}

/* Whether one kind of value changed by more than the wider of its two error bars. */
static bool moved(const struct cairn_snapshot_row *snapshot, double bytes_then, double objects_then, double bytes, double objects)
{
	double bytes_before, objects_before, bytes_after, objects_after;
	variances(snapshot, bytes_then, objects_then, &bytes_before, &objects_before);
	variances(snapshot, bytes, objects, &bytes_after, &objects_after);
	return fabs(bytes - bytes_then) > bar * sqrt(fmax(bytes_before, bytes_after)) ||
	       fabs(objects - objects_then) > bar * sqrt(fmax(objects_before, objects_after));
}

static double bytes_change(const struct pair *pair)
{
	return pair->now.bytes - pair->then.bytes;
}

static double allocated_change(const struct pair *pair)
{
	return pair->now.allocated_bytes - pair->then.allocated_bytes;
}

static int compare_bytes(const void *a, const void *b)
{
	const struct pair *const *one = a, *const *other = b;
	double x = fabs(bytes_change(*one)), y = fabs(bytes_change(*other));
	return (x < y) - (x > y);
}

static int compare_allocated(const void *a, const void *b)
{
	const struct pair *const *one = a, *const *other = b;
	double x = fabs(allocated_change(*one)), y = fabs(allocated_change(*other));
	return (x < y) - (x > y);
}

/* Marks the largest of the remaining changes until the total of those left out is below MOST. */
static void write_rest(struct pair *pairs, size_t count, double most, double (*change)(const struct pair *pair),
		       int (*compare)(const void *a, const void *b))
{
	struct pair **left = cairn_array_new(count, sizeof *left);
	size_t left_count = 0;
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		if (!pairs[i].write && change(&pairs[i]) != 0) {
			left[left_count++] = &pairs[i];
			sum += change(&pairs[i]);
		}
	if (fabs(sum) > most && left_count > 1)
		qsort(left, left_count, sizeof *left, compare);
	for (size_t i = 0; i < left_count && fabs(sum) > most; i++) {
		double part = change(left[i]);
		if ((part > 0) != (sum > 0))
			continue;
		left[i]->write = true;
		sum -= part;
	}
	free(left);
}

/* Marks the pairs that changed since the base. Returns their number. */
static size_t mark_changes(const struct cairn_snapshot_row *snapshot, struct pair *pairs, size_t count)
{
	double bytes_variance = 0, allocated_variance = 0, of_bytes, of_objects;
	for (size_t i = 0; i < count; i++) {
		const struct cairn_stored_sample *then = &pairs[i].then, *now = &pairs[i].now;
		pairs[i].write =
			moved(snapshot, then->bytes, then->objects, now->bytes, now->objects) ||
			moved(snapshot, then->allocated_bytes, then->allocated_objects, now->allocated_bytes, now->allocated_objects);
		variances(snapshot, now->bytes, now->objects, &of_bytes, &of_objects);
		bytes_variance += of_bytes;
		variances(snapshot, now->allocated_bytes, now->allocated_objects, &of_bytes, &of_objects);
		allocated_variance += of_bytes;
	}
	write_rest(pairs, count, sqrt(bytes_variance) / 2, bytes_change, compare_bytes);
	write_rest(pairs, count, sqrt(allocated_variance) / 2, allocated_change, compare_allocated);
	size_t marked = 0;
	for (size_t i = 0; i < count; i++)
		marked += pairs[i].write;
	return marked;
}

/* Pairs the samples of BASE and the COUNT samples of NOW, both sorted by stack. */
static size_t pair_up(const struct cairn_base *base, const struct cairn_stored_sample *now, size_t count, struct pair *pairs)
{
	size_t a = 0, b = 0, made = 0;
	while (a < base->count || b < count) {
		bool take_then = b == count || (a < base->count && base->samples[a].stack <= now[b].stack);
		bool take_now = a == base->count || (b < count && now[b].stack <= base->samples[a].stack);
		uint64_t stack = take_then ? base->samples[a].stack : now[b].stack;
		pairs[made] = (struct pair){.then = {.stack = stack}, .now = {.stack = stack}};
		if (take_then)
			pairs[made].then = base->samples[a++];
		if (take_now)
			pairs[made].now = now[b++];
		made++;
	}
	return made;
}

static uint64_t whole_number(double value)
{
	static const double most = (double)((uint64_t)1 << 48); /* so that sums over tens of thousands fit */
	return value > 0 ? (uint64_t)llround(fmin(value, most)) : 0;
}

static void write_hourly(struct cairn_buffer *out, const struct cairn_snapshot_row *snapshot, uint64_t cohort,
			 const struct cairn_stored_sample *samples, size_t count)
{
	uint64_t total = 0;
	for (size_t i = 0; i < count; i++)
		total += whole_number(samples[i].bytes);
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = whole_number(samples[i].bytes);
		if (bytes == 0)
			continue;
		cairn_row_number(out, snapshot->instance);
		cairn_row_number(out, cohort);
		cairn_row_number(out, (uint64_t)cairn_store_hour(snapshot->time_ns));
		cairn_row_number(out, samples[i].stack);
		cairn_row_number(out, (uint64_t)snapshot->time_ns);
		cairn_row_number(out, bytes);
		cairn_row_number(out, total);
		cairn_row_real(out, samples[i].objects > 0 ? samples[i].bytes / samples[i].objects : 0);
	}
}

/* Writes SNAPSHOT as changes to BASE. Returns false if most of it changed: then it is better written whole. */
static bool write_changes(const struct cairn_base *base, const struct cairn_snapshot_row *snapshot,
			  const struct cairn_stored_sample *samples, size_t count, struct cairn_buffer *out)
{
	struct pair *pairs = cairn_array_new(base->count + count, sizeof *pairs);
	size_t pair_count = pair_up(base, samples, count, pairs);
	bool fewer = mark_changes(snapshot, pairs, pair_count) * 3 <= count * 2;
	for (size_t i = 0; fewer && i < pair_count; i++)
		if (pairs[i].write)
			cairn_stored_sample_write(out, snapshot->instance, snapshot->time_ns, &pairs[i].now);
	free(pairs);
	return fewer;
}

static void select_snapshot(struct cairn_written *written, const struct cairn_snapshot_row *snapshot, struct cairn_stored_sample *samples,
			    const struct cairn_snapshot_part *part, struct cairn_buffer lacking[CAIRN_TABLES])
{
	size_t count = part->samples;
	struct cairn_base *base = snapshot->ended ? NULL : base_for(written, snapshot);
	int64_t base_ns = 0;
	sort_samples(samples, count);
	if (base && write_changes(base, snapshot, samples, count, &lacking[CAIRN_TABLE_SAMPLES])) {
		base->used = ++written->clock;
		base_ns = base->snapshot.time_ns;
		free(samples);
	} else {
		for (size_t i = 0; i < count; i++)
			cairn_stored_sample_write(&lacking[CAIRN_TABLE_SAMPLES], snapshot->instance, snapshot->time_ns, &samples[i]);
		if (begins_hour(written, snapshot))
			write_hourly(&lacking[CAIRN_TABLE_HOURLY], snapshot, part->cohort, samples, count);
		cairn_written_add_base(written, snapshot, samples, count);
	}
	cairn_buffer_append(&lacking[CAIRN_TABLE_SNAPSHOTS], snapshot->start.data, snapshot->start.length);
	cairn_row_number(&lacking[CAIRN_TABLE_SNAPSHOTS], (uint64_t)base_ns);
}

/* Appends the rows of TABLE that were not written before. */
static void select_new(struct cairn_written *written, const struct cairn_table *table, struct cairn_bytes rows,
		       struct cairn_buffer *lacking)
{
	struct cairn_cursor cursor = cairn_cursor(rows);
	while (cairn_cursor_left(&cursor)) {
		struct cairn_bytes row = rest_of(&cursor);
		cairn_row_skip(&cursor, table);
		row.length -= cairn_cursor_left(&cursor);
		uint32_t *at = cairn_map_at(&written->rows, cairn_hash_bytes(row.data, row.length) + (uintptr_t)table);
		if (*at == CAIRN_NONE)
			cairn_buffer_append(lacking, row.data, row.length);
		*at = 0;
	}
}

void cairn_written_select(struct cairn_written *written, const struct cairn_buffer rows[CAIRN_TABLES],
			  const struct cairn_snapshot_part *parts, struct cairn_buffer lacking[CAIRN_TABLES])
{
	static const unsigned once[] = {CAIRN_TABLE_FRAMES, CAIRN_TABLE_STACKS, CAIRN_TABLE_PROCESSES};
	if (written->rows.count > rows_most) {
		cairn_map_free(&written->rows);
		written->rows = (struct cairn_map){0};
	}
	for (size_t i = 0; i < sizeof once / sizeof *once; i++)
		select_new(written, &cairn_tables[once[i]], cairn_buffer_bytes(&rows[once[i]]), &lacking[once[i]]);
	struct cairn_cursor snapshots = cairn_cursor(cairn_buffer_bytes(&rows[CAIRN_TABLE_SNAPSHOTS]));
	struct cairn_cursor samples = cairn_cursor(cairn_buffer_bytes(&rows[CAIRN_TABLE_SAMPLES]));
	for (size_t i = 0; cairn_cursor_left(&snapshots); i++) {
		struct cairn_snapshot_row snapshot = cairn_snapshot_row_take(&snapshots);
		struct cairn_stored_sample *own = cairn_array_new(parts[i].samples, sizeof *own);
		for (size_t k = 0; k < parts[i].samples; k++) {
			cairn_row_take_number(&samples);
			cairn_row_take_number(&samples);
			own[k] = cairn_stored_sample_take(&samples);
		}
		select_snapshot(written, &snapshot, own, &parts[i], lacking);
	}
}

static bool is_zero(const struct cairn_stored_sample *sample)
{
	return sample->bytes == 0 && sample->objects == 0 && sample->allocated_bytes == 0 && sample->allocated_objects == 0;
}

size_t cairn_samples_join(const struct cairn_stored_sample *base, size_t base_count, const struct cairn_stored_sample *own,
			  size_t own_count, struct cairn_stored_sample *out)
{
	size_t a = 0, b = 0, count = 0;
	while (a < base_count || b < own_count) {
		bool from_own = a == base_count || (b < own_count && own[b].stack <= base[a].stack);
		if (from_own && a < base_count && base[a].stack == own[b].stack)
			a++;
		const struct cairn_stored_sample *sample = from_own ? &own[b++] : &base[a++];
		if (!is_zero(sample))
			out[count++] = *sample;
	}
	return count;
}
