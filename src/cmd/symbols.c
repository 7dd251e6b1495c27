/* symbols.c - `cairn symbols push`: uploads debug files to a collector; and `cairn symbols -`: names of addresses for the agent's symbol
 * routes.
 *
 * For the latter, standard input is a memory map followed by lines `0xADDRESS`. The output has one line `0xADDRESS<tab>NAME` for each
 * address that has a name, in the order of the first request. Inlined functions are joined by `--`, outermost first, as jeprof's protocol
 * requires. Stock jeprof removes frames called malloc and the like, but knows neither prefixes nor jemalloc's inner functions, so all of
 * those are called malloc here, including the ones in a stripped libjemalloc. Nobody types that, so it is not in the help.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/symbols/push.h"
#include "profile/maps.h"
#include "symbol/allocator.h"
#include "symbol/symbolize.h"

#include <stdlib.h>

struct options {
	const char *to, *token;
};

static const struct cairn_option table[] = {
	{0, "to", "URL", "the address of the collector, such as http://collector:4920", CAIRN_OPTION_TEXT, offsetof(struct options, to), 0},
	{0, "token", "TOKEN", "the token that the collector asks for (default: $CAIRN_COLLECTOR_TOKEN)", CAIRN_OPTION_TEXT,
	 offsetof(struct options, token), 0},
	{0},
};

static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};

static void read_addresses(struct cairn_profile *profile, struct cairn_bytes text)
{
	struct cairn_bytes line;
	while (cairn_text_line(&text, &line, NULL)) {
		uint64_t address;
		if (cairn_bytes_start_with(line, "0x") && cairn_text_hex(&line, &address) && line.length == 0)
			cairn_profile_add_location(profile, address, CAIRN_NONE, false);
	}
}

/* Whether location ID is in the file of an allocator, such as libjemalloc.so. */
static bool is_in_allocator(const struct cairn_profile *profile, uint32_t id)
{
	const struct cairn_module *module = cairn_profile_module(profile, &profile->locations[id]);
	return module && cairn_allocator_is_module(cairn_profile_string(profile, module->path));
}

/* The number of LOCATION's frames, from the innermost on, that belong to the allocator. */
static uint32_t count_allocator(const struct cairn_allocator *allocator, uint32_t id)
{
	const struct cairn_location *location = &allocator->profile->locations[id];
	struct cairn_allocator_walk walk = {0};
	for (uint32_t i = 0; i < location->frame_count; i++)
		cairn_allocator_step(&walk, cairn_allocator_frame(allocator, id, location->first_frame + i));
	return location->frame_count - (uint32_t)walk.kept;
}

static const char *name_of(const struct cairn_profile *profile, uint32_t frame)
{
	return cairn_profile_string(profile, profile->functions[profile->frames[frame].function].name);
}

static void write_names(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	struct cairn_allocator allocator;
	cairn_allocator_learn(&allocator, profile);
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		bool unnamed = location->frame_count == 0;
		if (unnamed && !is_in_allocator(profile, (uint32_t)i))
			continue;
		cairn_buffer_hex(out, location->address);
		cairn_buffer_text(out, unnamed ? "\tmalloc\n" : "\t");
		uint32_t own = count_allocator(&allocator, (uint32_t)i);
		for (uint32_t frame = location->frame_count; frame-- > own;)
			cairn_buffer_format(out, "%s%s", name_of(profile, location->first_frame + frame), frame > 0 ? "--" : "\n");
		if (own) {
			const char *outermost = name_of(profile, location->first_frame + own - 1);
			cairn_buffer_format(out, "%s\n", cairn_allocator_is_common(outermost) ? outermost : "malloc");
		}
	}
	cairn_allocator_free(&allocator);
}

static int name_addresses(int count, char **operands)
{
	struct cairn_file input;
	struct cairn_error error;
	if (count != 1 || strcmp(operands[0], "-") != 0)
		return cairn_say_usage("usage: cairn symbols push FILE... --to URL");
	if (!cairn_file_read(&input, operands[0], &error))
		return cairn_say_failure(&error);
	struct cairn_profile profile;
	struct cairn_symbolize_report report;
	struct cairn_symbolize_options symbolize = {0};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_profile_init(&profile);
	cairn_maps_read(&profile, input.bytes);
	read_addresses(&profile, input.bytes);
	cairn_maps_attach(&profile);
	cairn_symbolize(&profile, &symbolize, &report);
	write_names(&profile, &out);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	cairn_symbolize_report_free(&report);
	cairn_profile_free(&profile);
	cairn_file_close(&input);
	return code;
}

static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	if (count > 0 && strcmp(operands[0], "push") == 0)
		return cairn_symbols_push(options->to, options->token, count - 1, operands + 1);
	return name_addresses(count, operands);
}

const struct cairn_command cairn_command_symbols = {
	.name = "symbols",
	.summary = "upload programs and debug files to a collector",
	.arguments = "push FILE...",
	.detail =
		"A FILE is a program, a library or a debug file with a build-id, or a folder with such files. The collector uses it to\n"
		"symbolize snapshots with that build-id, including stored ones.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
