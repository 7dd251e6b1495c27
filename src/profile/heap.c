/* heap.c - reads jemalloc's own dump, "heap_v2": a header, stacks with counts for each thread, the memory map.
 *
 *     heap_v2/524288
 *       t*: 28: 151552 [0: 0]
 *       t3: 28: 151552 [0: 0] worker
 *     @ 0x5581 0x5592 0x55a3
 *       t*: 13: 6688 [0: 0]
 *       t3: 13: 6688 [0: 0]
 *
 *     MAPPED_LIBRARIES:
 *     5580-55ff r-xp 00000000 fd:01 1234 /usr/bin/service
 *
 * Numbers are un-sampled stack by stack. A stack's own line (t*) is authoritative. The lines of its threads are rounded separately; they
 * only show how the stack is divided among threads, and are read only on request.
 * Longer than other files: the sections after the map refer to the stacks above it by number, so one reader keeps both.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/text.h"
#include "dump/counts.h"
#include "profile/filter.h"
#include "profile/kind.h"
#include "profile/live.h"
#include "profile/maps.h"
#include "profile/origin.h"
#include "profile/read.h"
#include "profile/unsample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { alloc_objects, alloc_space, inuse_objects, inuse_space };
/* The value that each number of a count line belongs to. */
static const int value_of_number[4] = {inuse_objects, inuse_space, alloc_objects, alloc_space};
enum { labels_most = 5 }; /* of one sample: age, size, name and number of the thread, heap */

/* The sample of a stack, or of one thread of the stack. */
struct piece {
	size_t stack;
	uint64_t thread;
	size_t sample;
};

/* What the live objects of a sample keep unused, in bytes. */
struct spare {
	double slack;         /* usable beyond what was requested */
	double fragmentation; /* free in their slabs */
};

struct parser {
	struct cairn_reader *reader;
	struct cairn_profile *profile;
	const char *at;
	const char *end;
	size_t line_number;
	struct cairn_map locations; /* dump address -> location */
	struct cairn_map names;     /* thread -> string, from the header */
	bool past_header;           /* an @ line has been read */
	double header_bytes;        /* the header's own total, un-sampled */
	double header_sample_bytes; /* what one sample of it stands for; 0 if everything is recorded */
	size_t depth;        /* of the stack being read */
	bool in_stack;       /* an @ line was read, and its stack is at the end of `stacks` */
	bool stack_counted;  /* that stack has a sample */
	struct cairn_counts all; /* if threads are kept apart: the sum of the stack */
	bool has_all;
	/* How many more locations the stacks may have that samples share. Reports go through each of these stacks. In a dump of jemalloc, a
	 * stack has at most 1,024 frames, and the line of a thread or an object at least 16 characters. */
	size_t shared_left;
	bool crowded; /* there was more */
	struct cairn_counts *threads; /* the counts of each thread */
	size_t thread_count, thread_capacity;
	size_t bad_lines;
	size_t first_bad_line;
	size_t uncounted;    /* stacks without a count line */
	size_t stack_number; /* @ lines so far */
	struct piece *pieces; /* in the order of the dump */
	size_t piece_count, piece_capacity;
	struct spare *spares; /* by sample */
	size_t spare_count, spare_capacity;
	uint32_t thread_key, thread_id_key;
};

static void skip_space(struct parser *in)
{
	cairn_counts_skip_space(&in->at, in->end);
}

static void estimate(const struct parser *in, const struct cairn_counts *counts, double values[4])
{
	for (int k = 0; k < 4; k++)
		values[value_of_number[k]] = (double)counts->numbers[k];
	for (int k = 0; k < 4; k += 2) {
		double *objects = &values[value_of_number[k]], *bytes = &values[value_of_number[k + 1]];
		if (in->reader->options.as_jeprof)
			cairn_unsample(CAIRN_UNSAMPLE_POISSON, in->profile->period, objects, bytes);
		else
			cairn_unsample_jemalloc(in->profile->period, objects, bytes);
	}
}

