/* symbolized_write.c - the symbol section, and a flat heap profile where there is no single file to copy.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/symbolized_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void write_names(const struct cairn_profile *profile, const struct cairn_location *location, uint64_t address, struct cairn_buffer *out)
{
	if (!location->frame_count)
		return;
	cairn_buffer_format(out, "0x%016" PRIx64 " ", address);
	for (uint32_t f = location->frame_count; f-- > 0;) {
		uint32_t function = profile->frames[location->first_frame + f].function;
		struct cairn_bytes name = cairn_strings_bytes(&profile->strings, profile->functions[function].name);
		cairn_buffer_append(out, name.length ? name.data : "??", name.length ? name.length : 2);
		cairn_buffer_text(out, f ? "--" : "\n");
	}
}

static void write_section(const struct cairn_profile *profile, const char *program, struct cairn_buffer *out)
{
	enum { is_leaf = 1, is_caller = 2 };
	unsigned char *used = calloc(profile->location_count + 1, 1);
	if (!used)
		cairn_out_of_memory(profile->location_count);
	for (size_t i = 0; i < profile->sample_count; i++)
		for (uint32_t d = 0; d < profile->samples[i].depth; d++)
			used[profile->stacks[profile->samples[i].stack + d]] |= d ? is_caller : is_leaf;
	cairn_buffer_text(out, "--- symbol\n");
	if (program || profile->process)
		cairn_buffer_format(out, "binary=%s\n", program ? program : cairn_profile_string(profile, profile->process));
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (used[i] & is_caller)
			write_names(profile, location, location->address, out);
		if (used[i] & is_leaf && (location->is_call || !(used[i] & is_caller)))
			write_names(profile, location, location->address + location->is_call, out);
	}
	cairn_buffer_text(out, "---\n");
	free(used);
}

/* The values of a line: live objects and bytes, then all. What the profile does not have is taken from the pair it has. */
struct columns {
	uint32_t at[4];
};

static bool find_columns(const struct cairn_profile *profile, struct columns *columns)
{
	static const char *const names[2][4] = {{"inuse_objects", "inuse_space", "alloc_objects", "alloc_space"}, {"objects", "space", "objects", "space"}};
	const char *const *wanted = names[profile->kind == CAIRN_PROFILE_GROWTH];
	for (size_t i = 0; i < 4; i++)
		columns->at[i] = cairn_profile_find_value(profile, wanted[i]);
	for (size_t i = 0; i < 4; i++)
		if (columns->at[i] == CAIRN_NONE)
			columns->at[i] = columns->at[(i + 2) % 4];
	return columns->at[0] != CAIRN_NONE && columns->at[1] != CAIRN_NONE;
}

static void write_counts(const double *values, const struct columns *columns, struct cairn_buffer *out)
{
	long long numbers[4];
	for (size_t i = 0; i < 4; i++)
		numbers[i] = llround(values[columns->at[i]]);
	cairn_buffer_format(out, "%lld: %lld [%lld: %lld] @", numbers[0], numbers[1], numbers[2], numbers[3]);
}

static void write_flat(const struct cairn_profile *profile, const struct columns *columns, struct cairn_buffer *out)
{
	double totals[CAIRN_VALUES_MAX] = {0};
	for (uint32_t v = 0; v < profile->value_count; v++)
		totals[v] = cairn_profile_total(profile, v);
	cairn_buffer_text(out, "heap profile: ");
	write_counts(totals, columns, out);
	cairn_buffer_text(out, profile->kind == CAIRN_PROFILE_GROWTH ? " growth\n" : " heapprofile\n");
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct cairn_sample *sample = &profile->samples[i];
		write_counts(cairn_profile_values(profile, i), columns, out);
		for (uint32_t d = 0; d < sample->depth; d++) {
			const struct cairn_location *location = &profile->locations[profile->stacks[sample->stack + d]];
			cairn_buffer_byte(out, ' ');
			cairn_buffer_hex(out, location->address + location->is_call);
		}
		cairn_buffer_byte(out, '\n');
	}
	cairn_buffer_text(out, "\nMAPPED_LIBRARIES:\n");
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		cairn_buffer_format(out, "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " 00:00 0 %s\n", mapping->start, mapping->limit, mapping->offset,
				    cairn_profile_string(profile, profile->modules[mapping->module].path));
	}
}

bool cairn_symbolized_write(const struct cairn_profile *profile, const char *program, struct cairn_bytes original, struct cairn_buffer *out,
			    struct cairn_error *error)
{
	struct columns columns;
	if (!original.length && !find_columns(profile, &columns))
		return cairn_fail(error, "only heap and growth profiles can be written with their names");
	write_section(profile, program, out);
	cairn_buffer_text(out, profile->kind == CAIRN_PROFILE_GROWTH ? "--- growth\n" : profile->kind == CAIRN_PROFILE_CPU ? "--- profile\n" : "--- heap\n");
	if (original.length)
		cairn_buffer_append(out, original.data, original.length);
	else
		write_flat(profile, &columns, out);
	return true;
}
