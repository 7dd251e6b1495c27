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

bool cairn_snapshot_stands_on(const struct cairn_row_snapshot *snapshot, const struct cairn_row_snapshot *whole)
{
	return whole->time_ns < snapshot->time_ns && snapshot->time_ns - whole->time_ns < CAIRN_STORE_WHOLE_NS &&
	       whole->time_ns / CAIRN_DAY_NS == snapshot->time_ns / CAIRN_DAY_NS && whole->period == snapshot->period &&
	       whole->unsampling == snapshot->unsampling && whole->has_allocated == snapshot->has_allocated;
}

static struct cairn_base *known_of(const struct cairn_written *written, uint64_t instance)
{
	uint32_t at = cairn_map_get(&written->base_of, instance);
	return at == CAIRN_NONE ? NULL : &written->bases[at];
}

static struct cairn_base *base_for(const struct cairn_written *written, const struct cairn_row_snapshot *snapshot)
{
	struct cairn_base *base = known_of(written, snapshot->instance);
	return base && !base->hour_only && cairn_snapshot_stands_on(snapshot, &base->snapshot) ? base : NULL;
}

/* Whether a whole snapshot is the first known one of its hour. */
static bool begins_hour(const struct cairn_written *written, const struct cairn_row_snapshot *snapshot)
{
	const struct cairn_base *base = known_of(written, snapshot->instance);
	return !base || base->hour != cairn_store_hour(snapshot->time_ns);
}

