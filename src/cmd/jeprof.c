/* jeprof.c - `cairn jeprof`: the command line and the output of jemalloc's jeprof. doc/jeprof.md says where ours differs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/jeprof/jeprof.h"

#include "base/file.h"
#include "base/text.h"
#include "base/unpack.h"
#include "cmd/command.h"
#include "cmd/prompt.h"
#include "profile/flat_write.h"
#include "profile/read.h"
#include "report/collapsed.h"
#include "report/jeprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* One run: the options, what was read, and what is written. */
struct run {
	struct cairn_jeprof_options options;
	struct cairn_source_options source;
	struct cairn_profile profile;
	struct cairn_arena arena;
	struct cairn_buffer out;
};

/* Whether the file at PATH is a profile rather than a program. Folded text is not: a script looks much the same. */
static bool is_profile(const char *path)
{
	struct cairn_file file;
	if (strcmp(path, "-") == 0)
		return true;
	if (!cairn_file_read(&file, path, NULL))
		return false;
	enum cairn_format format = cairn_profile_sniff(file.bytes);
	cairn_file_close(&file);
	return cairn_format_is_certain(format);
}

/* jeprof announces each file it uses, the last profile first. */
static void announce(const char *name)
{
	if (!cairn_jeprof_is_remote(name))
		cairn_print(stderr, "Using local file %s.\n", name);
}

static bool take_program(struct cairn_jeprof_options *options, struct cairn_error *error)
{
	struct cairn_jeprof_profiles *names = &options->profiles;
	if (names->count == 0)
		return cairn_fail(error, "missing PROGRAM and PROFILE: jeprof [options] PROGRAM PROFILE...");
	announce(names->items[0]);
	if (cairn_jeprof_is_remote(names->items[0])) {
		options->service = names->items[0];
		return true;
	}
	if (options->mode != CAIRN_JEPROF_SYMBOLS && is_profile(names->items[0]))
		return true;
	options->program = names->items[0];
	names->items++;
	names->count--;
	return names->count > 0 || options->mode == CAIRN_JEPROF_SYMBOLS ||
	       cairn_fail(error, "missing PROFILE after the program %s: a dump, or a URL such as http://host:port/pprof/heap",
			  options->program);
}

/* Splits the folders of --lib_prefix. */
static void add_prefixes(struct run *run)
{
	struct cairn_bytes rest = cairn_bytes_of(run->options.lib_prefix ? run->options.lib_prefix : "");
	while (rest.length && run->source.symbols.count < CAIRN_OPTION_LIST_MAX) {
		struct cairn_bytes folder = cairn_text_field(&rest, ',');
		if (folder.length > 0)
			run->source.symbols.items[run->source.symbols.count++] = cairn_arena_text(&run->arena, folder);
	}
}

static void set_sources(struct run *run)
{
	const struct cairn_jeprof_options *options = &run->options;
	struct cairn_source_options *source = &run->source;
	source->memory = run->options.memory;
	bool each_thread = options->thread && strcmp(options->thread, "*") == 0;
	source->sum = true;
	source->split_threads = each_thread;
	source->as_jeprof = true;
	source->thread = each_thread ? NULL : options->thread;
	if (options->base)
		source->base.items[source->base.count++] = options->base;
	if (options->program)
		source->binary.items[source->binary.count++] = options->program;
	if (options->add_lib)
		source->binary.items[source->binary.count++] = options->add_lib;
	add_prefixes(run);
}

static bool load(struct run *run, struct cairn_error *error)
{
	const struct cairn_jeprof_profiles *names = &run->options.profiles;
	cairn_profile_free(&run->profile); /* which the loader initialises */
	if (run->options.service) {
		struct cairn_error why;
		run->source.no_symbols = true;
		if (!cairn_source_load(&run->profile, &run->source, (int)names->count, names->items, error))
			return false;
		if (cairn_jeprof_ask_names(&run->options, &run->profile, &why))
			return true;
		cairn_fail_within(&why, "the server does not symbolize its addresses, so local files are used: ");
		cairn_say_note(why.text);
		run->source.no_symbols = false;
		cairn_source_name(&run->profile, &run->source);
		return true;
	}
	return cairn_source_load(&run->profile, &run->source, (int)names->count, names->items, error);
}

