/* jeprof_name.c - jeprof's names: short, marked if inlined, and numbered if two functions share one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/jeprof_name.h"

#include "base/array.h"
#include "symbol/shorten.h"

#include <ctype.h>
#include <stdlib.h>

static bool is_word(char letter)
{
	return isalnum((unsigned char)letter) || letter == '_';
}

/* Removes everything between matching OPEN and CLOSE from TEXT, in place; after parentheses, also a const. */
static size_t strip_pairs(char *text, size_t length, char open, char close)
{
	size_t to = 0, depth = 0;
	size_t *opened = cairn_array_new(length, sizeof *opened);
	for (size_t i = 0; i < length; i++) {
		text[to] = text[i];
		if (text[i] == close && depth > 0) {
			to = opened[--depth];
			size_t next = i + 1;
			while (next < length && isspace((unsigned char)text[next]))
				next++;
			if (open == '(' && length - next >= 5 && memcmp(text + next, "const", 5) == 0)
				i = next + 4;
			continue;
		}
		if (text[i] == open)
			opened[depth++] = to;
		to++;
	}
	free(opened);
	return to;
}

/* Where the name begins after a return type: at the last word that is preceded by a space and followed by ::. */
static size_t skip_type(const char *text, size_t length)
{
	for (size_t at = length; at-- > 1;) {
		if (!isspace((unsigned char)text[at - 1]) || !is_word(text[at]))
			continue;
		size_t end = at;
		while (end < length && is_word(text[end]))
			end++;
		if (end + 1 < length && text[end] == ':' && text[end + 1] == ':')
			return at;
	}
	return 0;
}

/* Whether shortening removed a whole part of the name's path. */
static bool lost_part(const char *text, size_t length)
{
	return length == 0 || memmem(text, length, "::::", 4) || (length > 2 && memcmp(text, "::", 2) == 0);
}

void cairn_jeprof_shorten(const char *name, struct cairn_buffer *out)
{
	size_t length = strlen(name);
	char *text = cairn_array_new(length, 1);
	memcpy(text, name, length);
	length = strip_pairs(text, length, '(', ')');
	length = strip_pairs(text, length, '<', '>');
	if (lost_part(text, length)) {
		struct cairn_arena arena = {0};
		cairn_buffer_text(out, cairn_name_shorten(&arena, name));
		cairn_arena_free(&arena);
	} else {
		size_t from = skip_type(text, length);
		cairn_buffer_append(out, text + from, length - from);
	}
	free(text);
}

/* What distinguishes a function from another with the same short name: its arguments in C++ and Rust, its file in C. */
static uint32_t identity(const struct cairn_profile *profile, const struct cairn_function *function)
{
	struct cairn_bytes name = cairn_strings_bytes(&profile->strings, function->name);
	uint32_t hash = 2166136261u; /* FNV-1a: shown in the report, so it must be the same in every run */
	for (size_t i = 0; i < name.length; i++)
		hash = (hash ^ (unsigned char)name.data[i]) * 16777619u;
	if (!memchr(name.data, '(', name.length) && !memmem(name.data, name.length, "::", 2)) {
		struct cairn_bytes file = cairn_strings_bytes(&profile->strings, function->file);
		for (size_t i = 0; i < file.length; i++)
			hash = (hash ^ (unsigned char)file.data[i]) * 16777619u;
	}
	return hash ? hash : 1;
}

/* Numbers functions that share a name. Inlined functions are not distinguished, so only functions that were compiled at an address
 * count. */
