/* sections.c - applies the sections of a dump of Cairn's own engine to the profile of its stack lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/sections.h"

#include "base/array.h"
#include "base/text.h"
#include "profile/bound.h"
#include "profile/live.h"
#include "profile/unsample.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { labels_most = 5 }; /* of one sample: age, size, name and number of the thread, heap */

/* The bytes of a sample's live objects in each view that counts by object. */
struct spare {
	double bytes[CAIRN_SHOWN_COUNT];
};

struct sections {
	struct cairn_reader *reader;
	struct cairn_profile *profile;
	struct cairn_pieces *pieces;
	struct spare *spares; /* by sample */
	size_t spare_count, spare_capacity;
};

struct cairn_pieces cairn_pieces(size_t dump_length)
{
	/* In a dump of jemalloc, a stack has at most 128 frames by default, and the line of a thread or an object at least 16 characters. */
	enum { frames_for_a_byte = 128 / 16, frames_least = 1 << 20 };
	return (struct cairn_pieces){.shared_left = frames_least + frames_for_a_byte * dump_length};
}

void cairn_pieces_free(struct cairn_pieces *pieces)
{
	free(pieces->items);
	*pieces = (struct cairn_pieces){0};
}

void cairn_pieces_add(struct cairn_pieces *pieces, const struct cairn_piece *piece)
{
	cairn_array_room(pieces->items, pieces->count, pieces->capacity);
	pieces->items[pieces->count++] = *piece;
}

const struct cairn_piece *cairn_pieces_last(const struct cairn_pieces *pieces)
{
	assert(pieces->count > 0);
	return &pieces->items[pieces->count - 1];
}

bool cairn_pieces_may_share(struct cairn_pieces *pieces, size_t count, size_t depth)
{
	if (depth && count > pieces->shared_left / depth) {
		pieces->crowded = true;
		return false;
	}
	pieces->shared_left -= count * depth;
	return true;
}

/* Reads the names of the host's own heaps: NAMES maps the number of each to its string. */
static void read_heap_names(struct cairn_profile *profile, const struct cairn_trailer *trailer, struct cairn_map *names)
{
	struct cairn_bytes value;
	uint64_t heap;
	for (size_t position = 0; trailer && cairn_trailer_next(trailer, &position, "heap", &value);)
		if (cairn_text_decimal(&value, &heap) && cairn_text_take(&value, " ") && value.length)
			*cairn_map_at(names, heap) = cairn_strings_add(&profile->strings, cairn_bound_label(value));
}

/* A sample from one of the host's own heaps is labelled with the heap's name, or with its number if NAMES does not have it. */
static void label_heap(struct cairn_profile *profile, size_t sample, uint64_t heap, const struct cairn_map *names)
{
	struct cairn_label_set set = profile->label_sets[profile->samples[sample].labels];
	struct cairn_label labels[labels_most];
	char number[24];
	uint32_t key = cairn_profile_text(profile, "heap");
	if (set.count >= sizeof labels / sizeof *labels || (set.count && profile->labels[set.first + set.count - 1].key == key))
		return;
	snprintf(number, sizeof number, "%llu", (unsigned long long)heap);
	uint32_t name = cairn_map_get(names, heap);
	if (name == CAIRN_NONE)
		name = cairn_profile_text(profile, number);
	if (set.count)
		memcpy(labels, profile->labels + set.first, set.count * sizeof *labels);
	labels[set.count] = (struct cairn_label){.key = key, .text = name};
	profile->samples[sample].labels = cairn_profile_add_labels(profile, labels, set.count + 1);
}

/* Adds a sample with the stack of WHOLE and these labels, with all values 0. */
static size_t add_sample_like(struct cairn_profile *profile, size_t whole, const struct cairn_label *labels, size_t count)
{
	uint32_t label_set = cairn_profile_add_labels(profile, labels, count);
	size_t sample = cairn_profile_add_sample_like(profile, whole, label_set, (const double[CAIRN_VALUES_MAX]){0});
	cairn_profile_set_sampled(profile, sample, 0);
	return sample;
}

/* Ages and sizes are split into classes. Size classes are those of the page: up to a power of two. */
static int64_t size_class(uint64_t size)
{
	enum { last = 62 };
	unsigned bits = size <= 1 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)size - 1);
	return (int64_t)1 << (bits < last ? bits : last);
}

