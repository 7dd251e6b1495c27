/* flat_write.c - writes the formats that flat.c and symbolized.c read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/flat_write.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/whole.h"

#include <math.h>
#include <stdlib.h>

struct writer {
	const struct cairn_profile *profile;
	struct cairn_buffer *out;
	uint32_t columns[4]; /* live objects and bytes, total objects and bytes; CAIRN_NONE for those that the profile does not have */
	uint64_t *numbers;   /* by location: the address that is written for it */
};

static bool find_columns(struct writer *writer, struct cairn_error *error)
{
	static const char *const heap[4] = {"inuse_objects", "inuse_space", "alloc_objects", "alloc_space"};
	static const char *const growth[4] = {"objects", "space", "objects", "space"};
	const char *const *types = writer->profile->kind == CAIRN_PROFILE_GROWTH ? growth : heap;
	for (int i = 0; i < 4; i++)
		writer->columns[i] = cairn_profile_find_value(writer->profile, types[i]);
	if (writer->columns[1] == CAIRN_NONE && writer->columns[3] == CAIRN_NONE)
		return cairn_fail(error, "this format holds growth and heap profiles only, and the profile is of something else");
	return true;
}

static void write_counts(const struct writer *writer, const double *values)
{
	int64_t counts[4];
	for (int i = 0; i < 4; i++)
		counts[i] = writer->columns[i] == CAIRN_NONE ? 0 : cairn_whole(rint(values[writer->columns[i]]));
	/* If the profile has no counts of all allocations, the live counts are written instead. */
	bool has_all = writer->columns[3] != CAIRN_NONE;
	cairn_buffer_format(writer->out, "%7lld: %8lld [%7lld: %8lld] @", (long long)counts[0], (long long)counts[1],
			    (long long)counts[has_all ? 2 : 0], (long long)counts[has_all ? 3 : 1]);
}

static bool same_names(const struct cairn_profile *profile, const struct cairn_location *a, const struct cairn_location *b)
{
	bool same = a->frame_count == b->frame_count && cairn_profile_module(profile, a) == cairn_profile_module(profile, b);
	for (uint32_t i = 0; same && i < a->frame_count; i++)
		same = profile->frames[a->first_frame + i].function == profile->frames[b->first_frame + i].function;
	return same;
}

/* Takes NUMBER, and the one before, which readers look up for a call, for a location; false if another, with other names, has one of
 * them. */
static bool take_number(const struct cairn_profile *profile, struct cairn_map *taken, uint64_t number, uint32_t location)
{
	for (uint64_t key = number - 1; key != number + 1; key++) {
		uint32_t other = cairn_map_get(taken, key);
		if (other != CAIRN_NONE && !same_names(profile, &profile->locations[other], &profile->locations[location]))
			return false;
	}
	for (uint64_t key = number - 1; key != number + 1; key++)
		*cairn_map_at(taken, key) = location;
	return true;
}

/* Where no program has addresses: above those of user space, but below 2^63, because jeprof leaves out what is higher. */
static const uint64_t invented = UINT64_C(0x7a14000000000000);

/* The addresses of all locations as they were in the dump. A location without an address gets one that no program uses; so does one whose
 * address is that of another, if they are to be UNIQUE: in a sum, another module may have been in the same place. */
static void number_locations(struct writer *writer, bool unique)
{
	const struct cairn_profile *profile = writer->profile;
	struct cairn_map taken = {0};
	writer->numbers = cairn_array_new(profile->location_count, sizeof *writer->numbers);
	for (uint32_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		uint64_t number = location->address + location->is_call;
		if (!location->address || (unique && !take_number(profile, &taken, number, i)))
			number = invented + (uint64_t)i * 16 + 1;
		writer->numbers[i] = number;
	}
	cairn_map_free(&taken);
}

static void write_maps(const struct writer *writer)
{
	const struct cairn_profile *profile = writer->profile;
	cairn_buffer_text(writer->out, "\nMAPPED_LIBRARIES:\n");
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		const struct cairn_module *module = &profile->modules[mapping->module];
		cairn_buffer_format(writer->out, "%llx-%llx r-xp %08llx 00:00 0 %s%s\n", (unsigned long long)mapping->start,
				    (unsigned long long)mapping->limit, (unsigned long long)mapping->offset,
				    cairn_profile_string(profile, module->path), module->deleted ? " (deleted)" : "");
	}
}