bool cairn_written_knows(const struct cairn_written *written, const struct cairn_row_snapshot *snapshot)
{
	return snapshot->ended.length ? !begins_hour(written, snapshot) : base_for(written, snapshot) != NULL;
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

void cairn_written_add_hour(struct cairn_written *written, const struct cairn_row_snapshot *snapshot)
{
	struct cairn_base *base = know(written, snapshot->instance);
	base->hour = cairn_store_hour(snapshot->time_ns);
	base->used = ++written->clock;
}

void cairn_written_add_base(struct cairn_written *written, const struct cairn_row_snapshot *snapshot, struct cairn_stored_sample *samples,
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
	base->snapshot.ended = (struct cairn_bytes){0};
}

/* A stack in the base and in the snapshot; one of them may be all zeroes. */
struct pair {
	struct cairn_stored_sample then, now;
	bool write;
};

/* The variance of BYTES and of OBJECTS of one line. */
static void variances(const struct cairn_row_snapshot *snapshot, double bytes, double objects, double *of_bytes, double *of_objects)
{
	bool size_classes;
	enum cairn_unsampling method = cairn_sampling_method(snapshot->unsampling, &size_classes);
	bool sampled = method == CAIRN_UNSAMPLE_POISSON || method == CAIRN_UNSAMPLE_RATIO;
	double mean = objects > 0 ? bytes / objects : 0, weight = sampled ? cairn_sample_weight(snapshot->period, mean) : 0;
	*of_objects = objects * weight;
	*of_bytes = bytes * mean * weight;
}

/* Whether one kind of value changed by more than the wider of its two error bars. */
static bool moved(const struct cairn_row_snapshot *snapshot, double bytes_then, double objects_then, double bytes, double objects)
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
static size_t mark_changes(const struct cairn_row_snapshot *snapshot, struct pair *pairs, size_t count)
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

static void add_hourly(struct cairn_rows *lacking, const struct cairn_row_snapshot *snapshot, uint64_t cohort,
		       const struct cairn_stored_sample *samples, size_t count)
{
	struct cairn_row_hour row = {.instance = snapshot->instance, .cohort = cohort, .hour = cairn_store_hour(snapshot->time_ns),
				     .time_ns = snapshot->time_ns};
	for (size_t i = 0; i < count; i++)
		row.total += whole_number(samples[i].bytes);
	for (size_t i = 0; i < count; i++) {
		row.stack = samples[i].stack;
		row.bytes = whole_number(samples[i].bytes);
		row.size = samples[i].objects > 0 ? samples[i].bytes / samples[i].objects : 0;
		if (row.bytes > 0)
			cairn_rows_add(lacking, CAIRN_TABLE_HOURLY, &row);
	}
}

static void add_sample(struct cairn_rows *lacking, const struct cairn_row_snapshot *snapshot, const struct cairn_stored_sample *sample)
{
	cairn_rows_add(lacking, CAIRN_TABLE_SAMPLES, &(struct cairn_row_sample){snapshot->instance, snapshot->time_ns, *sample});
}

/* Adds SNAPSHOT as changes to BASE. Returns false if most of it changed: then it is better written whole. */
static bool add_changes(const struct cairn_base *base, const struct cairn_row_snapshot *snapshot,
			const struct cairn_stored_sample *samples, size_t count, struct cairn_rows *lacking)
{
	struct pair *pairs = cairn_array_new(base->count + count, sizeof *pairs);
	size_t pair_count = pair_up(base, samples, count, pairs);
	bool fewer = mark_changes(snapshot, pairs, pair_count) * 3 <= count * 2;
	for (size_t i = 0; fewer && i < pair_count; i++)
		if (pairs[i].write)
			add_sample(lacking, snapshot, &pairs[i].now);
	free(pairs);
	return fewer;
}

static void select_snapshot(struct cairn_written *written, struct cairn_row_snapshot snapshot, struct cairn_stored_sample *samples,
			    const struct cairn_snapshot_part *part, struct cairn_rows *lacking)
{
	size_t count = part->samples;
	struct cairn_base *base = snapshot.ended.length ? NULL : base_for(written, &snapshot);
	sort_samples(samples, count);
	if (base && add_changes(base, &snapshot, samples, count, lacking)) {
		base->used = ++written->clock;
		snapshot.base_ns = base->snapshot.time_ns;
		free(samples);
	} else {
		for (size_t i = 0; i < count; i++)
			add_sample(lacking, &snapshot, &samples[i]);
		if (begins_hour(written, &snapshot))
			add_hourly(lacking, &snapshot, part->cohort, samples, count);
		cairn_written_add_base(written, &snapshot, samples, count);
	}
	cairn_rows_add(lacking, CAIRN_TABLE_SNAPSHOTS, &snapshot);
}

/* Adds the rows of TABLE that were not written before. */
static void select_new(struct cairn_written *written, unsigned table, const struct cairn_rows *rows, struct cairn_rows *lacking)
{
	for (size_t i = 0; i < rows->tables[table].count; i++) {
		const void *row = cairn_rows_at(rows, table, i);
		uint32_t *at = cairn_map_at(&written->rows, cairn_row_hash(cairn_tables[table].columns, row) + table);
		if (*at == CAIRN_NONE)
			cairn_rows_add(lacking, table, row);
		*at = 0;
	}
}

void cairn_written_select(struct cairn_written *written, const struct cairn_rows *rows, const struct cairn_snapshot_part *parts,
			  struct cairn_rows *lacking)
{
	if (written->rows.count > rows_most) {
		cairn_map_free(&written->rows);
		written->rows = (struct cairn_map){0};
	}
	select_new(written, CAIRN_TABLE_FRAMES, rows, lacking);
	select_new(written, CAIRN_TABLE_STACKS, rows, lacking);
	select_new(written, CAIRN_TABLE_PROCESSES, rows, lacking);
	const struct cairn_row_snapshot *snapshots = rows->tables[CAIRN_TABLE_SNAPSHOTS].items;
	const struct cairn_row_sample *samples = rows->tables[CAIRN_TABLE_SAMPLES].items;
	for (size_t i = 0; i < rows->tables[CAIRN_TABLE_SNAPSHOTS].count; i++) {
		struct cairn_stored_sample *own = cairn_array_new(parts[i].samples, sizeof *own);
		for (size_t k = 0; k < parts[i].samples; k++)
			own[k] = samples++->sample;
		select_snapshot(written, snapshots[i], own, &parts[i], lacking);
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
