/* delta.c - subtracts the counts of two snapshots, stack by stack.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/forward/delta.h"

#include "base/array.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>

enum { items_most = 4 << 20 }; /* 96 MiB */

/* Hashes a location by module and offset, or by name, so that it is the same wherever the module is loaded. */
static uint64_t hash_location(const struct cairn_profile *profile, const struct cairn_location *location)
{
	const struct cairn_module *module = cairn_profile_module(profile, location);
	uint64_t parts[2] = {cairn_profile_file_offset(profile, location), 0};
	if (module && location->address) {
		struct cairn_bytes name = cairn_strings_bytes(&profile->strings, module->build_id ? module->build_id : module->path);
		parts[1] = cairn_hash_bytes(name.data, name.length);
	} else if (location->frame_count > 0) {
		const struct cairn_frame *frame = &profile->frames[location->first_frame];
		struct cairn_bytes name = cairn_strings_bytes(&profile->strings, profile->functions[frame->function].name);
		parts[0] = frame->line;
		parts[1] = cairn_hash_bytes(name.data, name.length);
	}
	return cairn_hash_bytes(parts, sizeof parts);
}

static uint64_t hash_stack(const struct cairn_profile *profile, const struct cairn_sample *sample, const uint64_t *locations)
{
	uint64_t hash = sample->depth;
	for (uint32_t i = 0; i < sample->depth; i++)
		hash = cairn_hash_mix(hash + locations[profile->stacks[sample->stack + i]]);
	return hash;
}

static double count_of(const struct cairn_profile *profile, size_t sample, uint32_t value)
{
	double count = value == CAIRN_NONE ? 0 : cairn_profile_values(profile, sample)[value];
	return isfinite(count) && count > 0 ? count : 0;
}

static int by_stack(const void *a, const void *b)
{
	const struct cairn_counted *one = a, *other = b;
	return (one->stack > other->stack) - (one->stack < other->stack);
}

/* The counts of PROFILE by stack; stores the hash of each sample's stack in HASHES. */
static struct cairn_count_list count_all(const struct cairn_profile *profile, uint64_t instance, uint64_t *hashes)
{
	uint32_t objects = cairn_profile_find_value(profile, "alloc_objects"), bytes = cairn_profile_find_value(profile, "alloc_space");
	struct cairn_count_list counts = {.instance = instance, .time_ns = profile->facts.time_ns};
	uint64_t *locations = cairn_array_new(profile->location_count, sizeof *locations);
	counts.items = cairn_array_new(profile->sample_count, sizeof *counts.items);
	for (size_t i = 0; i < profile->location_count; i++)
		locations[i] = hash_location(profile, &profile->locations[i]);
	for (size_t i = 0; i < profile->sample_count; i++) {
		hashes[i] = hash_stack(profile, &profile->samples[i], locations);
		counts.items[i] = (struct cairn_counted){hashes[i], count_of(profile, i, objects), count_of(profile, i, bytes)};
		counts.bytes += counts.items[i].bytes;
	}
	free(locations);
	if (profile->sample_count > 0)
		qsort(counts.items, profile->sample_count, sizeof *counts.items, by_stack);
	for (size_t i = 0; i < profile->sample_count; i++) {
		struct cairn_counted *last = counts.count ? &counts.items[counts.count - 1] : NULL;
		if (last && last->stack == counts.items[i].stack) {
			last->objects += counts.items[i].objects;
			last->bytes += counts.items[i].bytes;
		} else {
			counts.items[counts.count++] = counts.items[i];
		}
	}
	return counts;
}

static struct cairn_counted *find_stack(const struct cairn_count_list *counts, uint64_t stack)
{
	struct cairn_counted key = {.stack = stack};
	return counts && counts->count ? bsearch(&key, counts->items, counts->count, sizeof key, by_stack) : NULL;
}

static struct cairn_count_list *find_process(const struct cairn_deltas *deltas, uint64_t instance)
{
	for (size_t i = 0; i < deltas->count; i++)
		if (deltas->processes[i].instance == instance)
			return &deltas->processes[i];
	return NULL;
}

static void *copy(struct cairn_arena *arena, const void *data, size_t count, size_t size)
{
	return data ? memcpy(cairn_arena_zero(arena, count + 1, size), data, count * size) : NULL;
}

