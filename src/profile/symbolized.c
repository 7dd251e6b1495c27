/* symbolized.c - reads a profile that contains its names, as `jeprof --raw` and ClickHouse write it.
 *
 *  --- symbol
 *  binary=/usr/bin/service
 *  0x000000000042ecc2 main--inlined_into_main
 *  ---
 *  --- heap
 *  (any profile)
 *
 * Names are outermost first. For a leaf, some writers use the address in the dump and others that minus one, so a location that is not
 * found by its address is looked up by its neighbour.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"

#include "base/array.h"
#include "base/text.h"
#include "profile/bound.h"

#include <stdlib.h>

struct names {
	struct cairn_map by_address; /* to lines */
	struct cairn_bytes *lines;   /* "outer--inner", borrowed from the input */
	size_t count, capacity;
	size_t odd_lines;
};

/* Writers that have no name for an address repeat the address. */
static bool is_no_name(struct cairn_bytes name)
{
	uint64_t number;
	return name.length == 0 || (cairn_bytes_start_with(name, "0x") && cairn_text_hex(&name, &number) && name.length == 0);
}

/* Reads the symbol section from REST, up to and including the line of three dashes that ends it. */
static bool read_names(struct cairn_profile *profile, struct cairn_bytes *rest, struct names *names)
{
	struct cairn_bytes line;
	while (cairn_text_line(rest, &line, NULL)) {
		line = cairn_text_trim(line);
		uint64_t address;
		if (cairn_bytes_start_with(line, "---"))
			return true;
		if (cairn_text_take(&line, "binary=")) {
			profile->facts.process = cairn_strings_add(&profile->strings, cairn_text_trim(line));
		} else if (cairn_bytes_start_with(line, "0x") && cairn_text_hex(&line, &address)) {
			line = cairn_text_trim(line);
			if (is_no_name(line))
				continue;
			*cairn_map_at(&names->by_address, address) = (uint32_t)names->count;
			cairn_array_room(names->lines, names->count, names->capacity);
			names->lines[names->count++] = line;
		} else {
			names->odd_lines += line.length > 0;
		}
	}
	return false;
}

/* Removes the innermost name from the end of LINE. The dashes of C++'s operator-- separate nothing. */
static struct cairn_bytes take_innermost(struct cairn_bytes *line)
{
	static const char operator_name[] = "operator";
	const size_t operator_length = sizeof operator_name - 1;
	for (size_t at = line->length; at >= 2; at--) {
		if (memcmp(line->data + at - 2, "--", 2) != 0)
			continue;
		size_t before = at - 2;
		if (before >= operator_length &&
		    memcmp(line->data + before - operator_length, operator_name, operator_length) == 0)
			continue;
		struct cairn_bytes name = cairn_bytes_skip(*line, at);
		line->length = before;
		return name;
	}
	struct cairn_bytes name = *line;
	line->length = 0;
	return name;
}

static void set_names(struct cairn_profile *profile, uint32_t location, struct cairn_bytes line)
{
	struct cairn_frame *frames = NULL;
	size_t count = 0, capacity = 0;
	while (line.length > 0) {
		uint32_t name = cairn_strings_add(&profile->strings, take_innermost(&line));
		cairn_array_room(frames, count, capacity);
		frames[count++] =
			(struct cairn_frame){.function = cairn_profile_add_function(
						     profile, &(struct cairn_function){.name = name, .system_name = name})};
	}
	cairn_profile_set_frames(profile, location, frames, count);
	free(frames);
}

/* Returns how many locations got a name. */
static size_t attach_names(struct cairn_profile *profile, const struct names *names)
{
	size_t named = 0;
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		uint32_t line = cairn_map_get(&names->by_address, location->address);
		if (line == CAIRN_NONE)
			line = cairn_map_get(&names->by_address, location->is_call ? location->address + 1 : location->address - 1);
		if (line == CAIRN_NONE || location->frame_count)
			continue;
		set_names(profile, (uint32_t)i, names->lines[line]);
		named++;
	}
	cairn_profile_bound(profile);
	return named;
}

static void free_names(struct names *names)
{
	cairn_map_free(&names->by_address);
	free(names->lines);
}

size_t cairn_symbolized_attach(struct cairn_profile *profile, struct cairn_bytes text)
{
	struct names names = {0};
	read_names(profile, &text, &names);
	size_t named = attach_names(profile, &names);
	free_names(&names);
	return named;
}

bool cairn_symbolized_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error)
{
	struct cairn_profile *profile = reader->profile;
	struct cairn_bytes line = {0};
	cairn_text_line(&text, &line, NULL);
	if (!cairn_text_take(&line, "---") || !cairn_bytes_start_with(cairn_text_trim(line), "symbol"))
		return cairn_fail(error, "%s: not a symbolized profile: \"--- symbol\" is missing", reader->name);
	struct names names = {0};
	bool good = read_names(profile, &text, &names) || cairn_fail(error, "%s: cut short in its symbol section", reader->name);
	uint32_t process = profile->facts.process;
	good = good && cairn_profile_read_plain(reader, text, error);
	if (good) {
		attach_names(profile, &names);
		if (names.odd_lines)
			cairn_profile_warn(profile, "%zu lines of the symbol section are no names", names.odd_lines);
		if (process)
			profile->facts.process = process;
		static const char *const formats[] = {
			[CAIRN_PROFILE_HEAP] = "symbolized heap profile",
			[CAIRN_PROFILE_GROWTH] = "symbolized growth profile",
			[CAIRN_PROFILE_CPU] = "symbolized CPU profile",
			[CAIRN_PROFILE_CONTENTION] = "symbolized contention profile",
			[CAIRN_PROFILE_OTHER] = "symbolized profile",
		};
		profile->format = formats[profile->kind];
	}
	free_names(&names);
	return good;
}
