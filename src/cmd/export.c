/* export.c - `cairn export` and `cairn pprof`: the profile in the formats of other tools.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/unpack.h"
#include "cmd/command.h"
#include "cmd/view.h"
#include "profile/flat_write.h"
#include "profile/pprof_write.h"
#include "report/callgrind.h"
#include "report/collapsed.h"
#include "report/speedscope.h"

#include <stdlib.h>
#include <unistd.h>

struct options {
	struct cairn_view_setup setup;
	const char *format;
	uint64_t samples_most;
	uint64_t bytes_most;
	bool threads;
	bool plain; /* not packed by gzip */
	const char *since;
	const char *default_type;
};

/* Formats. */

/* PROFILE with Go's meaning of a difference over time: what was allocated since the base, and what is in use at the end. The
 * base was taken from every value, so those in use get it back. */
static struct cairn_profile since_base(const struct cairn_profile *profile)
{
	struct cairn_profile result = *profile;
	for (uint32_t value = 0; value < profile->value_count; value++) {
		if (strncmp(cairn_profile_string(profile, profile->value_types[value].type), "inuse_", 6) != 0)
			continue;
		for (size_t i = 0; i < profile->sample_count; i++)
			result.values[i * profile->value_count + value] += cairn_profile_base(profile, i, value);
	}
	result.base_count = 0;
	return result;
}

static bool write_pprof(const struct options *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_profile shown = options->since ? since_base(view->profile) : *view->profile;
	const struct cairn_profile *profile = &shown;
	uint32_t first = options->default_type ? cairn_profile_find_value(profile, options->default_type) : CAIRN_NONE;
	if (first != CAIRN_NONE)
		shown.default_value = first;
	struct cairn_pprof_options writing = {
		.names = options->setup.source.no_symbols ? CAIRN_PPROF_NAMES_NONE : CAIRN_PPROF_NAMES_ALL,
		.drop_frames = profile->kind == CAIRN_PROFILE_HEAP && !options->setup.view.all_frames ? CAIRN_PPROF_ALLOCATOR_FRAMES : NULL,
		.samples_most = options->samples_most,
		.bytes_most = options->bytes_most,
	};
	struct cairn_buffer plain = cairn_buffer(SIZE_MAX);
	bool good = cairn_pprof_write(profile, &writing, &plain) ||
		    cairn_fail(error, "not even one sample fits into %llu bytes", (unsigned long long)options->bytes_most);
	if (good && options->plain) {
		*out = plain;
		return true;
	}
	size_t length = 0;
	char *packed = good ? cairn_pack_gzip(cairn_buffer_bytes(&plain), &length) : NULL;
	if (good && !packed)
		cairn_out_of_memory(plain.length);
	cairn_buffer_append(out, packed, length);
	free(packed);
	cairn_buffer_free(&plain);
	return good;
}

static bool write_speedscope(const struct options *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_error *error)
{
	(void)options, (void)error;
	cairn_speedscope_write(view, out);
	return true;
}

static bool write_callgrind(const struct options *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_error *error)
{
	(void)options, (void)error;
	cairn_callgrind_write(view, out);
	return true;
}

static bool write_gperftools(const struct options *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_error *error)
{
	(void)options;
	return cairn_flat_write(view->profile, out, error);
}

static bool write_symbolized(const struct options *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_error *error)
{
	(void)options;
	return cairn_symbolized_write(view->profile, out, error);
}

static bool write_folded(const struct options *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_error *error)
{
	(void)options, (void)error;
	cairn_collapsed_text(view, CAIRN_COLLAPSED_VALUE, out);
	return true;
}

static const struct format {
	const char *name;
	const char *endings[4]; /* of output files that ask for it by their name */
	bool binary;
	bool whole; /* of the profile, not of the view */
	bool (*write)(const struct options *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_error *error);
} formats[] = {
	{"pprof", {".pb.gz", ".pb", ".pprof"}, true, true, write_pprof},
	{"speedscope", {".speedscope.json", ".json"}, false, false, write_speedscope},
	{"callgrind", {".callgrind", "callgrind.out"}, false, false, write_callgrind},
	{"gperftools", {".gperftools", ".prof"}, false, true, write_gperftools},
	{"symbolized", {".symbolized", ".raw"}, false, true, write_symbolized},
	{"folded", {".folded", ".collapsed", ".collapse"}, false, false, write_folded},
};

enum { format_count = sizeof formats / sizeof *formats };

static const struct format *format_by_ending(const char *path)
{
	for (int i = 0; path && i < format_count; i++)
		for (int e = 0; e < 4 && formats[i].endings[e]; e++)
			if (cairn_bytes_end_with(cairn_bytes_of(path), formats[i].endings[e]))
				return &formats[i];
	return NULL;
}

