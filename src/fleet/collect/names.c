/* names.c - questions and answers as LEB128 numbers and texts, each after its length.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/names.h"

#include "base/array.h"

#include <stdlib.h>

static void put_text(struct cairn_buffer *out, struct cairn_bytes text)
{
	cairn_buffer_uleb(out, text.length);
	cairn_buffer_append(out, text.data, text.length);
}

static struct cairn_bytes take_text(struct cairn_cursor *in)
{
	return cairn_cursor_bytes(in, cairn_cursor_uleb(in));
}

/* A count of items that take at least one byte each. */
static size_t take_count(struct cairn_cursor *in)
{
	uint64_t count = cairn_cursor_uleb(in);
	if (count > cairn_cursor_left(in))
		cairn_cursor_fail(in);
	return in->failed ? 0 : (size_t)count;
}

static void put_paths(struct cairn_buffer *out, const char *const *paths, size_t count)
{
	cairn_buffer_uleb(out, count);
	for (size_t i = 0; i < count; i++)
		put_text(out, cairn_bytes_of(paths[i]));
}

static const char *const *take_paths(struct cairn_cursor *in, struct cairn_arena *arena, size_t *count)
{
	*count = take_count(in);
	const char **paths = cairn_arena_zero(arena, *count + 1, sizeof *paths);
	for (size_t i = 0; i < *count; i++)
		paths[i] = cairn_arena_text(arena, take_text(in));
	return paths;
}

void cairn_names_ask(const struct cairn_profile *profile, const struct cairn_symbolize_options *options, struct cairn_buffer *out)
{
	put_paths(out, options->find.binaries, options->find.binary_count);
	put_paths(out, options->find.symbols, options->find.symbols_count);
	put_text(out, cairn_bytes_of(options->cache_folder ? options->cache_folder : ""));
	cairn_buffer_uleb(out, profile->facts.process_id);
	cairn_buffer_uleb(out, (uint64_t)profile->facts.start_ns);
	cairn_buffer_uleb(out, profile->module_count);
	for (size_t i = 0; i < profile->module_count; i++) {
		put_text(out, cairn_strings_bytes(&profile->strings, profile->modules[i].path));
		put_text(out, cairn_strings_bytes(&profile->strings, profile->modules[i].build_id));
		cairn_buffer_uleb(out, profile->modules[i].deleted);
	}
	cairn_buffer_uleb(out, profile->mapping_count);
	for (size_t i = 0; i < profile->mapping_count; i++) {
		cairn_buffer_uleb(out, profile->mappings[i].start);
		cairn_buffer_uleb(out, profile->mappings[i].limit);
		cairn_buffer_uleb(out, profile->mappings[i].offset);
		cairn_buffer_uleb(out, profile->mappings[i].module);
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (location->frame_count > 0)
			continue;
		cairn_buffer_uleb(out, location->address);
		cairn_buffer_uleb(out, location->mapping == CAIRN_NONE ? 0 : (uint64_t)location->mapping + 1);
		cairn_buffer_uleb(out, location->is_call);
	}
}

bool cairn_names_asked(struct cairn_profile *profile, struct cairn_symbolize_options *options, struct cairn_arena *arena,
		       struct cairn_bytes question)
{
	struct cairn_cursor in = cairn_cursor(question);
	options->find.binaries = take_paths(&in, arena, &options->find.binary_count);
	options->find.symbols = take_paths(&in, arena, &options->find.symbols_count);
	struct cairn_bytes cache = take_text(&in);
	options->cache_folder = cache.length ? cairn_arena_text(arena, cache) : NULL;
	profile->facts.process_id = cairn_cursor_uleb(&in);
	profile->facts.start_ns = (int64_t)cairn_cursor_uleb(&in);
	for (size_t count = take_count(&in); count > 0 && !in.failed; count--) {
		uint32_t path = cairn_strings_add(&profile->strings, take_text(&in));
		uint32_t module = cairn_profile_add_module(profile, path, cairn_strings_add(&profile->strings, take_text(&in)));
		profile->modules[module].deleted = cairn_cursor_uleb(&in);
	}
	for (size_t count = take_count(&in); count > 0 && !in.failed; count--) {
		struct cairn_mapping mapping = {.start = cairn_cursor_uleb(&in)};
		mapping.limit = cairn_cursor_uleb(&in);
		mapping.offset = cairn_cursor_uleb(&in);
		mapping.module = (uint32_t)cairn_cursor_uleb(&in);
		if (mapping.module >= profile->module_count)
			return false;
		cairn_profile_add_mapping(profile, &mapping);
	}
	while (cairn_cursor_left(&in) > 0) {
		struct cairn_location location = {.address = cairn_cursor_uleb(&in), .mapping = CAIRN_NONE};
		uint64_t mapping = cairn_cursor_uleb(&in);
		location.is_call = cairn_cursor_uleb(&in);
		if (mapping > profile->mapping_count)
			return false;
		if (mapping > 0)
			location.mapping = (uint32_t)(mapping - 1);
		cairn_profile_new_location(profile, &location);
	}
	return !in.failed;
}