static void read_header_counts(struct parser *in, const struct cairn_counts *counts)
{
	double values[4];
	estimate(in, counts, values);
	if (counts->is_all) {
		in->header_bytes = values[inuse_space];
		bool sampled = in->profile->period > 1 && counts->numbers[0];
		in->header_sample_bytes = sampled ? values[inuse_space] / (double)counts->numbers[0] : 0;
		return;
	}
	struct cairn_profile *profile = in->profile;
	uint32_t name = cairn_strings_add(&profile->strings, counts->name), *known = cairn_map_at(&in->names, counts->thread);
	if (name && *known == CAIRN_NONE)
		*known = name;
	cairn_array_room(profile->threads, profile->thread_count, profile->thread_capacity);
	profile->threads[profile->thread_count++] = (struct cairn_thread){counts->thread, name};
}

static uint32_t thread_labels(struct parser *in, uint64_t uid)
{
	char number[24];
	snprintf(number, sizeof number, "%llu", (unsigned long long)uid);
	struct cairn_profile *profile = in->profile;
	uint32_t name = cairn_map_get(&in->names, uid);
	struct cairn_label labels[2] = {{.key = in->thread_id_key, .text = cairn_profile_text(profile, number)},
					{.key = in->thread_key, .text = name}};
	return cairn_profile_add_labels(profile, labels, name == CAIRN_NONE ? 1 : 2);
}

/* Whether COUNT more samples may share a stack of DEPTH locations. */
static bool may_share(struct parser *in, size_t count, size_t depth)
{
	if (depth && count > in->shared_left / depth) {
		in->crowded = true;
		return false;
	}
	in->shared_left -= count * depth;
	return true;
}

/* The stack is at the end of `stacks`; a second sample of the same call path shares it. */
static void add_sample(struct parser *in, const struct cairn_counts *counts, const double values[4])
{
	struct cairn_profile *profile = in->profile;
	uint32_t labels = counts->is_all ? 0 : thread_labels(in, counts->thread);
	size_t sample = in->stack_counted
				? cairn_profile_add_sample_like(profile, in->pieces[in->piece_count - 1].sample, labels, values)
				: cairn_profile_add_sample(profile, in->depth, labels, values);
	cairn_profile_set_sampled(profile, sample, (double)counts->numbers[0]);
	cairn_array_room(in->pieces, in->piece_count, in->piece_capacity);
	in->pieces[in->piece_count++] = (struct piece){in->stack_number - 1, counts->thread, sample};
	in->stack_counted = true;
}

static void note_bad_line(struct parser *in)
{
	if (!in->bad_lines++)
		in->first_bad_line = in->line_number;
}

/* A stack has one line with its sum. */
static void read_counts(struct parser *in)
{
	struct cairn_counts counts;
	if (!cairn_counts_read((struct cairn_bytes){in->at, (size_t)(in->end - in->at)}, &counts) ||
	    (counts.is_all && in->in_stack && (in->stack_counted || in->has_all))) {
		note_bad_line(in);
	} else if (!in->past_header) {
		read_header_counts(in, &counts);
	} else if (!in->in_stack) {
		return; /* belongs to a stack that could not be read */
	} else if (!in->reader->options.split_threads) {
		double values[4];
		if (counts.is_all) {
			estimate(in, &counts, values);
			add_sample(in, &counts, values);
		}
	} else if (counts.is_all) {
		in->all = counts;
		in->has_all = true;
	} else {
		cairn_array_room(in->threads, in->thread_count, in->thread_capacity);
		in->threads[in->thread_count++] = counts;
	}
}

/* Adds a sample for each thread of a stack. The whole stack is estimated, and divided among the threads by their sampled counts: so a stack
 * has the same size whether or not its threads are kept apart. What no thread counts, as everything that was allocated in dumps of Cairn's
 * sampler, is in a sample without a thread, after those of the threads. */
static void add_threads(struct parser *in)
{
	double whole[4], sums[4] = {0}, values[4], rest[4] = {0};
	bool divides = in->has_all && !in->reader->options.as_jeprof, has_rest = false;
	estimate(in, &in->all, whole);
	for (size_t t = 0; t < in->thread_count; t++)
		for (size_t k = 0; k < 4; k++)
			sums[k] += (double)in->threads[t].numbers[k];
	for (size_t t = 0; t < in->thread_count; t++) {
		estimate(in, &in->threads[t], values);
		for (size_t k = 0; k < 4 && divides; k++)
			if (sums[k] > 0)
				values[value_of_number[k]] = whole[value_of_number[k]] * ((double)in->threads[t].numbers[k] / sums[k]);
		add_sample(in, &in->threads[t], values);
	}
	for (size_t k = 0; k < 4 && divides; k++)
		if (sums[k] == 0 && whole[value_of_number[k]] > 0) {
			rest[value_of_number[k]] = whole[value_of_number[k]];
			has_rest = true;
		}
	if (has_rest)
		add_sample(in, &(struct cairn_counts){.is_all = true, .thread = UINT64_MAX}, rest);
}

