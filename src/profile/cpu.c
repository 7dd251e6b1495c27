/* cpu.c - reads gperftools' binary CPU profile (described in its cpuprofile-fileformat document).
 *
 * The file consists of words with the size and byte order of the machine that wrote it. The header: 0, the number of header words that
 * follow (3 or more), version 0, period in microseconds, 0. A record: a count, the depth, and that many addresses, leaf first. The record
 * (0, 1, 0) ends the list; the memory map follows as text.
 *
 * The leaf is the address at which the thread was interrupted; all others are return addresses. Two artefacts of taking a stack in a signal
 * handler are removed, as in pprof: up to two second frames that nearly all stacks share, and a leaf that was recorded twice. A profile
 * from Cairn's agent has neither; its trailer gives the period in nanoseconds and the thread of each record.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"

#include "base/array.h"
#include "base/cursor.h"
#include "base/text.h"
#include "profile/bound.h"
#include "profile/maps.h"
#include "profile/origin.h"

#include <inttypes.h>
#include <stdlib.h>

enum { header_words_most = 1 << 16, depth_most = 1 << 16 };

struct words {
	struct cairn_cursor in;
	bool wide; /* 64 bits */
	bool swapped;
};

static uint64_t next_word(struct words *words)
{
	if (words->wide) {
		uint64_t word = cairn_cursor_u64(&words->in);
		return words->swapped ? __builtin_bswap64(word) : word;
	}
	uint32_t word = cairn_cursor_u32(&words->in);
	return words->swapped ? __builtin_bswap32(word) : word;
}

/* Reads the header as words of one size and byte order; it is valid only with the right ones. */
static bool try_header(struct words *words, uint64_t *version, uint64_t *period_us)
{
	uint64_t zero = next_word(words), follow = next_word(words);
	if (zero != 0 || follow < 3 || follow >= header_words_most)
		return false;
	*version = next_word(words);
	*period_us = next_word(words);
	uint64_t padding = next_word(words);
	cairn_cursor_skip(&words->in, (follow - 3) * (words->wide ? 8 : 4));
	return !words->in.failed && padding == 0 && *period_us > 0;
}

static bool read_header(struct cairn_reader *reader, struct words *words, struct cairn_bytes data, struct cairn_error *error)
{
	uint64_t version, period_us;
	for (int form = 0; form < 4; form++) {
		*words = (struct words){cairn_cursor(data), form & 1, form & 2};
		if (!try_header(words, &version, &period_us))
			continue;
		if (version != 0)
			return cairn_fail(
				error, "%s: a binary CPU profile of version %" PRIu64 "; only version 0 (C and C++) can be read",
				reader->name, version);
		reader->profile->period = (double)period_us * 1000;
		return true;
	}
	return cairn_fail(error, "%s: not a binary CPU profile: its header makes no sense in any word size and byte order",
			  reader->name);
}

static void add_record(struct cairn_profile *profile, struct words *words, uint64_t count, size_t depth)
{
	uint32_t *room = cairn_profile_stack_room(profile, depth);
	for (size_t i = 0; i < depth; i++) {
		uint64_t pc = next_word(words);
		bool is_call = i > 0 && pc > 0;
		room[i] = cairn_profile_add_location(profile, pc - is_call, CAIRN_NONE, is_call);
	}
	cairn_profile_add_sample(profile, depth, 0, (double[]){(double)count, (double)count * profile->period});
}

static void read_records(struct cairn_profile *profile, struct words *words)
{
	while (cairn_cursor_left(&words->in) > 0) {
		uint64_t count = next_word(words), depth = next_word(words);
		if (words->in.failed || depth > depth_most || depth * (words->wide ? 8 : 4) > cairn_cursor_left(&words->in))
			break;
		if (count == 0 && depth == 1) {
			struct words ahead = *words;
			if (next_word(&ahead) == 0) {
				*words = ahead;
				return;
			}
		}
		add_record(profile, words, count, (size_t)depth);
	}
	cairn_profile_warn(profile, "the CPU profile has no end mark: it was cut short after %zu stacks", profile->sample_count);
	cairn_cursor_fail(&words->in);
}

/* Removes the second frame by moving the leaf into its place. */
static void drop_second(struct cairn_profile *profile, struct cairn_sample *sample)
{
	profile->stacks[sample->stack + 1] = profile->stacks[sample->stack];
	sample->stack++;
	sample->depth--;
}

/* The second frame that all but one in 32 samples share, or CAIRN_NONE. */
static uint32_t common_second(const struct cairn_profile *profile)
{
	uint32_t common = CAIRN_NONE;
	size_t needed = profile->sample_count - profile->sample_count / 32;
	size_t *counts = cairn_array_zero(profile->location_count, sizeof *counts);
	for (size_t i = 0; i < profile->sample_count && common == CAIRN_NONE; i++) {
		const struct cairn_sample *sample = &profile->samples[i];
		if (sample->depth > 1 && ++counts[profile->stacks[sample->stack + 1]] >= needed)
			common = profile->stacks[sample->stack + 1];
	}
	free(counts);
	return common;
}

static void drop_handler_frames(struct cairn_profile *profile)
{
	for (int round = 0; round < 2; round++) {
		uint32_t common = common_second(profile);
		if (common == CAIRN_NONE)
			return;
		for (size_t i = 0; i < profile->sample_count; i++) {
			struct cairn_sample *sample = &profile->samples[i];
			if (sample->depth > 1 && profile->stacks[sample->stack + 1] == common)
				drop_second(profile, sample);
		}
		cairn_profile_warn(profile,
				   "the second frame of nearly all stacks, 0x%" PRIx64
				   ", was taken for the signal handler's and left out",
				   profile->locations[common].address);
	}
}