/* The sample for the age and size class of LIVE within piece AT. Each class has its own sample with the same stack, made on first use;
 * PARTS holds their indices. */
static size_t sample_of_class(struct sections *in, struct cairn_map *parts, size_t at, const struct cairn_live *live)
{
	const struct cairn_read_options *options = &in->reader->options;
	struct cairn_profile *profile = in->profile;
	unsigned age = options->split_ages ? cairn_age_class(live->age_us) : 0;
	int64_t size = options->split_sizes ? size_class(live->size) : 1;
	uint32_t *known = cairn_map_at(parts, ((uint64_t)at * CAIRN_AGES + age) * 64 + (unsigned)__builtin_ctzll((unsigned long long)size));
	if (*known != CAIRN_NONE)
		return *known;
	if (!cairn_pieces_may_share(in->pieces, 1, profile->samples[in->pieces->items[at].sample].depth))
		return *known = (uint32_t)in->pieces->items[at].sample;
	struct cairn_label_set set = profile->label_sets[profile->samples[in->pieces->items[at].sample].labels];
	struct cairn_label labels[labels_most];
	size_t count = 0;
	if (options->split_ages)
		labels[count++] = (struct cairn_label){.key = cairn_profile_text(profile, "age"),
						       .text = cairn_profile_text(profile, cairn_age_name(age))};
	if (options->split_sizes) {
		uint32_t bytes = cairn_profile_text(profile, "bytes");
		labels[count++] = (struct cairn_label){.key = bytes, .unit = bytes, .is_number = true, .number = size};
	}
	for (size_t i = 0; i < set.count && count < labels_most; i++)
		labels[count++] = profile->labels[set.first + i];
	return *known = (uint32_t)add_sample_like(profile, in->pieces->items[at].sample, labels, count);
}

/* An object's share of the free space in its slab, which is divided among the objects that keep the slab from being released. */
static double fragmentation_of(const struct cairn_live *live)
{
	if (live->slab_regions == 0)
		return 0;
	double free = (double)live->slab_bytes / (double)live->slab_regions * (double)live->slab_free;
	return free / (double)(live->slab_regions - live->slab_free);
}

/* What one live object counts for in a view that counts by object. */
static double share_of(const struct cairn_live *live, enum cairn_shown shown)
{
	return shown == CAIRN_SHOWN_FRAGMENTATION ? fragmentation_of(live) : (double)live->slack;
}

static void add_aged(struct cairn_profile *profile, struct cairn_aged aged)
{
	cairn_array_room(profile->aged, profile->aged_count, profile->aged_capacity);
	profile->aged[profile->aged_count++] = aged;
}

/* Adds one sample of Cairn's sampler to the numbers of its stack. */
static void add_live(struct sections *in, size_t sample, const struct cairn_live *live)
{
	struct cairn_profile *profile = in->profile;
	double objects = 1, bytes = (double)live->size;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, (double)live->period, &objects, &bytes);
	profile->facts.slack_bytes += objects * (double)live->slack;
	profile->facts.age_bytes[cairn_age_class(live->age_us)] += bytes;
	if (live->slab_regions > 0)
		profile->facts.shows |= 1u << CAIRN_SHOWN_FRAGMENTATION;
	if (cairn_shown_views[profile->shown].by_object)
		bytes = objects * share_of(live, profile->shown);
	double *values = profile->values + sample * profile->value_count;
	values[CAIRN_HEAP_INUSE_OBJECTS] += objects;
	values[CAIRN_HEAP_INUSE_SPACE] += bytes;
	profile->sampled[sample]++;
	cairn_spread_add(cairn_profile_counted(profile, sample), cairn_spread_of(objects, objects - 1));
	const struct cairn_read_options *options = &in->reader->options;
	if (options->with_freed && options->shown != CAIRN_SHOWN_MAPPED)
		add_aged(profile, (struct cairn_aged){(uint32_t)sample, live->age_us, objects, bytes});
	if (!options->all_values && !options->every_kind)
		return;
	in->spares = cairn_array_reserve(in->spares, &in->spare_capacity, profile->sample_count, sizeof *in->spares);
	while (in->spare_count < profile->sample_count)
		in->spares[in->spare_count++] = (struct spare){0};
	for (unsigned i = 0; i < CAIRN_SHOWN_COUNT; i++)
		if (cairn_shown_views[i].by_object)
			in->spares[sample].bytes[i] += objects * share_of(live, i);
}