static void tell_apart(struct cairn_jeprof_names *names)
{
	const struct cairn_profile *profile = names->profile;
	uint32_t *first = cairn_array_zero(names->strings.count + 1, sizeof *first);
	bool *shared = cairn_array_zero(names->strings.count + 1, sizeof *shared),
	     *used = cairn_array_zero(profile->function_count, sizeof *used);
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (!location->frame_count)
			continue;
		uint32_t function = profile->frames[location->first_frame + location->frame_count - 1].function;
		if (used[function])
			continue;
		used[function] = true;
		uint32_t name = names->names[function], tag = identity(profile, &profile->functions[function]);
		names->tags[function] = tag;
		if (!first[name])
			first[name] = tag;
		shared[name] |= first[name] != tag;
	}
	for (size_t i = 0; i < profile->function_count; i++)
		if (!shared[names->names[i]])
			names->tags[i] = 0;
	free(first);
	free(shared);
	free(used);
}

void cairn_jeprof_names_make(struct cairn_jeprof_names *names, const struct cairn_profile *profile, bool full)
{
	*names = (struct cairn_jeprof_names){.profile = profile, .full = full};
	names->names = cairn_array_zero(profile->function_count, sizeof *names->names);
	names->tags = cairn_array_zero(profile->function_count, sizeof *names->tags);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	for (size_t i = 0; i < profile->function_count; i++) {
		out.length = 0;
		cairn_jeprof_shorten(cairn_profile_string(profile, profile->functions[i].name), &out);
		names->names[i] = cairn_strings_add(&names->strings, cairn_buffer_bytes(&out));
	}
	cairn_buffer_free(&out);
	if (!full)
		tell_apart(names);
}

void cairn_jeprof_names_free(struct cairn_jeprof_names *names)
{
	cairn_strings_free(&names->strings);
	free(names->names);
	free(names->tags);
	*names = (struct cairn_jeprof_names){0};
}

void cairn_jeprof_place(const struct cairn_profile *profile, uint32_t frame_id, struct cairn_buffer *out)
{
	const struct cairn_frame *frame = frame_id == CAIRN_NONE ? NULL : &profile->frames[frame_id];
	uint32_t file = frame ? profile->functions[frame->function].file : 0;
	if (file)
		cairn_buffer_format(out, "%s:%u", cairn_profile_string(profile, file), frame->line);
	else
		cairn_buffer_text(out, "??:0");
}

static void write_function(const struct cairn_jeprof_names *names, const struct cairn_location *location, uint32_t frame,
			   struct cairn_buffer *out)
{
	const struct cairn_profile *profile = names->profile;
	uint32_t function = profile->frames[frame].function;
	bool inlined = frame + 1 < location->first_frame + location->frame_count;
	if (names->full) {
		cairn_buffer_text(out, cairn_profile_string(profile, profile->functions[function].name));
		cairn_buffer_text(out, inlined ? "[inline]" : "");
		return;
	}
	struct cairn_bytes name = cairn_jeprof_name(names, function);
	cairn_buffer_append(out, name.data, name.length);
	if (inlined)
		cairn_buffer_text(out, " (inline)");
	else if (names->tags[function])
		cairn_buffer_format(out, "@%x", names->tags[function]);
}

void cairn_jeprof_name_frame(const struct cairn_view *view, uint32_t location_id, uint32_t frame, struct cairn_buffer *out)
{
	const struct cairn_jeprof_names *names = view->options.name_context;
	const struct cairn_profile *profile = view->profile;
	const struct cairn_location *location = &profile->locations[location_id];
	bool named = frame != CAIRN_NONE && profile->functions[profile->frames[frame].function].name;
	uint32_t file = frame == CAIRN_NONE ? 0 : profile->functions[profile->frames[frame].function].file;
	int granularity = view->options.granularity;
	if (granularity == CAIRN_BY_FILE && file) {
		cairn_buffer_text(out, cairn_profile_string(profile, file));
		return;
	}
	if (granularity == CAIRN_BY_ADDRESS)
		cairn_buffer_format(out, "%016llx ", (unsigned long long)location->address);
	if (named)
		write_function(names, location, frame, out);
	else
		cairn_view_place(view, location, out);
	if (granularity == CAIRN_BY_ADDRESS || (granularity == CAIRN_BY_LINE && (named || file))) {
		cairn_buffer_byte(out, ' ');
		cairn_jeprof_place(profile, frame, out);
	}
}