/* The mean time of a wait, stack by stack: jeprof adds these up as it does sums. */
static void average_delays(struct cairn_profile *profile)
{
	for (size_t i = 0; i < profile->sample_count; i++) {
		double *values = &profile->values[i * profile->value_count];
		values[1] = values[0] != 0 ? values[1] / values[0] : 0;
	}
}

/* jeprof's names for the values of a profile that is not of a heap. */
static void choose_value(const struct cairn_profile *profile, const struct cairn_jeprof_options *options, struct cairn_view_options *view)
{
	if (profile->kind == CAIRN_PROFILE_HEAP)
		return;
	bool objects = view->metric == CAIRN_INUSE_OBJECTS || view->metric == CAIRN_ALLOC_OBJECTS;
	view->metric = CAIRN_METRIC_DEFAULT;
	if (profile->kind == CAIRN_PROFILE_CPU)
		view->value = "samples";
	if (profile->kind == CAIRN_PROFILE_GROWTH && objects)
		view->value = "objects";
	if (profile->kind == CAIRN_PROFILE_CONTENTION && options->contentions && !options->total_delay)
		view->value = "contentions";
}

/* The only file of the profile, decompressed into UNPACKED if necessary; empty if there are several, or none that can be read twice. */
static bool read_original(const struct cairn_jeprof_options *options, struct cairn_file *file, char **unpacked,
			  struct cairn_bytes *original, struct cairn_error *error)
{
	size_t length;
	bool cut;
	if (options->profiles.count != 1 || options->base || strcmp(options->profiles.items[0], "-") == 0)
		return true;
	if (!cairn_file_read(file, options->profiles.items[0], error))
		return false;
	*original = file->bytes;
	if (cairn_unpack_sniff(*original) == CAIRN_PACKED_NOT)
		return true;
	if (!cairn_unpack(*original, unpacked, &length, &cut, error))
		return false;
	*original = (struct cairn_bytes){*unpacked, length};
	return true;
}

static bool write_raw(struct run *run, struct cairn_error *error)
{
	struct cairn_file file = {0};
	char *unpacked = NULL;
	struct cairn_bytes original = {0};
	bool good = read_original(&run->options, &file, &unpacked, &original, error);
	enum cairn_format format = cairn_profile_sniff(original);
	/* A sum or a difference has no file; of the others, some are not what jeprof reads. */
	if (good && (!original.length || format == CAIRN_FORMAT_PPROF || format == CAIRN_FORMAT_FOLDED || format == CAIRN_FORMAT_LEDGER)) {
		good = cairn_symbolized_write(&run->profile, &run->out, error);
	} else if (good) {
		enum cairn_profile_kind kind = run->profile.kind;
		if (format != CAIRN_FORMAT_SYMBOLIZED) {
			cairn_symbolized_names(&run->profile, run->options.program, &run->out);
			if (kind != CAIRN_PROFILE_CONTENTION) /* whose own first line says it */
				cairn_buffer_text(&run->out, kind == CAIRN_PROFILE_GROWTH ? "--- growth\n"
							     : kind == CAIRN_PROFILE_CPU  ? "--- profile\n"
											  : "--- heap\n");
		}
		cairn_buffer_append(&run->out, original.data, original.length);
	}
	cairn_file_close(&file);
	free(unpacked);
	return good;
}