/* A dump from Cairn's sampler lists its samples after the stacks; each is un-sampled by its own size and period. Stacks and samples are in
 * the same order, by stack and thread. */
static void read_live(struct sections *in, struct cairn_bytes section, const struct cairn_trailer *trailer)
{
	struct cairn_profile *profile = in->profile;
	struct cairn_live live;
	const struct cairn_read_options *options = &in->reader->options;
	bool by_object = cairn_shown_views[options->shown].by_object, limited = options->older_us || options->younger_us || by_object;
	bool by_class = options->split_ages || options->split_sizes;
	struct cairn_map parts = {0}, heaps = {0};
	read_heap_names(profile, trailer, &heaps);
	profile->facts.has_ages = true;
	profile->facts.shows |= 1u << CAIRN_SHOWN_SLACK;
	if (by_object)
		profile->shown = options->shown;
	for (size_t i = 0; i < in->pieces->count; i++) {
		double *values = profile->values + in->pieces->items[i].sample * profile->value_count;
		values[CAIRN_HEAP_INUSE_OBJECTS] = values[CAIRN_HEAP_INUSE_SPACE] = profile->sampled[in->pieces->items[i].sample] = 0;
		if (limited)
			values[CAIRN_HEAP_ALLOC_OBJECTS] = values[CAIRN_HEAP_ALLOC_SPACE] = 0;
	}
	profile->period = 0;
	size_t strays = 0;
	bool split = in->reader->options.split_threads;
	for (size_t at = 0; cairn_live_next(&section, &live);) {
		while (at < in->pieces->count &&
		       (in->pieces->items[at].stack < live.stack ||
			(split && in->pieces->items[at].stack == live.stack && in->pieces->items[at].thread < live.thread)))
			at++;
		bool of_stack = at < in->pieces->count && in->pieces->items[at].stack == live.stack;
		bool listed = of_stack && (!split || in->pieces->items[at].thread == live.thread);
		bool wanted = live.age_us >= options->older_us && (!options->younger_us || live.age_us <= options->younger_us);
		size_t sample = of_stack ? in->pieces->items[at].sample : 0;
		if (by_class && listed && wanted)
			sample = sample_of_class(in, &parts, at, &live);
		strays += !listed;
		if (listed && wanted)
			add_live(in, sample, &live);
		if (live.heap && of_stack)
			label_heap(profile, sample, live.heap, &heaps);
		profile->mixed_periods |= profile->period > 0 && profile->period != (double)live.period;
		profile->period = fmax(profile->period, (double)live.period);
	}
	cairn_map_free(&parts);
	cairn_map_free(&heaps);
	if (strays)
		cairn_profile_warn(profile, "%s: %zu samples of its list belong to no stack of it and were left out", in->reader->name,
				   strays);
}

static void clear_pieces(struct sections *in)
{
	struct cairn_profile *profile = in->profile;
	for (size_t i = 0; i < in->pieces->count; i++) {
		memset(profile->values + in->pieces->items[i].sample * profile->value_count, 0,
		       profile->value_count * sizeof *profile->values);
		profile->sampled[in->pieces->items[i].sample] = 0;
	}
	free(profile->counted);
	profile->counted = NULL;
	profile->counted_capacity = 0;
}