static const unsigned char hex_values[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
	['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static uint32_t location_of(struct parser *in, uint64_t address)
{
	uint32_t *known = cairn_map_at(&in->locations, address);
	if (*known == CAIRN_NONE)
		*known = cairn_profile_new_location(in->profile, &(struct cairn_location){
			.address = address ? address - 1 : 0, .mapping = CAIRN_NONE, .is_call = address != 0});
	return *known;
}

/* Reads the addresses of an @ line, leaf first. Returns false if one of them is not an address. */
static bool read_stack(struct parser *in)
{
	in->at++;
	/* The shortest address is "0x1 ", so this is enough room. */
	uint32_t *stack = cairn_profile_stack_room(in->profile, (size_t)(in->end - in->at) / 4 + 1);
	size_t depth = 0;
	for (;;) {
		skip_space(in);
		if (in->at == in->end)
			break;
		if (in->end - in->at < 3 || in->at[0] != '0' || in->at[1] != 'x')
			return false;
		in->at += 2;
		const char *first = in->at;
		uint64_t address = 0;
		for (unsigned digit; in->at < in->end && (digit = hex_values[(unsigned char)*in->at]); in->at++)
			address = address << 4 | (digit - 1);
		if (in->at == first || in->at - first > 16)
			return false;
		stack[depth++] = location_of(in, address);
	}
	in->depth = depth;
	return true;
}

static void end_stack(struct parser *in)
{
	double values[4];
	if (in->in_stack && in->thread_count > 0 && may_share(in, in->thread_count, in->depth)) {
		add_threads(in);
	} else if (in->in_stack && in->has_all) {
		estimate(in, &in->all, values);
		add_sample(in, &in->all, values);
	}
	if (in->in_stack && !in->stack_counted)
		in->uncounted++;
	in->in_stack = in->stack_counted = in->has_all = false;
	in->thread_count = 0;
}

/* Reads lines up to the memory map. Returns the text of the map, which is empty if the dump is cut short before it. */
static struct cairn_bytes read_lines(struct parser *in, struct cairn_bytes rest)
{
	static const char maps[] = "MAPPED_LIBRARIES:";
	struct cairn_bytes line;
	bool complete = true;
	while (cairn_text_line(&rest, &line, &complete)) {
		in->line_number++;
		in->at = line.data;
		in->end = line.data + line.length;
		skip_space(in);
		if (in->at == in->end)
			continue;
		if (*in->at == 't' && complete) {
			read_counts(in);
		} else if (*in->at == '@' && complete) {
			end_stack(in);
			in->past_header = true;
			in->stack_number++;
			in->in_stack = read_stack(in);
			if (!in->in_stack)
				note_bad_line(in);
		} else if (cairn_bytes_start_with(line, maps)) {
			end_stack(in);
			return rest;
		} else if (complete) {
			note_bad_line(in);
		}
	}
	end_stack(in);
	in->profile->cut = true;
	return (struct cairn_bytes){"", 0};
}

/* Reads the names of the host's own heaps: NAMES maps the number of each to its string. */
static void read_heap_names(struct cairn_profile *profile, const struct cairn_trailer *trailer, struct cairn_map *names)
{
	struct cairn_bytes value;
	uint64_t heap;
	for (size_t position = 0; trailer && cairn_trailer_next(trailer, &position, "heap", &value);)
		if (cairn_text_decimal(&value, &heap) && cairn_text_take(&value, " ") && value.length)
			*cairn_map_at(names, heap) = cairn_strings_add(&profile->strings, value);
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
static size_t sample_of_class(struct parser *in, struct cairn_map *parts, size_t at, const struct cairn_live *live)
{
	const struct cairn_read_options *options = &in->reader->options;
	struct cairn_profile *profile = in->profile;
	unsigned age = options->split_ages ? cairn_age_class(live->age_us) : 0;
	int64_t size = options->split_sizes ? size_class(live->size) : 1;
	uint32_t *known = cairn_map_at(parts, ((uint64_t)at * CAIRN_AGES + age) * 64 + (unsigned)__builtin_ctzll((unsigned long long)size));
	if (*known != CAIRN_NONE)
		return *known;
	if (!may_share(in, 1, profile->samples[in->pieces[at].sample].depth))
		return *known = (uint32_t)in->pieces[at].sample;
	struct cairn_label_set set = profile->label_sets[profile->samples[in->pieces[at].sample].labels];
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
	return *known = (uint32_t)add_sample_like(profile, in->pieces[at].sample, labels, count);
}

/* An object's share of the free space in its slab, which is divided among the objects that keep the slab from being released. */
static double fragmentation_of(const struct cairn_live *live)
{
	if (live->slab_regions == 0)
		return 0;
	double free = (double)live->slab_bytes / (double)live->slab_regions * (double)live->slab_free;
	return free / (double)(live->slab_regions - live->slab_free);
}

/* Adds one sample of Cairn's sampler to the numbers of its stack. */
static void add_live(struct parser *in, size_t sample, const struct cairn_live *live)
{
	struct cairn_profile *profile = in->profile;
	double objects = 1, bytes = (double)live->size;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, (double)live->period, &objects, &bytes);
	double slack = objects * (double)live->slack;
	profile->slack_bytes += slack;
	profile->age_bytes[cairn_age_class(live->age_us)] += bytes;
	if (profile->as_slack)
		bytes = slack;
	profile->has_slabs |= live->slab_regions > 0;
	if (profile->as_fragmentation)
		bytes = objects * fragmentation_of(live);
	double *values = profile->values + sample * profile->value_count;
	values[inuse_objects] += objects;
	values[inuse_space] += bytes;
	profile->sampled[sample]++;
	const struct cairn_read_options *options = &in->reader->options;
	if (options->with_freed) {
		cairn_array_room(profile->aged, profile->aged_count, profile->aged_capacity);
		profile->aged[profile->aged_count++] = (struct cairn_aged){(uint32_t)sample, live->age_us, objects, bytes};
	}
	if (!options->all_values && !options->every_kind)
		return;
	in->spares = cairn_array_reserve(in->spares, &in->spare_capacity, profile->sample_count, sizeof *in->spares);
	while (in->spare_count < profile->sample_count)
		in->spares[in->spare_count++] = (struct spare){0};
	in->spares[sample].slack += slack;
	in->spares[sample].fragmentation += objects * fragmentation_of(live);
}

/* A dump from Cairn's sampler lists its samples after the stacks; each is un-sampled by its own size and period. Stacks and samples are in
 * the same order, by stack and thread. */
static void read_live(struct parser *in, struct cairn_bytes section, const struct cairn_trailer *trailer)
{
	struct cairn_profile *profile = in->profile;
	struct cairn_live live;
	const struct cairn_read_options *options = &in->reader->options;
	bool limited = options->older_us || options->younger_us;
	bool by_class = (options->split_ages || options->split_sizes) && !options->at_peak;
	struct cairn_map parts = {0}, heaps = {0};
	read_heap_names(profile, trailer, &heaps);
	profile->has_ages = true;
	profile->as_slack = options->as_slack;
	profile->as_fragmentation = options->as_fragmentation;
	limited |= options->as_slack || options->as_fragmentation;
	for (size_t i = 0; i < in->piece_count; i++) {
		double *values = profile->values + in->pieces[i].sample * profile->value_count;
		values[inuse_objects] = values[inuse_space] = profile->sampled[in->pieces[i].sample] = 0;
		if (limited)
			values[alloc_objects] = values[alloc_space] = 0;
	}
	profile->period = 0;
	size_t strays = 0;
	bool split = in->reader->options.split_threads;
	for (size_t at = 0; cairn_live_next(&section, &live);) {
		while (at < in->piece_count && (in->pieces[at].stack < live.stack || (split && in->pieces[at].stack == live.stack &&
										      in->pieces[at].thread < live.thread)))
			at++;
		bool of_stack = at < in->piece_count && in->pieces[at].stack == live.stack;
		bool listed = of_stack && (!split || in->pieces[at].thread == live.thread);
		bool wanted = live.age_us >= options->older_us && (!options->younger_us || live.age_us <= options->younger_us);
		size_t sample = of_stack ? in->pieces[at].sample : 0;
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

static void clear_pieces(struct parser *in)
{
	struct cairn_profile *profile = in->profile;
	for (size_t i = 0; i < in->piece_count; i++) {
		memset(profile->values + in->pieces[i].sample * profile->value_count, 0, profile->value_count * sizeof *profile->values);
		profile->sampled[in->pieces[i].sample] = 0;
	}
}

/* Replaces the current live counts with those at the peak. */
static void read_peak(struct parser *in, struct cairn_bytes section, bool wanted)
{
	struct cairn_profile *profile = in->profile;
	struct cairn_peak peak;
	struct cairn_bytes rest = section;
	profile->has_peak = cairn_peak_next(&rest, &peak);
	for (rest = section; !wanted && cairn_peak_next(&rest, &peak);)
		profile->peak_bytes += (double)peak.bytes;
	if (!wanted || !profile->has_peak)
		return;
	clear_pieces(in);
	for (size_t at = 0; cairn_peak_next(&section, &peak);) {
		while (at < in->piece_count && in->pieces[at].stack < peak.stack)
			at++;
		if (at == in->piece_count || in->pieces[at].stack != peak.stack)
			continue;
		double *values = profile->values + in->pieces[at].sample * profile->value_count;
		values[inuse_objects] += (double)peak.objects;
		values[inuse_space] += (double)peak.bytes;
		profile->sampled[in->pieces[at].sample] += (double)peak.samples;
	}
	profile->at_peak = true;
}

/* Replaces the heap with the ranges of the requested KINDS that the service mapped itself. These numbers are exact, not estimates. */
static void read_mapped(struct parser *in, struct cairn_bytes section, unsigned kinds)
{
	struct cairn_profile *profile = in->profile;
	struct cairn_mapped mapped;
	profile->as_mapped = kinds != 0;
	if (kinds)
		clear_pieces(in);
	for (size_t at = 0; cairn_mapped_next(&section, &mapped);) {
		profile->has_mapped = true;
		/* A reservation has no resident pages, unless the service has changed its protection since. */
		double resident = mapped.has_resident			 ? (double)mapped.resident
				  : mapped.kind == CAIRN_MAPPED_RESERVED ? 0
									 : (double)mapped.bytes;
		if (mapped.kind == CAIRN_MAPPED_ANONYMOUS || mapped.kind == CAIRN_MAPPED_RESERVED)
			profile->mapped_bytes += resident;
		if (mapped.kind == CAIRN_MAPPED_BRK)
			profile->break_bytes += resident;
		while (at < in->piece_count && in->pieces[at].stack < mapped.stack)
			at++;
		if (!(kinds >> mapped.kind & 1) || at == in->piece_count || in->pieces[at].stack != mapped.stack)
			continue;
		double *values = profile->values + in->pieces[at].sample * profile->value_count;
		values[inuse_objects]++;
		values[inuse_space] += in->reader->options.mapped_resident ? resident : (double)mapped.bytes;
		profile->sampled[in->pieces[at].sample]++;
	}
	if (profile->as_mapped) {
		profile->unsampling = CAIRN_UNSAMPLE_NONE;
		profile->period = 1;
		profile->mixed_periods = false;
	}
}

static void sum_freed(struct cairn_profile *profile, struct cairn_bytes section)
{
	struct cairn_freed freed;
	while (cairn_freed_next(&section, &freed))
		profile->freed_bytes += (double)freed.bytes;
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
static bool sample_of_path(struct parser *in, struct by_path *path, uint64_t stack, size_t *sample)
{
	struct cairn_profile *profile = in->profile;
	if (!path->found || path->stack != stack) {
		while (path->at < in->piece_count && in->pieces[path->at].stack < stack)
			path->at++;
		if (path->at == in->piece_count || in->pieces[path->at].stack != stack)
			return false; /* the one found before stays known, so that no stack gets two */
		path->found = true;
		while (path->at + 1 < in->piece_count && in->pieces[path->at + 1].stack == stack)
			path->at++;
		path->stack = stack;
		path->sample = in->pieces[path->at].sample;
		if (in->reader->options.split_threads && profile->label_sets[profile->samples[path->sample].labels].count)
			path->sample = add_sample_like(profile, path->sample, NULL, 0);
	}
	*sample = path->sample;
	return true;
}

/* The lines are in the order of the stacks, like the pieces. */
static void read_freed(struct parser *in, struct cairn_bytes section)
{
	struct cairn_profile *profile = in->profile;
	struct cairn_freed freed;
	struct by_path path = {0};
	size_t capacity = 0;
	profile->freed = cairn_array_reserve(NULL, &capacity, profile->sample_count + 1, sizeof *profile->freed);
	while (cairn_freed_next(&section, &freed)) {
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
static void add_values(struct parser *in)
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
		values[usable] = values[inuse_space] + (i < in->spare_count ? in->spares[i].slack : 0);
		if (i >= profile->freed_count)
			continue;
		const struct cairn_freed *freed = &profile->freed[i];
		values[objects] = (double)freed->objects;
		values[space] = (double)freed->bytes;
		values[lifetime] = sum_lifetimes(freed);
	}
}

/* Adds what else there is to look at as values after the usual ones: the live counts at the peak, the spare memory of live objects, and
 * what the service mapped itself, except for addresses that it has only reserved. */
static void add_kinds(struct parser *in, struct cairn_bytes section)
{
	static const struct {
		const char *type, *unit;
	} kinds[] = {{"peak_objects", "count"}, {"peak_space", "bytes"}, {"slack_space", "bytes"}, {"fragmentation_space", "bytes"},
		     {"mapped_objects", "count"}, {"mapped_space", "bytes"}};
	struct cairn_profile *profile = in->profile;
	uint32_t peaks = profile->value_count, slack = peaks + 2, fragmentation = peaks + 3, maps = peaks + 4;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!cairn_profile_append_value(profile, kinds[i].type, kinds[i].unit))
			return;
	for (size_t i = 0; i < in->spare_count; i++) {
		profile->values[i * profile->value_count + slack] = in->spares[i].slack;
		profile->values[i * profile->value_count + fragmentation] = in->spares[i].fragmentation;
	}
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

static void warn_of_losses(struct cairn_profile *profile, const char *name, const struct cairn_trailer *trailer)
{
	uint64_t dropped = cairn_trailer_number(trailer, "sampler.dropped"), stacks = cairn_trailer_number(trailer, "sampler.stacks_lost");
	char size[24];
	if (dropped)
		cairn_profile_warn(profile, "%s: the ledger had no room for %llu samples that stand for %s; ledger_bytes makes it larger",
				   name, (unsigned long long)dropped,
				   cairn_text_human((double)cairn_trailer_number(trailer, "sampler.dropped_bytes"), size));
	if (stacks)
		cairn_profile_warn(profile, "%s: the ledger had no room for the stacks of %llu samples; ledger_bytes makes it larger", name,
				   (unsigned long long)stacks);
}

/* Reads what Cairn's sampler writes after the memory map. jeprof ignores it; its numbers are those of the stack lines. TRAILER is NULL if
 * the dump has none. */
static void read_sections(struct parser *in, struct cairn_bytes maps, const struct cairn_trailer *trailer)
{
	struct cairn_profile *profile = in->profile;
	const struct cairn_read_options *options = &in->reader->options;
	struct cairn_bytes section = options->as_jeprof ? (struct cairn_bytes){"", 0} : cairn_live_section(maps);
	if (!section.length)
		return;
	profile->format = "heap_v2 of Cairn's sampler";
	profile->allocated = CAIRN_ALLOCATED_BY_PATH;
	read_live(in, section, trailer);
	read_peak(in, section, options->at_peak);
	read_mapped(in, section, options->mapped_kinds);
	read_history(profile, section);
	sum_freed(profile, section);
	if (options->with_freed)
		read_freed(in, section);
	if (options->all_values && !profile->at_peak)
		add_values(in);
	if (options->every_kind && !profile->at_peak && !profile->as_mapped)
		add_kinds(in, section);
	if (!trailer)
		return;
	if (trailer->period && !profile->as_mapped)
		profile->period = (double)trailer->period;
	warn_of_losses(profile, in->reader->name, trailer);
}

/* jemalloc un-biases the stacks one by one, then rounds the header to whole samples, so the totals may differ by one sample. */
static void check_total(const struct parser *in)
{
	double total = cairn_profile_total(in->profile, inuse_space);
	if (in->header_bytes > 0 && !in->reader->options.split_threads && in->profile->sample_count > 0 &&
	    fabs(total - in->header_bytes) > 0.01 * in->header_bytes + in->header_sample_bytes) {
		char found[24], said[24];
		cairn_profile_warn(in->profile, "%s: its stacks add up to %s but its header says %s", in->reader->name,
				   cairn_text_human(total, found), cairn_text_human(in->header_bytes, said));
	}
}

static bool read_header(struct parser *in, struct cairn_bytes *text, struct cairn_error *error)
{
	struct cairn_bytes line = {"", 0};
	cairn_text_line(text, &line, NULL);
	in->line_number = 1;
	uint64_t period;
	struct cairn_bytes rest = cairn_text_trim(line);
	if (!cairn_text_take(&rest, "heap_v2/") || !cairn_text_decimal(&rest, &period) || rest.length > 0)
		return cairn_fail(error, "%s:1: a jemalloc dump begins with heap_v2/PERIOD, this one with '%.*s'", in->reader->name,
				  (int)(line.length < 40 ? line.length : 40), line.data);
	in->profile->period = (double)period;
	in->profile->unsampling = CAIRN_UNSAMPLE_POISSON;
	return true;
}

static void warn_of_damage(const struct parser *in, const struct cairn_trailer *trailer)
{
	struct cairn_profile *profile = in->profile;
	const char *name = in->reader->name;
	if (in->bad_lines)
		cairn_profile_warn(profile, "%s: %zu lines could not be read, the first at line %zu", name, in->bad_lines,
				   in->first_bad_line);
	if (in->crowded)
		cairn_profile_warn(profile, "%s: its stacks are too deep for so many threads or objects; some were not told apart", name);
	if (in->uncounted)
		cairn_profile_warn(profile, "%s: %zu stacks without a count were left out", name, in->uncounted);
	if (profile->cut)
		cairn_profile_warn(profile,
				   "%s: it ends before its memory map, as a dump does that was cut short; addresses cannot be named", name);
	if (trailer && !trailer->complete)
		cairn_profile_warn(profile, "%s: its trailer is cut short; what it knows of the process and its modules may be missing",
				   name);
}

/* Declares the values of a dump, in the order of the enum above. */
static void start_values(struct parser *in)
{
	struct cairn_profile *profile = in->profile;
	cairn_profile_add_value_type(profile, "alloc_objects", "count");
	cairn_profile_add_value_type(profile, "alloc_space", "bytes");
	cairn_profile_add_value_type(profile, "inuse_objects", "count");
	cairn_profile_add_value_type(profile, "inuse_space", "bytes");
	profile->default_value = inuse_space;
	profile->period_type = (struct cairn_value_type){cairn_profile_text(profile, "space"), cairn_profile_text(profile, "bytes")};
	in->thread_key = cairn_profile_text(profile, "thread");
	in->thread_id_key = cairn_profile_text(profile, "thread_id");
}

bool cairn_heap_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error)
{
	struct cairn_profile *profile = reader->profile;
	struct cairn_read_options *options = &reader->options;
	struct parser in = {.reader = reader, .profile = profile, .shared_left = (1 << 20) + 64 * text.length};
	if (options->at_peak || options->mapped_kinds)
		options->split_threads = options->split_ages = options->split_sizes = false;
	profile->format = "jemalloc heap_v2";
	profile->allocated = CAIRN_ALLOCATED_ACCUM;
	profile->kind = CAIRN_PROFILE_HEAP;
	if (!read_header(&in, &text, error))
		return false;
	start_values(&in);
	struct cairn_bytes maps = read_lines(&in, text);
	cairn_map_free(&in.locations);
	cairn_map_free(&in.names);
	free(in.threads);
	cairn_maps_apply(profile, maps, reader->name);
	struct cairn_trailer found, *trailer = cairn_trailer_read(maps, &found) ? &found : NULL;
	if (trailer)
		cairn_profile_apply_trailer(profile, trailer);
	read_sections(&in, maps, trailer);
	free(in.pieces);
	free(in.spares);
	bool chosen = options->older_us || options->younger_us || !cairn_profile_is_live(profile);
	if (chosen && !profile->freed)
		cairn_filter_empty(profile);
	warn_of_damage(&in, trailer);
	if (!chosen)
		check_total(&in);
	if (cairn_profile_total(profile, alloc_space) == 0 && cairn_profile_total(profile, alloc_objects) == 0) {
		cairn_profile_drop_value(profile, alloc_space);
		cairn_profile_drop_value(profile, alloc_objects);
	}
	return true;
}
