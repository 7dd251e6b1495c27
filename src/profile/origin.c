/* origin.c - copies the facts of a trailer into a profile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/origin.h"

#include "base/array.h"
#include "base/text.h"
#include "profile/maps.h"

#include <stdlib.h>

/* The agent writes 512 at most; each of them is compared with those before it. */
enum { most_unloaded = 4096, warning_most = 500 };

/* Addresses in the process; BUILD_ID says what was there, and is 0 if that does not matter. */
struct range {
	uint64_t start, limit;
	uint32_t build_id;
};

struct ranges {
	struct range *items;
	size_t count, capacity;
};

static void add_range(struct ranges *ranges, uint64_t start, uint64_t limit, uint32_t build_id)
{
	cairn_array_room(ranges->items, ranges->count, ranges->capacity);
	ranges->items[ranges->count++] = (struct range){start, limit, build_id};
}

static int compare_starts(const void *a, const void *b)
{
	const struct range *left = a, *right = b;
	return (left->start > right->start) - (left->start < right->start);
}

static void sort_ranges(struct ranges *ranges)
{
	if (ranges->count)
		qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_starts);
}

/* The last of the sorted RANGES that starts before END, if it reaches beyond START; otherwise NULL. */
static const struct range *find_range(const struct ranges *ranges, uint64_t start, uint64_t end)
{
	size_t low = 0, high = ranges->count; /* those below LOW start before END */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->items[middle].start < end)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && ranges->items[low - 1].limit > start ? &ranges->items[low - 1] : NULL;
}

void cairn_profile_take_build_ids(struct cairn_profile *profile, const struct cairn_trailer *trailer)
{
	struct ranges ranges = {0};
	struct cairn_trailer_module from;
	for (size_t position = 0; cairn_trailer_next_module(trailer, &position, &from);)
		if (from.build_id.length)
			add_range(&ranges, from.start, from.end, cairn_strings_add(&profile->strings, from.build_id));
	sort_ranges(&ranges);
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		struct cairn_module *module = &profile->modules[mapping->module];
		const struct range *range = find_range(&ranges, mapping->start, mapping->limit);
		if (range && module->path && !module->build_id)
			module->build_id = range->build_id;
	}
	free(ranges.items);
}

/* The dump's own map. The limit of each range is the highest of it and all before it, so that one look says whether any of these reaches an
 * address. */
static struct ranges list_mapped(const struct cairn_profile *profile)
{
	struct ranges ranges = {0};
	for (size_t i = 0; i < profile->mapping_count; i++)
		add_range(&ranges, profile->mappings[i].start, profile->mappings[i].limit, 0);
	sort_ranges(&ranges);
	for (size_t i = 1; i < ranges.count; i++)
		if (ranges.items[i].limit < ranges.items[i - 1].limit)
			ranges.items[i].limit = ranges.items[i - 1].limit;
	return ranges;
}

/* Addresses that the dump's own map does not cover belong to the library that was loaded there before. If another library is loaded there
 * now, the two cannot be told apart. */
static void add_unloaded(struct cairn_profile *profile, const struct cairn_trailer *trailer)
{
	struct cairn_trailer_module from;
	size_t own = profile->mapping_count, ambiguous = 0, seen = 0;
	struct ranges mapped = list_mapped(profile);
	for (size_t position = 0; cairn_trailer_next_unloaded(trailer, &position, &from);) {
		if (++seen > most_unloaded)
			break;
		bool taken = from.end <= from.start || from.path.length == 0 || find_range(&mapped, from.start, from.end);
		for (size_t i = own; i < profile->mapping_count && !taken; i++)
			taken = from.start < profile->mappings[i].limit && from.end > profile->mappings[i].start;
		ambiguous += taken;
		if (taken)
			continue;
		uint32_t id = from.build_id.length ? cairn_strings_add(&profile->strings, from.build_id) : 0;
		uint32_t module = cairn_profile_add_module(profile, cairn_strings_add(&profile->strings, from.path), id);
		cairn_profile_add_mapping(
			profile, &(struct cairn_mapping){.start = from.start, .limit = from.end, .offset = from.offset, .module = module});
	}
	free(mapped.items);
	if (profile->mapping_count > own)
		cairn_maps_attach(profile);
	if (seen > most_unloaded)
		cairn_profile_warn(profile, "its trailer lists more than %d unloaded libraries; the others were left out", most_unloaded);
	if (ambiguous)
		cairn_profile_warn(profile,
				   "%zu %s unloaded and another loaded in %s place: what they allocated may show the other's names",
				   ambiguous, ambiguous == 1 ? "library was" : "libraries were", ambiguous == 1 ? "its" : "their");
}