/* Replaces the current live counts with those at the peak. */
static void read_peak(struct sections *in, struct cairn_bytes section, bool wanted)
{
	struct cairn_profile *profile = in->profile;
	struct cairn_peak peak;
	struct cairn_bytes rest = section;
	bool there = cairn_peak_next(&rest, &peak);
	profile->facts.shows |= there ? 1u << CAIRN_SHOWN_PEAK : 0;
	for (rest = section; !wanted && cairn_peak_next(&rest, &peak);)
		profile->facts.peak_bytes += (double)peak.bytes;
	if (!wanted || !there)
		return;
	clear_pieces(in);
	for (size_t at = 0; cairn_peak_next(&section, &peak);) {
		while (at < in->pieces->count && in->pieces->items[at].stack < peak.stack)
			at++;
		if (at == in->pieces->count || in->pieces->items[at].stack != peak.stack)
			continue;
		double *values = profile->values + in->pieces->items[at].sample * profile->value_count;
		values[CAIRN_HEAP_INUSE_OBJECTS] += (double)peak.objects;
		values[CAIRN_HEAP_INUSE_SPACE] += (double)peak.bytes;
		profile->sampled[in->pieces->items[at].sample] += (double)peak.samples;
	}
	profile->shown = CAIRN_SHOWN_PEAK;
}

/* Replaces the heap with the ranges of the requested KINDS that the service mapped itself. These numbers are exact, not estimates. */
static void read_mapped(struct sections *in, struct cairn_bytes section, unsigned kinds)
{
	struct cairn_profile *profile = in->profile;
	struct cairn_mapped mapped;
	if (kinds) {
		profile->shown = CAIRN_SHOWN_MAPPED;
		clear_pieces(in);
	}
	for (size_t at = 0; cairn_mapped_next(&section, &mapped);) {
		profile->facts.shows |= 1u << CAIRN_SHOWN_MAPPED;
		/* A reservation has no resident pages, unless the service has changed its protection since. */
		double resident = mapped.has_resident			 ? (double)mapped.resident
				  : mapped.kind == CAIRN_MAPPED_RESERVED ? 0
									 : (double)mapped.bytes;
		if (mapped.kind == CAIRN_MAPPED_ANONYMOUS || mapped.kind == CAIRN_MAPPED_RESERVED)
			profile->facts.mapped_bytes += resident;
		if (mapped.kind == CAIRN_MAPPED_BRK)
			profile->facts.break_bytes += resident;
		while (at < in->pieces->count && in->pieces->items[at].stack < mapped.stack)
			at++;
		if (!(kinds >> mapped.kind & 1) || at == in->pieces->count || in->pieces->items[at].stack != mapped.stack)
			continue;
		double *values = profile->values + in->pieces->items[at].sample * profile->value_count;
		values[CAIRN_HEAP_INUSE_OBJECTS]++;
		double bytes = in->reader->options.mapped_resident ? resident : (double)mapped.bytes;
		values[CAIRN_HEAP_INUSE_SPACE] += bytes;
		profile->sampled[in->pieces->items[at].sample]++;
		if (in->reader->options.with_freed)
			add_aged(profile, (struct cairn_aged){(uint32_t)in->pieces->items[at].sample, mapped.age_us, 1, bytes});
	}
	if (kinds) {
		profile->unsampling = CAIRN_UNSAMPLE_NONE;
		profile->period = 1;
		profile->mixed_periods = false;
	}
}

static void sum_freed(struct cairn_profile *profile, struct cairn_bytes section)
{
	struct cairn_freed freed;
	while (cairn_freed_next(&section, &freed))
		profile->facts.freed_bytes += (double)freed.bytes;
}

/* Finds the sample of stack after stack, in the order of the dump, for numbers that are known only by call path: if threads are kept apart,
 * samples without a thread hold them. */
struct by_path {
	size_t at;
	uint64_t stack;
	size_t sample;
	bool found;
};

/* The sample of STACK; false if the dump has no such stack. The last piece of a stack is the one without a thread (add_threads); a stack
 * that has none gets one. */
static bool sample_of_path(struct sections *in, struct by_path *path, uint64_t stack, size_t *sample)
{
	struct cairn_profile *profile = in->profile;
	if (!path->found || path->stack != stack) {
		while (path->at < in->pieces->count && in->pieces->items[path->at].stack < stack)
			path->at++;
		if (path->at == in->pieces->count || in->pieces->items[path->at].stack != stack)
			return false; /* the one found before stays known, so that no stack gets two */
		path->found = true;
		while (path->at + 1 < in->pieces->count && in->pieces->items[path->at + 1].stack == stack)
			path->at++;
		path->stack = stack;
		path->sample = in->pieces->items[path->at].sample;
		if (in->reader->options.split_threads && profile->label_sets[profile->samples[path->sample].labels].count)
			path->sample = add_sample_like(profile, path->sample, NULL, 0);
	}
	*sample = path->sample;
	return true;
}

