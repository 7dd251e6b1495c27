/* export.c - `cairn export` and `cairn pprof`: the profile in the formats of other tools.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "base/unpack.h"
#include "cmd/command.h"
#include "cmd/suffix.h"
#include "cmd/view.h"
#include "profile/flat_write.h"
#include "profile/kind.h"
#include "profile/pprof_write.h"
#include "report/callgrind.h"
#include "report/collapsed.h"
#include "report/speedscope.h"
#include "symbol/allocator.h"

#include <stdlib.h>

struct options {
	struct cairn_view_setup setup;
	const char *format;
	uint64_t samples_most;
	uint64_t bytes_most;
	bool threads;
	bool plain; /* not packed by gzip */
	const char *since;
	const char *default_type;
	const char *taken;
};

/* Formats. */

static void *copy(struct cairn_arena *arena, const void *data, size_t count, size_t size)
{
	return data ? memcpy(cairn_arena_zero(arena, count + 1, size), data, count * size) : NULL;
}

/* VIEW's profile with only the samples that its filters kept: it has its own arrays of samples, in ARENA, and borrows the rest. */
static struct cairn_profile kept_samples(const struct cairn_view *view, struct cairn_arena *arena)
{
	const struct cairn_profile *profile = view->profile;
	struct cairn_profile kept = *profile;
	size_t count = profile->sample_count;
	kept.samples = copy(arena, profile->samples, count, sizeof *profile->samples);
	kept.values = copy(arena, profile->values, count * profile->value_count, sizeof *profile->values);
	kept.base = copy(arena, profile->base, profile->base_count, sizeof *profile->base);
	kept.sampled = copy(arena, profile->sampled, count, sizeof *profile->sampled);
	bool *keep = cairn_arena_zero(arena, count + 1, sizeof *keep);
	for (size_t i = 0; i < view->sample_count; i++)
		keep[view->samples[i]] = true;
	cairn_profile_keep_samples(&kept, keep);
	return kept;
}

/* Makes PROFILE a difference over time as Go defines it: what was allocated since the base, and what is in use at the end. The base was
 * subtracted from every value, so it is added to the live ones again. */
static void since_base(struct cairn_profile *profile)
{
	for (uint32_t value = 0; value < profile->value_count; value++) {
		if (!cairn_value_is_current(cairn_profile_value_kind(profile, value)))
			continue;
		for (size_t i = 0; i < profile->sample_count; i++)
			profile->values[i * profile->value_count + value] += cairn_profile_base(profile, i, value);
	}
	profile->base_count = 0;
}

/* Selects the value that viewers show first. A profile that does not have it is still worth writing. */
static void choose_default(const struct options *options, const struct cairn_view *view, struct cairn_profile *profile)
{
	const struct cairn_view_options *given = &options->setup.view;
	struct cairn_error error;
	uint32_t first;
	if (options->default_type &&
	    !cairn_view_choose(profile, &(struct cairn_view_options){.value = options->default_type}, &first, &error))
		cairn_say_note(error.text);
	else if (options->default_type)
		profile->default_value = first;
	else if (given->metric || given->value || given->objects || given->alloc)
		profile->default_value = view->value;
}

/* Viewers omit the same frames as our views. */
static void list_dropped(const struct cairn_view_options *view, const struct cairn_profile *profile, struct cairn_buffer *out)
{
	struct cairn_allocator allocator;
	if (view->all_frames || profile->kind != CAIRN_PROFILE_HEAP)
		return;
	cairn_allocator_learn(&allocator, profile);
	cairn_allocator_regex(&allocator, out);
	cairn_buffer_byte(out, '\0');
	cairn_allocator_free(&allocator);
}

