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
 * What Cairn's own engine writes after the map is read by sections.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/text.h"
#include "dump/counts.h"
#include "profile/bound.h"
#include "profile/filter.h"
#include "profile/kind.h"
#include "profile/maps.h"
#include "profile/origin.h"
#include "profile/read.h"
#include "profile/sections.h"
#include "profile/unsample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The value that each number of a count line belongs to. */
static const int value_of_number[4] = {CAIRN_HEAP_INUSE_OBJECTS, CAIRN_HEAP_INUSE_SPACE, CAIRN_HEAP_ALLOC_OBJECTS, CAIRN_HEAP_ALLOC_SPACE};

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
	struct cairn_counts *threads; /* the counts of each thread */
	size_t thread_count, thread_capacity;
	size_t bad_lines;
	size_t first_bad_line;
	size_t uncounted;    /* stacks without a count line */
	size_t stack_number; /* @ lines so far */
	struct cairn_pieces pieces;
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
		in->header_bytes = values[CAIRN_HEAP_INUSE_SPACE];
		bool sampled = in->profile->period > 1 && counts->numbers[0];
		in->header_sample_bytes = sampled ? values[CAIRN_HEAP_INUSE_SPACE] / (double)counts->numbers[0] : 0;
		return;
	}
	struct cairn_profile *profile = in->profile;
	uint32_t name = cairn_strings_add(&profile->strings, cairn_bound_label(counts->name)), *known = cairn_map_at(&in->names, counts->thread);
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

/* The stack is at the end of `stacks`; a second sample of the same call path shares it. */
static void add_sample(struct parser *in, const struct cairn_counts *counts, const double values[4])
{
	struct cairn_profile *profile = in->profile;
	uint32_t labels = counts->is_all ? 0 : thread_labels(in, counts->thread);
	size_t sample = in->stack_counted
				? cairn_profile_add_sample_like(profile, cairn_pieces_last(&in->pieces)->sample, labels, values)
				: cairn_profile_add_sample(profile, in->depth, labels, values);
	cairn_profile_set_sampled(profile, sample, (double)counts->numbers[0]);
	cairn_pieces_add(&in->pieces, &(struct cairn_piece){in->stack_number - 1, counts->thread, sample});
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
	if (in->in_stack && in->thread_count > 0 && cairn_pieces_may_share(&in->pieces, in->thread_count, in->depth)) {
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

/* jemalloc un-biases the stacks one by one, then rounds the header to whole samples, so the totals may differ by one sample. */
static void check_total(const struct parser *in)
{
	double total = cairn_profile_total(in->profile, CAIRN_HEAP_INUSE_SPACE);
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
	if (in->pieces.crowded)
		cairn_profile_warn(profile, "%s: its stacks are too deep for so many threads or objects; some were merged", name);
	if (in->uncounted)
		cairn_profile_warn(profile, "%s: %zu stacks without a count were left out", name, in->uncounted);
	if (profile->cut)
		cairn_profile_warn(profile,
				   "%s: it ends before its memory map, as a dump does that was cut short; without it, only addresses of a "
				   "program that is not position-independent can be named", name);
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
	profile->default_value = CAIRN_HEAP_INUSE_SPACE;
	profile->period_type = (struct cairn_value_type){cairn_profile_text(profile, "space"), cairn_profile_text(profile, "bytes")};
	in->thread_key = cairn_profile_text(profile, "thread");
	in->thread_id_key = cairn_profile_text(profile, "thread_id");
}

bool cairn_heap_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error)
{
	struct cairn_profile *profile = reader->profile;
	struct cairn_read_options *options = &reader->options;
	struct parser in = {.reader = reader, .profile = profile, .pieces = cairn_pieces(text.length)};
	if (cairn_shown_views[options->shown].by_path)
		options->split_threads = options->split_ages = options->split_sizes = false;
	profile->format = "jemalloc heap_v2";
	profile->size_classes = true;
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
	if (!options->as_jeprof)
		cairn_sections_read(reader, &in.pieces, maps, trailer);
	bool chosen = options->older_us || options->younger_us || !cairn_profile_is_live(profile);
	if (chosen && !profile->freed)
		cairn_filter_empty(profile);
	warn_of_damage(&in, trailer);
	cairn_pieces_free(&in.pieces);
	if (!chosen)
		check_total(&in);
	if (cairn_profile_total(profile, CAIRN_HEAP_ALLOC_SPACE) == 0 && cairn_profile_total(profile, CAIRN_HEAP_ALLOC_OBJECTS) == 0) {
		cairn_profile_drop_value(profile, CAIRN_HEAP_ALLOC_SPACE);
		cairn_profile_drop_value(profile, CAIRN_HEAP_ALLOC_OBJECTS);
	}
	return true;
}