static bool write_view(struct run *run, struct cairn_jeprof *jeprof, const char *thread, struct cairn_error *error)
{
	const struct cairn_jeprof_options *options = &run->options;
	char total[32];
	switch (options->mode) {
	case CAIRN_JEPROF_LIST:
		return cairn_jeprof_list(jeprof, options->list, &run->out, error);
	case CAIRN_JEPROF_DISASM:
		return cairn_jeprof_disasm(jeprof, options->disasm, &run->out, error);
	case CAIRN_JEPROF_COLLAPSED:
		cairn_collapsed_text(&jeprof->view, CAIRN_COLLAPSED_CUT, &run->out);
		return true;
	case CAIRN_JEPROF_CALLGRIND:
		cairn_jeprof_callgrind(jeprof, &run->out);
		return true;
	case CAIRN_JEPROF_PICTURE:
		return cairn_jeprof_picture(options, jeprof, &run->out, error);
	default:
		if (jeprof->total != 0)
			cairn_buffer_format(&run->out, "Total%s%s%s: %s %s\n", thread ? " (t" : "", thread ? thread : "", thread ? ")" : "",
					    cairn_jeprof_number(jeprof, jeprof->total, total), cairn_jeprof_unit(jeprof));
		cairn_jeprof_text(jeprof, options->cum, 0, &run->out);
		return true;
	}
}

/* The output for one thread, or for all threads if THREAD is NULL; ONLY is a filter by label. */
static bool report(struct run *run, const char *thread, const char *only, struct cairn_error *error)
{
	struct cairn_view_options view = cairn_jeprof_view_options(&run->options);
	struct cairn_jeprof jeprof;
	choose_value(&run->profile, &run->options, &view);
	view.filter.tag_focus = only;
	bool good = cairn_jeprof_make(&jeprof, &run->profile, &view, error);
	jeprof.show_bytes = run->options.show_bytes;
	jeprof.find = cairn_source_find(&run->source);
	good = good && write_view(run, &jeprof, thread, error);
	cairn_jeprof_free(&jeprof);
	return good;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static bool report_each_thread(struct run *run, struct cairn_error *error)
{
	const struct cairn_profile *profile = &run->profile;
	uint64_t *threads = cairn_arena_zero(&run->arena, profile->label_count + 1, sizeof *threads);
	size_t count = 0;
	for (size_t i = 0; i < profile->label_count; i++) {
		struct cairn_bytes number = cairn_strings_bytes(&profile->strings, profile->labels[i].text);
		if (strcmp(cairn_profile_string(profile, profile->labels[i].key), "thread_id") == 0 &&
		    cairn_text_decimal(&number, &threads[count]))
			count++;
	}
	qsort(threads, count, sizeof *threads, compare_numbers);
	bool good = count > 0 ||
		    cairn_fail(error, "--thread: the profile has no threads; only heap_v2 dumps, jemalloc's and Cairn's, have them");
	for (size_t i = 0; good && i < count; i++) {
		if (i && threads[i] == threads[i - 1])
			continue;
		const char *name = cairn_arena_format(&run->arena, "%llu", (unsigned long long)threads[i]);
		good = report(run, name, cairn_arena_format(&run->arena, "thread_id=^%s$", name), error);
	}
	return good;
}

static bool refuse_lines(const struct cairn_jeprof_options *options, const struct cairn_profile *profile, struct cairn_error *error)
{
	if (!options->lines && options->mode != CAIRN_JEPROF_DISASM)
		return true;
	for (size_t i = 0; i < profile->location_count; i++)
		if (profile->locations[i].mapping != CAIRN_NONE || !profile->locations[i].frame_count)
			return true;
	return cairn_fail(error, "--%s needs the program: the profile carries names only", options->lines ? "lines" : "disasm");
}

static int run_shell(struct run *run)
{
	struct cairn_view_setup setup = {.source = run->source, .view = cairn_jeprof_view_options(&run->options)};
	cairn_view_set_not_given(&setup);
	choose_value(&run->profile, &run->options, &setup.view);
	setup.shape.bytes = run->options.show_bytes;
	setup.shape.by_cum = run->options.cum;
	bool again = !run->options.service; /* whose names came with it */
	return cairn_prompt_run(&run->profile, &setup, again ? (int)run->options.profiles.count : 0, run->options.profiles.items, true);
}

static int run_loaded(struct run *run, struct cairn_error *error)
{
	const struct cairn_jeprof_options *options = &run->options;
	if (!refuse_lines(options, &run->profile, error))
		return cairn_say_error(error->text);
	if (run->profile.kind == CAIRN_PROFILE_CONTENTION && options->mean_delay && !options->total_delay && !options->contentions)
		average_delays(&run->profile);
	bool good;
	if (options->mode == CAIRN_JEPROF_INTERACTIVE)
		return run_shell(run);
	if (options->mode == CAIRN_JEPROF_RAW)
		good = write_raw(run, error);
	else if (run->source.split_threads)
		good = report_each_thread(run, error);
	else
		good = report(run, options->thread, NULL, error);
	if (!good)
		return cairn_say_error(error->text);
	struct cairn_bytes text = cairn_buffer_bytes(&run->out); /* for a program as it is; it has no colours of ours for a terminal */
	return isatty(STDOUT_FILENO) ? cairn_say_lines(text) : cairn_say_output(NULL, text);
}

static int run_profiles(struct run *run, struct cairn_error *error)
{
	struct cairn_jeprof_options *options = &run->options;
	for (size_t i = options->profiles.count; i-- > 0;)
		announce(options->profiles.items[i]);
	set_sources(run);
	if (!cairn_jeprof_fetch(options, &run->arena, error) || !load(run, error))
		return cairn_say_error(error->text);
	return run_loaded(run, error);
}

static int run_symbols(struct run *run)
{
	set_sources(run);
	struct cairn_find_options find = cairn_source_find(&run->source);
	return cairn_jeprof_symbols(&find, run->options.memory);
}

static int say_version(void)
{
	puts("jeprof (cairn " CAIRN_VERSION ", with the command line of the jeprof of jemalloc 5.3.0)");
	return CAIRN_EXIT_DONE;
}

static int say_help(void)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_options_help(&cairn_command_jeprof, &out);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	return code;
}