static bool write_pprof(const struct options *options, const struct cairn_profile *profile,
			struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_buffer dropped = cairn_buffer(1 << 20);
	list_dropped(&options->setup.view, profile, &dropped);
	struct cairn_pprof_options writing = {
		.names = options->setup.source.no_symbols ? CAIRN_PPROF_NAMES_NONE : CAIRN_PPROF_NAMES_ALL,
		.sizes = profile->unsampling != CAIRN_UNSAMPLE_UNKNOWN, /* pprof has the labels it has */
		.drop_frames = dropped.length ? dropped.data : NULL,
		.samples_most = options->samples_most,
		.bytes_most = options->bytes_most,
	};
	struct cairn_buffer plain = cairn_buffer(SIZE_MAX);
	bool good = cairn_pprof_write(profile, &writing, &plain) ||
		    cairn_fail(error, "no sample fits into %llu bytes; raise --max-bytes", (unsigned long long)options->bytes_most);
	cairn_buffer_free(&dropped);
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

static bool write_gperftools(const struct options *options, const struct cairn_profile *profile,
			     struct cairn_buffer *out, struct cairn_error *error)
{
	(void)options;
	return cairn_flat_write(profile, out, error);
}

static bool write_symbolized(const struct options *options, const struct cairn_profile *profile,
			     struct cairn_buffer *out, struct cairn_error *error)
{
	(void)options;
	return cairn_symbolized_write(profile, out, error);
}

static void write_folded(struct cairn_view *view, struct cairn_buffer *out)
{
	cairn_collapsed_text(view, CAIRN_COLLAPSED_VALUE, out);
}

#define SUFFIXES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A format represents either the view, or the profile with all its values and whole stacks. */
static const struct format {
	const char *name;
	const char *const *suffixes; /* of output files that ask for it by their name */
	bool binary;
	void (*write_view)(struct cairn_view *view, struct cairn_buffer *out);
	bool (*write_profile)(const struct options *options, const struct cairn_profile *profile,
			      struct cairn_buffer *out, struct cairn_error *error);
} formats[] = {
	{"pprof", cairn_pprof_suffixes, true, NULL, write_pprof},
	{"speedscope", SUFFIXES(".speedscope.json", ".json"), false, cairn_speedscope_write, NULL},
	{"callgrind", SUFFIXES(".callgrind", "callgrind.out"), false, cairn_callgrind_write, NULL},
	{"gperftools", SUFFIXES(".gperftools", ".prof"), false, NULL, write_gperftools},
	{"symbolized", SUFFIXES(".symbolized", ".raw"), false, NULL, write_symbolized},
	{"folded", SUFFIXES(".folded", ".collapsed", ".collapse"), false, write_folded, NULL},
};

enum { format_count = sizeof formats / sizeof *formats };

static const struct format *format_by_ending(const char *path)
{
	for (int i = 0; i < format_count; i++)
		if (cairn_suffix_is_one(path, formats[i].suffixes))
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
		cairn_fail_usage(error, "unknown format '%s'; the formats are %.*s", options->format, (int)known.length, known.data);
	else if (!format)
		cairn_fail_usage(error, "missing --format: %.*s", (int)known.length, known.data);
	cairn_buffer_free(&known);
	return format;
}

/* Options that change the frames of a stack have no meaning for formats that keep them as they are. */
static bool refuse_shape(const struct format *format, const struct cairn_view_options *given, struct cairn_error *error)
{
	const struct {
		bool given;
		const char *option;
	} shapes[] = {
		{given->filter.hide, "hide"},
		{given->filter.show, "show"},
		{given->filter.show_from, "show-from"},
		{given->filter.exclude, "exclude"},
		{given->filter.retain, "retain"},
		{given->granularity == CAIRN_BY_FILE, "files"},
		{given->granularity == CAIRN_BY_LINE, "lines"},
		{given->granularity == CAIRN_BY_ADDRESS, "addresses"},
		{given->no_inlines, "no-inlines"},
		{given->relative_percentages, "relative-percentages"},
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (shapes[i].given)
			return cairn_fail(error, "%s holds whole stacks, so --%s does not apply; use --focus and --ignore to choose stacks",
					  format->name, shapes[i].option);
	return true;
}

static bool write_profile(const struct format *format, const struct options *options, struct cairn_view *view,
			  struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	bool own = options->since || view->sample_count != view->profile->sample_count;
	struct cairn_profile profile = own ? kept_samples(view, &arena) : *view->profile;
	if (options->since)
		since_base(&profile);
	choose_default(options, view, &profile);
	int64_t taken_ns;
	bool good = !options->taken || cairn_text_seconds(cairn_bytes_of(options->taken), &taken_ns) ||
		    cairn_fail_usage(error, "--taken takes seconds since 1970, not '%.60s'", options->taken);
	if (good && options->taken && profile.facts.time_ns <= 0)
		profile.facts.time_ns = taken_ns;
	good = good && format->write_profile(options, &profile, out, error);
	cairn_arena_free(&arena);
	return good;
}

static bool write_format(const struct format *format, const struct options *options, struct cairn_view *view,
			 struct cairn_buffer *out, struct cairn_error *error)
{
	if (format->binary && !cairn_view_takes_binary(&options->setup, error))
		return false;
	if (format->write_profile)
		return refuse_shape(format, &options->setup.view, error) && write_profile(format, options, view, out, error);
	format->write_view(view, out);
	return true;
}

static void prepare(void *values)
{
	struct options *options = values;
	options->setup.source.split_threads |= options->threads;
	options->plain |= cairn_pprof_is_plain(options->setup.output);
	struct cairn_option_list *base = &options->setup.source.base;
	if (options->since && base->count < CAIRN_OPTION_LIST_MAX)
		base->items[base->count++] = options->since;
}

/* A server that scrapes profiles accepts one without samples, but takes a failure for a service that is down. */
static void prepare_pprof(void *values)
{
	struct options *options = values;
	struct cairn_source_options *source = &options->setup.source;
	source->may_be_empty = source->all_values = source->with_freed = source->split_ages = true;
	prepare(values);
}

/* Costs belong to lines, and cannot be negative. */
static void prepare_callgrind(void *values)
{
	struct options *options = values;
	struct cairn_view_options *view = &options->setup.view;
	view->drop_negative = true;
	if (view->granularity == CAIRN_BY_FUNCTION)
		view->granularity = CAIRN_BY_LINE;
	prepare(values);
}

static void prepare_export(void *values)
{
	const struct options *options = values;
	struct cairn_error error; /* said when it is written */
	const struct format *format = choose_format(options, &error);
	if (format && format->write_profile == write_pprof)
		prepare_pprof(values);
	else if (format && format->write_view == cairn_callgrind_write)
		prepare_callgrind(values);
	else
		prepare(values);
}

/* Options. */

#define AT(member) offsetof(struct options, member)

static const struct cairn_option format_table[] = {
	{0, "format", "NAME", "pprof, speedscope, callgrind, gperftools, symbolized or folded", CAIRN_OPTION_TEXT, AT(format), 0,
	 (const char *const[]){"pprof", "speedscope", "callgrind", "gperftools", "symbolized", "folded", NULL}},
	{0, "errors", NULL, NULL, CAIRN_OPTION_FLAG, AT(setup.view.errors), 0}, /* which is refused */
	{0},
};

static const struct cairn_option pprof_table[] = {
	{0, "max-samples", "N", "keep N stacks; merge the smallest into one", CAIRN_OPTION_COUNT, AT(samples_most), 0},
	{0, "max-bytes", "SIZE", "merge the smallest stacks until the uncompressed profile fits", CAIRN_OPTION_SIZE, AT(bytes_most), 0},
	{0, "threads", NULL, "split each stack by thread and label it with the thread's name", CAIRN_OPTION_FLAG, AT(threads), 0},
	{0, "uncompressed", NULL, "do not compress with gzip", CAIRN_OPTION_FLAG, AT(plain), 0},
	{0, "since", "FILE", "count allocations since this profile; live values stay as they are", CAIRN_OPTION_TEXT, AT(since), 0},
	{0, "default-type", "NAME", "the value that viewers show first, such as alloc_space", CAIRN_OPTION_TEXT, AT(default_type), 0},
	{0, "taken", "SECONDS", "when the profile was taken, since 1970, if it does not say", CAIRN_OPTION_TEXT, AT(taken), 0},
	{0},
};

static const struct cairn_option_group export_groups[] = {
	{NULL, format_table, 0},
	{"output", cairn_output_option_table, 0},
	{"pprof", pprof_table, 0},
	CAIRN_FORMAT_GROUPS,
	{0},
};

static const struct cairn_option_refusal refusals[] = {CAIRN_UNFOLDED_REFUSALS, {0}};

static bool check_export(const void *values, struct cairn_error *error)
{
	const struct options *options = values;
	const struct format *format = options->format ? choose_format(options, error) : format_by_ending(options->setup.output);
	if (options->format && !format)
		return false;
	/* A name like that of another command's output is refused before a missing format is. */
	if (!cairn_suffix_check("export", options->setup.output, format ? format->suffixes : NULL, error))
		return false;
	format = choose_format(options, error);
	return format && (!format->binary || options->plain || cairn_view_takes_binary(&options->setup, error));
}

static bool show_export(const void *values, struct cairn_report *report, struct cairn_error *error)
{
	const struct format *format = choose_format(values, error);
	return format && write_format(format, values, report->view, report->out, error);
}

const struct cairn_command cairn_command_export = {
	.name = "export",
	.summary = "convert a profile to another tool's format",
	.arguments = "SOURCE...",
	.detail = "Without --format, the output file's extension decides: .pb.gz, .json, .callgrind, .prof, .symbolized or .folded.",
	.groups = export_groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){.bare = true,
						   .without_errors = "the formats of other tools",
						   .prepare = prepare_export,
						   .check = check_export,
						   .show = show_export},
};

static const struct cairn_option_group pprof_groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"profile", pprof_table, 0},
	{"stack filters", cairn_filter_option_table, 0},
	CAIRN_SOURCES_GROUPS,
	{0},
};

static bool show_pprof(const void *values, struct cairn_report *report, struct cairn_error *error)
{
	return write_format(&formats[0], values, report->view, report->out, error);
}

const struct cairn_command cairn_command_pprof = {
	.name = "pprof",
	.summary = "convert a profile for `go tool pprof`, Pyroscope and Parca",
	.arguments = "SOURCE...",
	.detail = "For servers with a size limit, use --max-samples 16000 --max-bytes 4M. With --no-symbols the profile holds only "
		  "addresses and\n"
		  "build-ids, for a server that symbolizes by itself.",
	.groups = pprof_groups,
	.options_size = sizeof(struct options),
	.view =
		&(const struct cairn_view_command){
			.bare = true, .suffixes = cairn_pprof_suffixes, .prepare = prepare_pprof, .show = show_pprof},
};
