/* perf_map_test.c - lines of a perf map name what lies in no file, and nothing else; any text may come.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/perf_map.h"
#include "tap.h"

static uint32_t add(struct cairn_profile *profile, uint64_t address, uint32_t mapping)
{
	return cairn_profile_new_location(profile, &(struct cairn_location){.address = address, .mapping = mapping});
}

static const char *name_of(const struct cairn_profile *profile, uint32_t location)
{
	const struct cairn_location *at = &profile->locations[location];
	return at->frame_count ? cairn_profile_string(profile, profile->functions[profile->frames[at->first_frame].function].name) : "";
}

/* Lines that all cover all addresses: each address is looked at a few times, not once for each line, which would take hours. */
static void many_lines(void)
{
	enum { lines = 200000, addresses = 200000 };
	struct cairn_buffer map = cairn_buffer(SIZE_MAX);
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	for (unsigned i = 0; i < addresses; i++)
		add(&profile, 0x1000 + i, CAIRN_NONE);
	for (unsigned i = 0; i < lines; i++)
		cairn_buffer_format(&map, "%x fffff f%u\n", i % 2 ? 0x1000 + addresses / 2 : 0x1000, i);
	cairn_perf_map_name(&profile, cairn_buffer_bytes(&map));
	is_text(name_of(&profile, 0), "f199998", "of very many lines the last that covers an address");
	is_text(name_of(&profile, addresses - 1), "f199999", "and another for the addresses that it covers");
	cairn_buffer_free(&map);
	cairn_profile_free(&profile);
}

int main(void)
{
	static const char map[] = "1000 10 first\n"
				  "1010 20 JS:*two words /a.js:3:21\n"
				  "1008 8 later wins\n"
				  "not a line\n"
				  "2000 10\n"
				  "ffffffffffffffff ffffffffffffffff wraps\n"
				  "3000 10 in a file\n"
				  "4000 0 empty\n"
				  "5000 10 being writ";
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	uint32_t module = cairn_profile_add_module(&profile, cairn_profile_text(&profile, "/bin/x"), 0);
	uint32_t anonymous = cairn_profile_add_module(&profile, cairn_profile_text(&profile, ""), 0);
	uint32_t file = cairn_profile_add_mapping(&profile, &(struct cairn_mapping){.start = 0x3000, .limit = 0x4000, .module = module});
	uint32_t memory =
		cairn_profile_add_mapping(&profile, &(struct cairn_mapping){.start = 0x1000, .limit = 0x2000, .module = anonymous});
	uint32_t first = add(&profile, 0x1000, memory), later = add(&profile, 0x100f, CAIRN_NONE), second = add(&profile, 0x102f, memory);
	uint32_t beyond = add(&profile, 0x1030, memory), in_file = add(&profile, 0x3001, file), empty = add(&profile, 0x4000, CAIRN_NONE);
	uint32_t unfinished = add(&profile, 0x5000, CAIRN_NONE);
	cairn_perf_map_name(&profile, cairn_bytes_of(map));
	is_text(name_of(&profile, first), "first", "the first byte of an entry");
	is_text(name_of(&profile, later), "later wins", "of two entries the later");
	is_text(name_of(&profile, second), "JS:*two words /a.js:3:21", "the last byte, and a name with blanks");
	is_text(name_of(&profile, beyond), "", "the byte after it has no name");
	is_text(name_of(&profile, in_file), "", "what lies in a file is named by that");
	is_text(name_of(&profile, empty), "", "an entry without a size covers nothing");
	is_text(name_of(&profile, unfinished), "", "a line without an end is not read");
	cairn_profile_free(&profile);
	many_lines();
	return tap_done();
}