static void write_profile(const struct writer *writer)
{
	const struct cairn_profile *profile = writer->profile;
	double totals[CAIRN_VALUES_MAX];
	for (uint32_t v = 0; v < profile->value_count; v++)
		totals[v] = cairn_profile_total(profile, v);
	cairn_buffer_text(writer->out, "heap profile: ");
	write_counts(writer, totals);
	cairn_buffer_text(writer->out, profile->kind == CAIRN_PROFILE_GROWTH ? " growth\n" : " heapprofile\n");
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct cairn_sample *sample = &profile->samples[i];
		write_counts(writer, cairn_profile_values(profile, i));
		for (uint32_t d = 0; d < sample->depth; d++) {
			cairn_buffer_byte(writer->out, ' ');
			cairn_buffer_hex(writer->out, writer->numbers[profile->stacks[sample->stack + d]]);
		}
		cairn_buffer_byte(writer->out, '\n');
	}
	write_maps(writer);
}

static bool has_addresses(const struct cairn_profile *profile)
{
	for (size_t i = 0; i < profile->location_count; i++)
		if (profile->locations[i].address)
			return true;
	return false;
}

bool cairn_flat_write(const struct cairn_profile *profile, struct cairn_buffer *out, struct cairn_error *error)
{
	struct writer writer = {.profile = profile, .out = out};
	if (!find_columns(&writer, error))
		return false;
	if (!has_addresses(profile))
		return cairn_fail(error, "this format holds addresses, and the profile has names only");
	number_locations(&writer, true);
	write_profile(&writer);
	free(writer.numbers);
	return true;
}

/* A line end would end the name, and two dashes separate names. Readers know that the dashes of C++'s operator-- do not. */
static void write_name(struct cairn_buffer *out, struct cairn_bytes name)
{
	for (size_t i = 0; i < name.length; i++) {
		bool dashes = name.data[i] == '-' && i + 1 < name.length && name.data[i + 1] == '-';
		if (dashes && !(i >= 8 && memcmp(name.data + i - 8, "operator", 8) == 0))
			cairn_buffer_text(out, "- ");
		else if (dashes)
			cairn_buffer_text(out, "--"), i++;
		else
			cairn_buffer_byte(out, name.data[i] == '\n' || name.data[i] == '\r' ? ' ' : name.data[i]);
	}
}

static void write_symbol(const struct writer *writer, uint64_t key, const struct cairn_location *location)
{
	const struct cairn_profile *profile = writer->profile;
	cairn_buffer_format(writer->out, "0x%016llx ", (unsigned long long)key);
	for (uint32_t f = location->frame_count; f-- > 0;) {
		uint32_t function = profile->frames[location->first_frame + f].function;
		write_name(writer->out, cairn_strings_bytes(&profile->strings, profile->functions[function].name));
		cairn_buffer_text(writer->out, f ? "--" : "\n");
	}
}

/* Readers look up the address of a leaf as it is, and that of a caller minus one; in CPU profiles, jeprof subtracts one from a leaf as
 * well. */
static void write_symbols(const struct writer *writer)
{
	const struct cairn_profile *profile = writer->profile;
	enum { as_leaf = 1, as_caller = 2 };
	const unsigned char leaf = profile->kind == CAIRN_PROFILE_CPU ? as_leaf | as_caller : as_leaf;
	unsigned char *used = cairn_array_zero(profile->location_count, 1);
	for (size_t i = 0; i < profile->sample_count; i++)
		for (uint32_t d = 0; d < profile->samples[i].depth; d++)
			used[profile->stacks[profile->samples[i].stack + d]] |= d ? as_caller : leaf;
	for (uint32_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (location->frame_count == 0)
			continue;
		if (used[i] & as_leaf)
			write_symbol(writer, writer->numbers[i], location);
		if (used[i] & as_caller)
			write_symbol(writer, writer->numbers[i] - 1, location);
	}
	free(used);
}

static void write_names(const struct writer *writer, const char *program)
{
	const struct cairn_profile *profile = writer->profile;
	if (!program)
		program = profile->facts.process ? cairn_profile_string(profile, profile->facts.process) : "unknown";
	cairn_buffer_format(writer->out, "--- symbol\nbinary=%s\n", program);
	write_symbols(writer);
	cairn_buffer_text(writer->out, "---\n");
}

void cairn_symbolized_names(const struct cairn_profile *profile, const char *program, struct cairn_buffer *out)
{
	struct writer writer = {.profile = profile, .out = out};
	number_locations(&writer, false); /* the profile that follows has the addresses that it has */
	write_names(&writer, program);
	free(writer.numbers);
}

bool cairn_symbolized_write(const struct cairn_profile *profile, struct cairn_buffer *out, struct cairn_error *error)
{
	struct writer writer = {.profile = profile, .out = out};
	if (!find_columns(&writer, error))
		return false;
	number_locations(&writer, true);
	/* Some writers put a line "--- heap" here; gperftools' own reader does not know it, and no other reader needs it. */
	write_names(&writer, NULL);
	write_profile(&writer);
	free(writer.numbers);
	return true;
}