/* Makes OUT a copy of PROFILE with its own samples, in ARENA. */
static void copy_samples(const struct cairn_profile *profile, struct cairn_arena *arena, struct cairn_profile *out)
{
	*out = *profile;
	out->samples = copy(arena, profile->samples, profile->sample_count, sizeof *profile->samples);
	out->values = copy(arena, profile->values, profile->sample_count * profile->value_count, sizeof *profile->values);
	out->sampled = copy(arena, profile->sampled, profile->sample_count, sizeof *profile->sampled);
	out->base = copy(arena, profile->base, profile->base_count, sizeof *profile->base);
}

static bool has_value(const struct cairn_profile *profile, size_t sample)
{
	const double *values = cairn_profile_values(profile, sample);
	bool any = false;
	for (uint32_t i = 0; i < profile->value_count; i++)
		any = any || values[i] != 0;
	return any;
}

/* The increase of a count; 0 if it decreased: counts are estimates, and may decrease a little. */
static double since(double now, double before)
{
	return now > before ? now - before : 0;
}

bool cairn_deltas_make(struct cairn_deltas *deltas, uint64_t instance, const struct cairn_profile *profile, struct cairn_arena *arena,
		       struct cairn_profile *out, int64_t *since_ns)
{
	uint32_t objects = cairn_profile_find_value(profile, "alloc_objects"), bytes = cairn_profile_find_value(profile, "alloc_space");
	const struct cairn_count_list *last = find_process(deltas, instance);
	if (last && profile->facts.time_ns <= last->time_ns)
		return false;
	uint64_t *hashes = cairn_array_new(profile->sample_count, sizeof *hashes);
	bool *keep = cairn_arena_zero(arena, profile->sample_count + 1, sizeof *keep);
	free(deltas->pending.items);
	deltas->pending = count_all(profile, instance, hashes);
	const struct cairn_count_list *before = last && deltas->pending.bytes >= last->bytes ? last : NULL;
	struct cairn_map seen = {0}; /* stacks: if several samples have the same, the first gets its whole increase */
	copy_samples(profile, arena, out);
	for (size_t i = 0; i < profile->sample_count; i++) {
		double *values = out->values + i * out->value_count;
		const struct cairn_counted *now = find_stack(&deltas->pending, hashes[i]), *then = find_stack(before, hashes[i]);
		uint32_t *at = cairn_map_at(&seen, hashes[i]);
		bool counts = last && *at == CAIRN_NONE;
		*at = 0;
		if (objects != CAIRN_NONE)
			values[objects] = counts ? since(now->objects, then ? then->objects : 0) : 0;
		if (bytes != CAIRN_NONE)
			values[bytes] = counts ? since(now->bytes, then ? then->bytes : 0) : 0;
		keep[i] = has_value(out, i);
	}
	/* A count that decreased is kept at its old value: when it rises again, that part was sent before. */
	for (size_t i = 0; i < deltas->pending.count; i++) {
		struct cairn_counted *now = &deltas->pending.items[i];
		const struct cairn_counted *then = find_stack(before, now->stack);
		now->objects = then && then->objects > now->objects ? then->objects : now->objects;
		now->bytes = then && then->bytes > now->bytes ? then->bytes : now->bytes;
	}
	cairn_profile_keep_samples(out, keep);
	*since_ns = last ? last->time_ns : 0;
	out->facts.duration_ns = last ? profile->facts.time_ns - last->time_ns : 0;
	cairn_map_free(&seen);
	free(hashes);
	return true;
}

static void forget(struct cairn_deltas *deltas, struct cairn_count_list *process)
{
	deltas->items -= process->count;
	free(process->items);
	*process = deltas->processes[--deltas->count];
}

void cairn_deltas_settle(struct cairn_deltas *deltas)
{
	struct cairn_count_list *process = find_process(deltas, deltas->pending.instance);
	if (!deltas->pending.items)
		return;
	if (process)
		forget(deltas, process);
	while (deltas->count > 0 && deltas->items + deltas->pending.count > items_most) {
		struct cairn_count_list *oldest = &deltas->processes[0];
		for (size_t i = 1; i < deltas->count; i++)
			if (deltas->processes[i].used < oldest->used)
				oldest = &deltas->processes[i];
		forget(deltas, oldest);
	}
	cairn_array_room(deltas->processes, deltas->count, deltas->capacity);
	deltas->pending.used = ++deltas->clock;
	deltas->items += deltas->pending.count;
	deltas->processes[deltas->count++] = deltas->pending;
	deltas->pending = (struct cairn_count_list){0};
}

void cairn_deltas_free(struct cairn_deltas *deltas)
{
	for (size_t i = 0; i < deltas->count; i++)
		free(deltas->processes[i].items);
	free(deltas->processes);
	free(deltas->pending.items);
	*deltas = (struct cairn_deltas){0};
}