/* The lines are in the order of the stacks, like the pieces. Of mappings it is not known how long those lived that are gone. */
static void read_freed(struct sections *in, struct cairn_bytes section)
{
	struct cairn_profile *profile = in->profile;
	struct cairn_freed freed;
	struct by_path path = {0};
	size_t capacity = 0;
	profile->freed = cairn_array_reserve(NULL, &capacity, profile->sample_count + 1, sizeof *profile->freed);
	while (profile->shown != CAIRN_SHOWN_MAPPED && cairn_freed_next(&section, &freed)) {
		size_t sample;
		bool found = sample_of_path(in, &path, freed.stack, &sample);
		profile->freed = cairn_array_reserve(profile->freed, &capacity, profile->sample_count + 1, sizeof *profile->freed);
		while (profile->freed_count < profile->sample_count)
			profile->freed[profile->freed_count++] = (struct cairn_freed){0};
		if (found)
			profile->freed[sample] = freed;
	}
}

/* The sum of the lifetimes of freed objects: every sample stands for the same number of objects, with the middle of its class as
 * lifetime. */
static double sum_lifetimes(const struct cairn_freed *freed)
{
	double sum = 0;
	for (int i = 0; i < CAIRN_LIFETIMES; i++)
		sum += (double)freed->lifetimes[i] * (i == 0 ? 0x1p13 : 0.75 * ldexp(1, CAIRN_LIFETIME_FIRST + i));
	return freed->samples ? sum * (double)freed->objects / (double)freed->samples : 0;
}

/* Adds what else Cairn's sampler recorded as separate values. */
static void add_values(struct sections *in)
{
	struct cairn_profile *profile = in->profile;
	uint32_t usable = profile->value_count, objects = usable + 1, space = usable + 2, lifetime = usable + 3;
	if (!cairn_profile_append_value(profile, "inuse_usable", "bytes") ||
	    !cairn_profile_append_value(profile, "freed_objects", "count") ||
	    !cairn_profile_append_value(profile, "freed_space", "bytes") ||
	    !cairn_profile_append_value(profile, "freed_lifetime", "nanoseconds"))
		return;
	for (size_t i = 0; i < profile->sample_count; i++) {
		double *values = profile->values + i * profile->value_count;
		values[usable] = values[CAIRN_HEAP_INUSE_SPACE] + (i < in->spare_count ? in->spares[i].bytes[CAIRN_SHOWN_SLACK] : 0);
		if (i >= profile->freed_count)
			continue;
		const struct cairn_freed *freed = &profile->freed[i];
		values[objects] = (double)freed->objects;
		values[space] = (double)freed->bytes;
		values[lifetime] = sum_lifetimes(freed);
	}
}

/* Adds what else there is to look at as values after the usual ones. Of what the service mapped itself, not the addresses that it has only
 * reserved. */
static void add_views(struct sections *in, struct cairn_bytes section)
{
	struct cairn_profile *profile = in->profile;
	if (!cairn_profile_complete(profile))
		return;
	uint32_t columns[CAIRN_SHOWN_COUNT];
	for (unsigned i = 0; i < CAIRN_SHOWN_COUNT; i++) {
		columns[i] = cairn_profile_find_value(profile, cairn_shown_views[i].space);
		for (size_t at = 0; at < in->spare_count && cairn_shown_views[i].by_object; at++)
			profile->values[at * profile->value_count + columns[i]] = in->spares[at].bytes[i];
	}
	uint32_t peaks = columns[CAIRN_SHOWN_PEAK] - 1, maps = columns[CAIRN_SHOWN_MAPPED] - 1; /* of the objects; then the bytes */
	struct cairn_peak peak;
	struct cairn_mapped mapped;
	struct by_path path = {0};
	for (struct cairn_bytes rest = section; cairn_peak_next(&rest, &peak);) {
		size_t sample;
		if (sample_of_path(in, &path, peak.stack, &sample)) {
			double *values = profile->values + sample * profile->value_count;
			values[peaks] += (double)peak.objects;
			values[peaks + 1] += (double)peak.bytes;
		}
	}
	path = (struct by_path){0};
	for (struct cairn_bytes rest = section; cairn_mapped_next(&rest, &mapped);) {
		size_t sample;
		if (mapped.kind != CAIRN_MAPPED_RESERVED && sample_of_path(in, &path, mapped.stack, &sample)) {
			double *values = profile->values + sample * profile->value_count;
			values[maps]++;
			values[maps + 1] += (double)mapped.bytes;
		}
	}
}

