/* reader.h - what must hold after a reader was given any bytes at all: every index is in range, and the profile survives
 * being written as pprof and read again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_FUZZ_READER_H
#define CAIRN_TESTS_FUZZ_READER_H

#include "profile/pprof_write.h"
#include "profile/read.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef bool read_function(struct cairn_reader *reader, struct cairn_bytes bytes, struct cairn_error *error);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void check_indices(const struct cairn_profile *profile)
{
	must(profile->value_count > 0 && profile->value_count <= CAIRN_VALUES_MAX &&
	     profile->default_value < profile->value_count);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct cairn_sample *sample = &profile->samples[i];
		must((size_t)sample->stack + sample->depth <= profile->stack_count && sample->labels < profile->label_set_count);
		for (uint32_t frame = 0; frame < sample->depth; frame++)
			must(profile->stacks[sample->stack + frame] < profile->location_count);
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		must(location->mapping == CAIRN_NONE || location->mapping < profile->mapping_count);
		must((size_t)location->first_frame + location->frame_count <= profile->frame_count);
	}
	for (size_t i = 0; i < profile->mapping_count; i++)
		must(profile->mappings[i].module < profile->module_count);
	for (size_t i = 0; i < profile->frame_count; i++)
		must(profile->frames[i].function < profile->function_count);
}

static bool is_whole(double value)
{
	return fabs(value) < 0x1p53 && value == floor(value);
}

static void check_same(const struct cairn_profile *before, const struct cairn_profile *after)
{
	must(before->sample_count == after->sample_count && before->value_count == after->value_count);
	must(before->mapping_count == after->mapping_count);
	for (size_t i = 0; i < before->sample_count; i++) {
		must(before->samples[i].depth == after->samples[i].depth);
		for (uint32_t value = 0; value < before->value_count; value++) {
			double old = cairn_profile_values(before, i)[value], new = cairn_profile_values(after, i)[value];
			must(is_whole(old) ? old == new : fabs(old) >= 0x1p53 || fabs(old - new) <= 1);
		}
	}
}

static void check_rewrite(const struct cairn_profile *profile)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_profile again;
	struct cairn_error error;
	must(cairn_pprof_write(profile, &(struct cairn_pprof_options){.names = CAIRN_PPROF_NAMES_ALL}, &out));
	cairn_profile_init(&again);
	struct cairn_reader reader = {.profile = &again, .name = "again"};
	must(cairn_pprof_read(&reader, cairn_buffer_bytes(&out), &error));
	check_same(profile, &again);
	cairn_profile_free(&again);
	cairn_buffer_free(&out);
}

static int check_reader(read_function *read, const uint8_t *data, size_t size)
{
	struct cairn_profile profile;
	struct cairn_error error;
	cairn_profile_init(&profile);
	struct cairn_reader reader = {.profile = &profile, .name = "input"};
	if (read(&reader, (struct cairn_bytes){(const char *)data, size}, &error)) {
		check_indices(&profile);
		check_rewrite(&profile);
	}
	cairn_profile_free(&profile);
	return 0;
}

#endif
