/* origin.c - a trailer's facts in the profile's own terms.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/origin.h"

static void take_build_id(struct cairn_profile *profile, const struct cairn_trailer_module *from)
{
	uint32_t path = cairn_strings_find(&profile->strings, from->path);
	if (path == CAIRN_NONE || path == 0 || from->build_id.length == 0)
		return;
	uint32_t module = cairn_profile_add_module(profile, path, 0);
	if (!profile->modules[module].build_id)
		profile->modules[module].build_id = cairn_strings_add(&profile->strings, from->build_id);
}

void cairn_profile_apply_trailer(struct cairn_profile *profile, const struct cairn_trailer *trailer)
{
	struct cairn_trailer_module module;
	for (size_t position = 0; cairn_trailer_next_module(trailer, &position, &module);)
		take_build_id(profile, &module);
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
	profile->since_ns = trailer->reset_ns > trailer->active_since_ns ? trailer->reset_ns : trailer->active_since_ns;
	profile->ended = cairn_strings_add(&profile->strings, cairn_trailer_value(trailer, "ended"));
	profile->limit_of_group = cairn_trailer_value(trailer, "group.usage").length > 0;
}