/* The memory of the process when sampling began; 0 if it began with the process, which then has the data of its libraries and little
 * else. What a forked child has is its parent's. */
static double memory_before(const struct cairn_trailer *trailer, int64_t since_ns)
{
	static const double fresh_most = 8 << 20;
	double before = (double)cairn_trailer_number(trailer, "active_before");
	bool late = cairn_sampled_late(trailer->start_ns, since_ns) || cairn_trailer_number(trailer, "sampler.inherited");
	return late || before > fresh_most ? before : 0;
}

void cairn_profile_apply_trailer(struct cairn_profile *profile, const struct cairn_trailer *trailer)
{
	cairn_profile_take_build_ids(profile, trailer);
	add_unloaded(profile, trailer);
	if (trailer->executable.length)
		profile->facts.process = cairn_strings_add(&profile->strings, trailer->executable);
	if (trailer->pid > 0)
		profile->facts.process_id = (uint64_t)trailer->pid;
	if (trailer->time_ns > 0)
		profile->facts.time_ns = trailer->time_ns;
	profile->facts.start_ns = trailer->start_ns;
	profile->facts.uptime_ns = trailer->uptime_ns;
	profile->facts.life = cairn_strings_add(&profile->strings, cairn_trailer_value(trailer, "process"));
	profile->facts.resident_bytes = (double)cairn_trailer_number(trailer, "smaps.rss");
	profile->facts.anonymous_bytes = (double)cairn_trailer_number(trailer, "smaps.anonymous");
	profile->facts.swap_bytes = (double)cairn_trailer_number(trailer, "smaps.swap");
	profile->facts.limit_bytes = (double)cairn_trailer_number(trailer, "limit");
	profile->facts.available_bytes = (double)cairn_trailer_number(trailer, "available");
	profile->facts.allocated_bytes = (double)cairn_trailer_number(trailer, "stats.allocated");
	profile->facts.since_ns = trailer->reset_ns > trailer->active_since_ns ? trailer->reset_ns : trailer->active_since_ns;
	profile->facts.before_bytes = memory_before(trailer, profile->facts.since_ns);
	cairn_text_seconds(cairn_trailer_value(trailer, "sampler.peak_at"), &profile->facts.peak_ns);
	profile->facts.trailer = cairn_strings_add(&profile->strings, trailer->text);
	struct cairn_bytes warning = cairn_trailer_value(trailer, "warning");
	if (warning.length)
		cairn_profile_warn(profile, "%.*s", (int)(warning.length < warning_most ? warning.length : warning_most), warning.data);
	profile->facts.ended = cairn_strings_add(&profile->strings, cairn_trailer_value(trailer, "ended"));
	uint64_t charged = cairn_trailer_number(trailer, "group.usage"), cache = cairn_trailer_number(trailer, "group.cache");
	profile->facts.group_bytes = (double)(charged - (cache < charged ? cache : charged));
	profile->facts.limit_of_group = cairn_trailer_value(trailer, "group.usage").length > 0;
}

double cairn_profile_sampled_seconds(const struct cairn_profile *profile)
{
	int64_t since = profile->facts.since_ns ? profile->facts.since_ns : profile->facts.start_ns;
	return since > 0 && profile->facts.time_ns > since ? (double)(profile->facts.time_ns - since) / 1e9 : 0;
}
