/* bound.c - counts frames by the size of their locations, and text by the length of the names, and finds the size that keeps each sum within
 * its limit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/bound.h"

#include "base/array.h"

#include <stdlib.h>

/* Real programs have three or four functions at an address on average. */
enum { frames_least = 4 << 20, frames_for_a_location = 8 };
/* In a profile with more locations in its stacks than there can be in a megabyte, names may have a kilobyte at each of them. */
enum { text_least = 256 << 20, locations_least = 1 << 20, text_for_a_location = 1024, text_around_a_name = 32, shortest_cut = 16 };

/* The most functions at an address. */
static uint32_t most_inlined(const struct cairn_profile *profile)
{
	uint32_t most = 0;
	for (size_t i = 0; i < profile->location_count; i++)
		if (profile->locations[i].frame_count > most)
			most = profile->locations[i].frame_count;
	return most;
}

static uint64_t count_locations(const struct cairn_profile *profile)
{
	uint64_t count = 0;
	for (size_t i = 0; i < profile->sample_count; i++)
		count += profile->samples[i].depth;
	return count;
}

/* How often each location is in a stack. The caller frees it. */
static uint64_t *count_uses(const struct cairn_profile *profile)
{
	uint64_t *uses = cairn_array_zero(profile->location_count + 1, sizeof *uses);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const uint32_t *stack = profile->stacks + profile->samples[i].stack;
		for (uint32_t d = 0; d < profile->samples[i].depth; d++)
			uses[stack[d]]++;
	}
	return uses;
}

/* The most functions that an address may have so that the stacks of all samples have at most LIMIT frames; at least one. */
static uint32_t fitting_frames(const struct cairn_profile *profile, const uint64_t *uses, uint64_t limit)
{
	uint64_t sizes[CAIRN_INLINED_MOST + 1] = {0}; /* uses of locations with so many functions; the last is of those with more, too */
	uint64_t larger = 0, sum = 0;
	for (size_t i = 0; i < profile->location_count; i++) {
		uint32_t count = profile->locations[i].frame_count;
		sizes[count < CAIRN_INLINED_MOST ? count : CAIRN_INLINED_MOST] += uses[i];
		larger += count > 0 ? uses[i] : 0;
	}
	/* With one function more, as many frames come as there are uses of locations that have it. */
	for (uint32_t most = 1; most <= CAIRN_INLINED_MOST; most++) {
		sum += larger;
		if (sum > limit)
			return most > 1 ? most - 1 : 1;
		larger -= sizes[most];
	}
	return CAIRN_INLINED_MOST;
}

static void bound_frames(struct cairn_profile *profile, uint32_t most)
{
	uint64_t cut = 0;
	for (size_t i = 0; i < profile->location_count; i++) {
		struct cairn_location *location = &profile->locations[i];
		if (location->frame_count <= most)
			continue;
		location->first_frame += location->frame_count - most;
		location->frame_count = most;
		cut++;
	}
	if (cut)
		cairn_profile_warn(profile,
				   "too many inlined calls for its stacks: of the functions at %llu %s, only the outermost %u are shown",
				   (unsigned long long)cut, cut == 1 ? "address" : "addresses", most);
}

static size_t length_of(const struct cairn_profile *profile, uint32_t text)
{
	return cairn_strings_bytes(&profile->strings, text).length;
}

/* What the functions' names and files take in all frames, where none is longer than MOST. */
static double text_within(const struct cairn_profile *profile, const uint64_t *frames, size_t most)
{
	double sum = 0;
	for (size_t i = 0; i < profile->function_count; i++) {
		size_t name = length_of(profile, profile->functions[i].name), file = length_of(profile, profile->functions[i].file);
		sum += (double)frames[i] * (double)((name < most ? name : most) + (file < most ? file : most) + text_around_a_name);
	}
	return sum;
}

static bool cut_text(struct cairn_profile *profile, uint32_t *text, size_t most)
{
	struct cairn_bytes bytes = cairn_strings_bytes(&profile->strings, *text);
	if (bytes.length <= most)
		return false;
	bytes.length = most;
	*text = cairn_strings_add(&profile->strings, bytes);
	return true;
}

static void bound_texts(struct cairn_profile *profile, const uint64_t *uses, double limit)
{
	uint64_t *frames = cairn_array_zero(profile->function_count + 1, sizeof *frames); /* of each function, and one for its place */
	size_t low = shortest_cut, high = 0, cut = 0;
	for (size_t i = 0; i < profile->location_count; i++)
		for (uint32_t k = 0; k < profile->locations[i].frame_count; k++)
			frames[profile->frames[profile->locations[i].first_frame + k].function] += uses[i] + 1;
	for (size_t i = 0; i < profile->function_count; i++) {
		size_t name = length_of(profile, profile->functions[i].name), file = length_of(profile, profile->functions[i].file);
		high = name > high ? name : high;
		high = file > high ? file : high;
	}
	if (text_within(profile, frames, high) > limit) {
		while (low + 1 < high) {
			size_t middle = low + (high - low) / 2;
			*(text_within(profile, frames, middle) > limit ? &high : &low) = middle;
		}
		for (size_t i = 0; i < profile->function_count; i++) {
			struct cairn_function *function = &profile->functions[i];
			bool name = cut_text(profile, &function->name, low), file = cut_text(profile, &function->file, low);
			cut_text(profile, &function->system_name, low);
			cut += name || file;
		}
	}
	if (cut)
		cairn_profile_warn(profile, "too long names for its stacks: of the names of %zu %s, only the first %zu bytes are shown", cut,
				   cut == 1 ? "function" : "functions", low);
	free(frames);
}

void cairn_profile_bound(struct cairn_profile *profile)
{
	uint32_t inlined = most_inlined(profile);
	if (inlined == 0)
		return;
	uint64_t locations = count_locations(profile), limit = frames_least + frames_for_a_location * locations;
	uint64_t *uses = count_uses(profile);
	if (inlined > 1)
		bound_frames(profile, locations > limit / inlined ? fitting_frames(profile, uses, limit) : CAIRN_INLINED_MOST);
	double more = locations > locations_least ? (double)(locations - locations_least) : 0;
	bound_texts(profile, uses, text_least + text_for_a_location * more);
	free(uses);
}