void cairn_names_answer(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	cairn_buffer_uleb(out, profile->module_count);
	for (size_t i = 0; i < profile->module_count; i++)
		put_text(out, cairn_strings_bytes(&profile->strings, profile->modules[i].build_id));
	cairn_buffer_uleb(out, profile->function_count);
	for (size_t i = 0; i < profile->function_count; i++) {
		const struct cairn_function *function = &profile->functions[i];
		put_text(out, cairn_strings_bytes(&profile->strings, function->name));
		put_text(out, cairn_strings_bytes(&profile->strings, function->system_name));
		put_text(out, cairn_strings_bytes(&profile->strings, function->file));
		cairn_buffer_uleb(out, function->start_line);
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		cairn_buffer_uleb(out, location->frame_count);
		for (uint32_t k = 0; k < location->frame_count; k++) {
			const struct cairn_frame *frame = &profile->frames[location->first_frame + k];
			cairn_buffer_uleb(out, frame->function);
			cairn_buffer_uleb(out, frame->line);
			cairn_buffer_uleb(out, frame->column);
		}
	}
}

static void take_build_ids(struct cairn_profile *profile, struct cairn_cursor *in)
{
	if (take_count(in) != profile->module_count)
		cairn_cursor_fail(in);
	for (size_t i = 0; i < profile->module_count && !in->failed; i++) {
		struct cairn_bytes build_id = take_text(in);
		if (!in->failed && !profile->modules[i].build_id)
			profile->modules[i].build_id = cairn_strings_add(&profile->strings, build_id);
	}
}

/* The functions of an answer, as indices in PROFILE. The caller frees them. */
static uint32_t *take_functions(struct cairn_profile *profile, struct cairn_cursor *in, size_t *count)
{
	*count = take_count(in);
	uint32_t *functions = cairn_array_new(*count + 1, sizeof *functions);
	for (size_t i = 0; i < *count && !in->failed; i++) {
		struct cairn_function function = {.name = cairn_strings_add(&profile->strings, take_text(in))};
		function.system_name = cairn_strings_add(&profile->strings, take_text(in));
		function.file = cairn_strings_add(&profile->strings, take_text(in));
		function.start_line = (uint32_t)cairn_cursor_uleb(in);
		functions[i] = cairn_profile_add_function(profile, &function);
	}
	return functions;
}

static void take_frames(struct cairn_profile *profile, struct cairn_cursor *in, uint32_t location, const uint32_t *functions,
			size_t function_count)
{
	size_t count = take_count(in);
	struct cairn_frame *frames = count ? cairn_profile_frame_room(profile, location, count) : NULL;
	for (size_t i = 0; i < count; i++) {
		uint64_t function = cairn_cursor_uleb(in);
		frames[i].line = (uint32_t)cairn_cursor_uleb(in);
		frames[i].column = (uint32_t)cairn_cursor_uleb(in);
		if (function >= function_count)
			cairn_cursor_fail(in);
		frames[i].function = functions[function < function_count ? function : 0];
	}
}

bool cairn_names_take(struct cairn_profile *profile, struct cairn_bytes answer)
{
	struct cairn_cursor in = cairn_cursor(answer);
	size_t function_count;
	take_build_ids(profile, &in);
	uint32_t *functions = take_functions(profile, &in, &function_count);
	for (size_t i = 0; i < profile->location_count && !in.failed && function_count > 0; i++)
		if (profile->locations[i].frame_count == 0)
			take_frames(profile, &in, (uint32_t)i, functions, function_count);
	free(functions);
	return !in.failed;
}