static int run(int argc, char **argv)
{
	struct cairn_error error;
	struct run run = {.out = cairn_buffer(SIZE_MAX)};
	struct cairn_jeprof_options *options = &run.options;
	cairn_profile_init(&run.profile);
	int code;
	if (!cairn_jeprof_parse(options, argc, argv, &error))
		code = cairn_say_error(error.text);
	else if (options->help)
		code = say_help();
	else if (options->version)
		code = say_version();
	else if (options->test)
		code = CAIRN_EXIT_DONE;
	else if (!take_program(options, &error))
		code = cairn_say_error(error.text);
	else if (options->mode == CAIRN_JEPROF_SYMBOLS)
		code = run_symbols(&run);
	else
		code = run_profiles(&run, &error);
	cairn_profile_free(&run.profile);
	cairn_buffer_free(&run.out);
	cairn_arena_free(&run.arena);
	return code;
}

const struct cairn_command cairn_command_jeprof = {
	.name = "jeprof",
	.summary = "a drop-in for jemalloc's jeprof",
	.arguments = "PROGRAM PROFILE... | SYMBOLIZED-PROFILE... | HOST:PORT[/PAGE]",
	.detail = "Adds several profiles up. Options may be abbreviated, come in any place, and begin with one dash or two; "
		  "--noFLAG turns a flag off.\n"
		  "A profile may be a URL, with or without http:// and a page such as /pprof/heap (default: /pprof/profile).\n"
		  "Without an output option, starts a shell on a terminal and prints --text elsewhere.\n\n"
		  "Keeps fetched profiles in JEPROF_TMPDIR (default: ~/jeprof). Accepts and ignores JEPROF_TOOLS.",
	.groups = cairn_jeprof_groups,
	.run_arguments = run,
};