static void read_history(struct cairn_profile *profile, struct cairn_bytes section)
{
	for (struct cairn_history_row row; cairn_history_next(&section, &row);) {
		if (profile->history_count && row.time_ns <= profile->history[profile->history_count - 1].time_ns)
			continue; /* out of order: not written by Cairn */
		cairn_array_room(profile->history, profile->history_count, profile->history_capacity);
		profile->history[profile->history_count++] = row;
	}
}

/* Of samples that were dropped nobody saw the end, so that their share of what lives is not known and no part of the estimate. It takes a
 * system without memory: otherwise those that are there stand for a sample that finds no place, with a longer period. */
static void warn_of_losses(struct cairn_profile *profile, const struct cairn_reader *reader, const struct cairn_trailer *trailer)
{
	const char *name = reader->name;
	uint64_t recycled = reader->options.with_freed ? cairn_trailer_number(trailer, "sampler.stacks_recycled") : 0;
	uint64_t dropped = cairn_trailer_number(trailer, "sampler.dropped"), stacks = cairn_trailer_number(trailer, "sampler.stacks_lost");
	uint64_t overlapping = cairn_trailer_number(trailer, "sampler.stacks_overlapping");
	char size[24];
	if (overlapping)
		cairn_profile_warn(profile, "%s: %llu stacks of its ledger overlap or are too deep; what they allocated is shown without a stack",
				   name, (unsigned long long)overlapping);
	if (dropped)
		cairn_profile_warn(profile,
				   "%s: the ledger had no room for %llu sample%s that %s for %s; what of that still lives is missing in the "
				   "total; ledger_bytes makes it larger",
				   name, (unsigned long long)dropped, dropped == 1 ? "" : "s", dropped == 1 ? "stands" : "stand",
				   cairn_text_human((double)cairn_trailer_number(trailer, "sampler.dropped_bytes"), size));
	if (stacks)
		cairn_profile_warn(profile, "%s: the ledger had no room for the stacks of %llu samples; ledger_bytes makes it larger", name,
				   (unsigned long long)stacks);
	if (recycled)
		cairn_profile_warn(profile,
				   "%s: %llu call path%s without live memory made room for others; what %s allocated and freed is "
				   "shown without a stack; ledger_bytes makes room for more",
				   name, (unsigned long long)recycled, recycled == 1 ? "" : "s", recycled == 1 ? "it" : "they");
}

void cairn_sections_read(struct cairn_reader *reader, struct cairn_pieces *pieces, struct cairn_bytes maps,
			 const struct cairn_trailer *trailer)
{
	struct cairn_profile *profile = reader->profile;
	const struct cairn_read_options *options = &reader->options;
	struct cairn_bytes section;
	if (!cairn_live_section(maps, &section))
		return;
	struct sections in = {.reader = reader, .profile = profile, .pieces = pieces};
	profile->format = "heap_v2 of Cairn's own engine";
	profile->size_classes = false;
	profile->allocated = CAIRN_ALLOCATED_BY_PATH;
	read_live(&in, section, trailer);
	read_peak(&in, section, options->shown == CAIRN_SHOWN_PEAK);
	read_mapped(&in, section, options->shown == CAIRN_SHOWN_MAPPED ? options->mapped_kinds : 0);
	read_history(profile, section);
	sum_freed(profile, section);
	if (options->with_freed)
		read_freed(&in, section);
	if (options->all_values && profile->shown != CAIRN_SHOWN_PEAK)
		add_values(&in);
	if (options->every_kind && !cairn_shown_views[profile->shown].by_path)
		add_views(&in, section);
	free(in.spares);
	if (!trailer)
		return;
	if (trailer->period && profile->shown != CAIRN_SHOWN_MAPPED)
		profile->period = (double)trailer->period;
	warn_of_losses(profile, reader, trailer);
}