static void drop_repeated_leaves(struct cairn_profile *profile)
{
	for (size_t i = 0; i < profile->sample_count; i++) {
		struct cairn_sample *sample = &profile->samples[i];
		const uint32_t *stack = profile->stacks + sample->stack;
		if (sample->depth > 1 && profile->locations[stack[0]].address == profile->locations[stack[1]].address + 1)
			drop_second(profile, sample);
	}
}

/* `cpu.thread RECORDS TID NAME`: the next RECORDS records are from that thread. */
static void label_threads(struct cairn_profile *profile, const struct cairn_trailer *trailer)
{
	const uint32_t thread_key = cairn_profile_text(profile, "thread"), id_key = cairn_profile_text(profile, "thread_id");
	size_t position = 0, sample = 0;
	for (struct cairn_bytes value; cairn_trailer_next(trailer, &position, "cpu.thread", &value);) {
		uint64_t records;
		if (!cairn_text_decimal(&value, &records) || !cairn_text_take(&value, " "))
			return;
		const char *space = value.length ? memchr(value.data, ' ', value.length) : NULL;
		struct cairn_bytes id = {value.data, space ? (size_t)(space - value.data) : value.length};
		struct cairn_label labels[2] = {
			{.key = id_key, .text = cairn_strings_add(&profile->strings, cairn_bound_label(id))},
			{.key = thread_key, .text = cairn_strings_add(&profile->strings, cairn_bound_label(cairn_bytes_skip(value, id.length + 1)))},
		};
		uint32_t set = cairn_profile_add_labels(profile, labels, 2);
		for (; records > 0 && sample < profile->sample_count; records--)
			profile->samples[sample++].labels = set;
	}
}

/* Warns about time that the agent could not record: the profile shows less than was used. */
static void warn_of_losses(struct cairn_reader *reader, const struct cairn_trailer *trailer)
{
	uint64_t dropped = cairn_trailer_number(trailer, "cpu.dropped"), unwatched = cairn_trailer_number(trailer, "cpu.unwatched");
	if (dropped)
		cairn_profile_warn(reader->profile, "%s: %llu samples were lost because they came too fast; a lower frequency loses none",
				   reader->name, (unsigned long long)dropped);
	if (unwatched)
		cairn_profile_warn(reader->profile,
				   "%s: up to %llu threads at a time could not be watched (the limit of 8192 in a run, or of pending "
				   "signals, ulimit -i)",
				   reader->name, (unsigned long long)unwatched);
	uint64_t blocked = cairn_trailer_number(trailer, "cpu.blocked"), cramped = cairn_trailer_number(trailer, "cpu.cramped");
	if (blocked)
		cairn_profile_warn(reader->profile,
				   "%s: %llu threads could not be sampled, because they block the profiler's signal or wait for it "
				   "themselves",
				   reader->name, (unsigned long long)blocked);
	if (cramped)
		cairn_profile_warn(
			reader->profile,
			"%s: %llu samples were lost in threads whose stack, or alternate signal stack, has no room to take them on",
			reader->name, (unsigned long long)cramped);
	uint64_t small = cairn_trailer_number(trailer, "cpu.small"), foreign = cairn_trailer_number(trailer, "cpu.foreign");
	if (small)
		cairn_profile_warn(reader->profile,
				   "%s: %llu threads were no longer sampled once their stacks had proved too small for signals",
				   reader->name, (unsigned long long)small);
	if (foreign)
		cairn_profile_warn(reader->profile,
				   "%s: %llu threads were not sampled, because the service made them by clone, without libc's thread-local "
				   "memory",
				   reader->name, (unsigned long long)foreign);
	if (cairn_trailer_number(trailer, "cpu.overtaken"))
		cairn_profile_warn(reader->profile, "%s: it ends early, because the service began to use the profiler's signal itself",
				   reader->name);
}

/* Computes times again from the counts, with the period in nanoseconds: the header has only microseconds. */
static void correct_period(struct cairn_profile *profile, uint64_t period_ns)
{
	profile->period = (double)period_ns;
	for (size_t i = 0; i < profile->sample_count; i++)
		profile->values[2 * i + 1] = profile->values[2 * i] * profile->period;
}

bool cairn_cpu_read(struct cairn_reader *reader, struct cairn_bytes data, struct cairn_error *error)
{
	struct cairn_profile *profile = reader->profile;
	struct words words;
	if (!read_header(reader, &words, data, error))
		return false;
	profile->kind = CAIRN_PROFILE_CPU;
	profile->format = "gperftools CPU profile";
	cairn_profile_add_value_type(profile, "samples", "count");
	cairn_profile_add_value_type(profile, "cpu", "nanoseconds");
	profile->default_value = 1;
	profile->unsampling = CAIRN_UNSAMPLE_POISSON;
	profile->period_type = profile->value_types[1];
	read_records(profile, &words);
	struct cairn_trailer trailer;
	bool has_trailer = cairn_trailer_read(data, &trailer);
	uint64_t period_ns = has_trailer ? cairn_trailer_number(&trailer, "cpu.period") : 0;
	if (period_ns) {
		correct_period(profile, period_ns);
		label_threads(profile, &trailer);
		warn_of_losses(reader, &trailer);
	} else {
		drop_handler_frames(profile);
		drop_repeated_leaves(profile);
	}
	cairn_maps_apply(profile, cairn_bytes_skip(data, cairn_cursor_offset(&words.in)), reader->name);
	if (has_trailer)
		cairn_profile_take_build_ids(profile, &trailer);
	return true;
}
