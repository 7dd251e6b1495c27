/* origin.c - copies the facts of a trailer into a profile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/origin.h"

#include "base/text.h"
#include "profile/maps.h"

static void take_build_id(struct cairn_profile *profile, const struct cairn_trailer_module *from)
{
	uint32_t path = cairn_strings_find(&profile->strings, from->path);
	if (path == CAIRN_NONE || path == 0 || from->build_id.length == 0)
		return;
	uint32_t module = cairn_profile_add_module(profile, path, 0);
	if (!profile->modules[module].build_id)
		profile->modules[module].build_id = cairn_strings_add(&profile->strings, from->build_id);
}

/* Addresses that the dump's own map does not cover belong to the library that was loaded there before. If another library is loaded there
 * now, the two cannot be told apart. */
static void add_unloaded(struct cairn_profile *profile, const struct cairn_trailer *trailer)
{
	struct cairn_trailer_module from;
	size_t own = profile->mapping_count, ambiguous = 0;
	for (size_t position = 0; cairn_trailer_next_unloaded(trailer, &position, &from);) {
		bool taken = from.end <= from.start || from.path.length == 0;
		for (size_t i = 0; i < profile->mapping_count && !taken; i++)
			taken = from.start < profile->mappings[i].limit && from.end > profile->mappings[i].start;
		ambiguous += taken;
		if (taken)
			continue;
		uint32_t id = from.build_id.length ? cairn_strings_add(&profile->strings, from.build_id) : 0;
		uint32_t module = cairn_profile_add_module(profile, cairn_strings_add(&profile->strings, from.path), id);
		cairn_profile_add_mapping(
			profile, &(struct cairn_mapping){.start = from.start, .limit = from.end, .offset = from.offset, .module = module});
	}
	if (profile->mapping_count > own)
		cairn_maps_attach(profile);
	if (ambiguous)
		cairn_profile_warn(profile,
				   "%zu %s unloaded and another loaded in %s place: what they allocated may show the other's names",
				   ambiguous, ambiguous == 1 ? "library was" : "libraries were", ambiguous == 1 ? "its" : "their");
}

void cairn_profile_apply_trailer(struct cairn_profile *profile, const struct cairn_trailer *trailer)
{
	struct cairn_trailer_module module;
	for (size_t position = 0; cairn_trailer_next_module(trailer, &position, &module);)
		take_build_id(profile, &module);
	add_unloaded(profile, trailer);
	if (trailer->executable.length)
		profile->process = cairn_strings_add(&profile->strings, trailer->executable);
	if (trailer->pid > 0)
		profile->process_id = (uint64_t)trailer->pid;
	if (trailer->time_ns > 0)
		profile->time_ns = trailer->time_ns;
	profile->start_ns = trailer->start_ns;
	profile->uptime_ns = trailer->uptime_ns;
	profile->life = cairn_strings_add(&profile->strings, cairn_trailer_value(trailer, "process"));
	profile->resident_bytes = (double)cairn_trailer_number(trailer, "smaps.rss");
	profile->limit_bytes = (double)cairn_trailer_number(trailer, "limit");
	profile->allocated_bytes = (double)cairn_trailer_number(trailer, "stats.allocated");
	profile->before_bytes = (double)cairn_trailer_number(trailer, "active_before");
	profile->since_ns = trailer->reset_ns > trailer->active_since_ns ? trailer->reset_ns : trailer->active_since_ns;
	cairn_text_seconds(cairn_trailer_value(trailer, "sampler.peak_at"), &profile->peak_ns);
	profile->trailer = cairn_strings_add(&profile->strings, trailer->text);
	profile->ended = cairn_strings_add(&profile->strings, cairn_trailer_value(trailer, "ended"));
	profile->limit_of_group = cairn_trailer_value(trailer, "group.usage").length > 0;
}

double cairn_profile_sampled_seconds(const struct cairn_profile *profile)
{
	int64_t since = profile->since_ns ? profile->since_ns : profile->start_ns;
	return since > 0 && profile->time_ns > since ? (double)(profile->time_ns - since) / 1e9 : 0;
}