static const struct format *choose_format(const struct options *options, struct cairn_error *error)
{
	struct cairn_buffer known = cairn_buffer(200);
	const struct format *format = options->format ? NULL : format_by_ending(options->setup.output);
	for (int i = 0; !format && i < format_count; i++) {
		if (options->format && strcmp(options->format, formats[i].name) == 0)
			format = &formats[i];
		cairn_buffer_format(&known, "%s%s", i ? ", " : "", formats[i].name);
	}
	if (!format && options->format)
		cairn_fail(error, "no format '%s'; there are %.*s", options->format, (int)known.length, known.data);
	else if (!format)
		cairn_fail(error, "say which --format: %.*s", (int)known.length, known.data);
	cairn_buffer_free(&known);
	return format;
}

static bool write_format(const struct format *format, const struct options *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_error *error)
{
	if (format->binary && !options->setup.output && isatty(STDOUT_FILENO))
		return cairn_fail(error, "that would write binary data to the terminal; name a file with -o");
	if (format->whole && view->sample_count != view->profile->sample_count)
		return cairn_fail(error, "%s holds the whole profile; filters do not apply to it", format->name);
	return format->write(options, view, out, error);
}

static void prepare(void *values)
{
	struct options *options = values;
	options->setup.source.split_threads |= options->threads;
	options->plain |= options->setup.output && cairn_bytes_end_with(cairn_bytes_of(options->setup.output), ".pb");
	struct cairn_option_list *base = &options->setup.source.base;
	if (options->since && base->count < CAIRN_OPTION_LIST_MAX)
		base->items[base->count++] = options->since;
}

/* Options. */

#define AT(member) offsetof(struct options, member)

static const struct cairn_option format_table[] = {
	{0, "format", "NAME", "pprof, speedscope, callgrind, gperftools, symbolized or folded", CAIRN_OPTION_TEXT, AT(format), 0},
	{0, "errors", NULL, NULL, CAIRN_OPTION_FLAG, AT(setup.view.errors), 0}, /* which is refused */
	{0},
};

static const struct cairn_option pprof_table[] = {
	{0, "max-samples", "N", "fold the smallest stacks into one so that N are left", CAIRN_OPTION_COUNT, AT(samples_most), 0},
	{0, "max-bytes", "SIZE", "the same until the unpacked profile is no larger", CAIRN_OPTION_SIZE, AT(bytes_most), 0},
	{0, "threads", NULL, "a sample for each thread of a stack, with its name as a label", CAIRN_OPTION_FLAG, AT(threads), 0},
	{0, "uncompressed", NULL, "without gzip", CAIRN_OPTION_FLAG, AT(plain), 0},
	{0, "since", "FILE", "what was allocated since this profile, and what is in use now", CAIRN_OPTION_TEXT, AT(since), 0},
	{0, "default-type", "NAME", "the value a viewer shows first, such as alloc_space", CAIRN_OPTION_TEXT, AT(default_type), 0},
	{0},
};

static const struct cairn_option_group export_groups[] = {
	{NULL, format_table, 0},
	{"output", cairn_output_option_table, 0},
	{"pprof", pprof_table, 0},
	CAIRN_FORMAT_GROUPS,
	{0},
};

static bool show_export(const void *values, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json, struct cairn_error *error)
{
	(void)json;
	const struct format *format = choose_format(values, error);
	return format && write_format(format, values, view, out, error);
}

const struct cairn_command cairn_command_export = {
	.name = "export",
	.summary = "the profile in the format of another tool",
	.arguments = "SOURCE...",
	.detail = "Without --format the ending of the output file decides: .pb.gz, .json, .callgrind, .prof, .symbolized, .folded.",
	.groups = export_groups,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){.bare = true, .without_errors = "the formats of other tools", .prepare = prepare, .show = show_export},
};

static const struct cairn_option_group pprof_groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"the profile", pprof_table, 0},
	{"sources", cairn_source_option_table, offsetof(struct cairn_view_setup, source)},
	{0},
};

static bool show_pprof(const void *values, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json, struct cairn_error *error)
{
	(void)json;
	return write_format(&formats[0], values, view, out, error);
}

const struct cairn_command cairn_command_pprof = {
	.name = "pprof",
	.summary = "the profile for `go tool pprof`, Pyroscope, Parca and their like",
	.arguments = "SOURCE...",
	.detail = "Servers with a limit are pleased by --max-samples 16000 --max-bytes 4M. With --no-symbols the profile holds addresses and\n"
		  "build-ids only, for a server that finds the names itself.",
	.groups = pprof_groups,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){.bare = true, .prepare = prepare, .show = show_pprof},
};
