/* source.c - choosing among the files a person named, reading them and putting them together.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/source.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/command.h"
#include "profile/combine.h"
#include "profile/filter.h"
#include "profile/name.h"
#include "profile/read.h"
#include "symbol/symbolize.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(member) offsetof(struct cairn_source_options, member)

const struct cairn_option cairn_source_option_table[] = {
	{0, "base", "FILE", "subtract this profile; may be given several times", CAIRN_OPTION_LIST, AT(base), 0},
	{0, "sum", NULL, "add several profiles up instead of showing the newest", CAIRN_OPTION_FLAG, AT(sum), 0},
	{0, "thread", "NAME|ID", "only this thread, by its name or jemalloc's number", CAIRN_OPTION_TEXT, AT(thread), 0},
	{0, "binary", "FILE", "a program or library of the profile that lies elsewhere now", CAIRN_OPTION_LIST, AT(binary), 0},
	{0, "symbols", "DIR", "look for debug files in this folder too", CAIRN_OPTION_LIST, AT(symbols), 0},
	{0, "sysroot", "DIR", "where the files of the profiled machine are", CAIRN_OPTION_TEXT, AT(sysroot), 0},
	{0, "debuginfod", NULL, "ask the servers of DEBUGINFOD_URLS for debug files", CAIRN_OPTION_FLAG, AT(debuginfod), 0},
	{0, "no-cache", NULL, "neither read nor write the cache of names", CAIRN_OPTION_FLAG, AT(no_cache), 0},
	{0, "no-symbols", NULL, "leave addresses without names", CAIRN_OPTION_FLAG, AT(no_symbols), 0},
	{0},
};

struct candidate {
	const char *path;
	int64_t modified_ns;
	struct cairn_dump_name name;
	bool named; /* NAME is filled */
};

struct candidates {
	struct candidate *items;
	size_t count, capacity;
	struct cairn_arena arena;
};

static void add_candidate(struct candidates *list, const char *path, int64_t modified_ns)
{
	cairn_array_room(list->items, list->count, list->capacity);
	struct candidate *item = &list->items[list->count++];
	*item = (struct candidate){.path = path, .modified_ns = modified_ns};
	item->named = cairn_dump_name_parse(path, &item->name);
}

/* Whether the file begins like a profile. Folded text is left to those who name it: too much else looks like it. */
static bool is_dump(const char *path)
{
	char head[4096];
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t length = descriptor >= 0 ? read(descriptor, head, sizeof head) : -1;
	if (descriptor >= 0)
		close(descriptor);
	if (length <= 0)
		return false;
	enum cairn_format format = cairn_profile_sniff((struct cairn_bytes){head, (size_t)length});
	return format != CAIRN_FORMAT_UNKNOWN && format != CAIRN_FORMAT_FOLDED && format != CAIRN_FORMAT_CONTENTION;
}

static int64_t modified_ns(const struct stat *status)
{
	return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

static bool add_folder(struct candidates *list, const char *folder, struct cairn_error *error)
{
	DIR *entries = opendir(folder);
	if (!entries)
		return cairn_fail_errno(error, "%s", folder);
	size_t before = list->count;
	for (struct dirent *entry; (entry = readdir(entries));) {
		if (entry->d_name[0] == '.')
			continue;
		const char *path = cairn_arena_format(&list->arena, "%s/%s", folder, entry->d_name);
		struct stat status;
		if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && is_dump(path))
			add_candidate(list, path, modified_ns(&status));
	}
	closedir(entries);
	return list->count > before || cairn_fail(error, "%s: no heap dump in this folder", folder);
}

static bool add_name(struct candidates *list, const char *name, struct cairn_error *error)
{
	struct stat status;
	if (strcmp(name, "-") == 0) {
		add_candidate(list, name, 0);
		return true;
	}
	if (stat(name, &status) != 0)
		return cairn_fail_errno(error, "%s", name);
	if (S_ISDIR(status.st_mode))
		return add_folder(list, name, error);
	add_candidate(list, name, modified_ns(&status));
	return true;
}

static bool same_process(const struct candidate *a, const struct candidate *b)
{
	if (!a->named || !b->named)
		return a->named == b->named;
	return a->name.process_id == b->name.process_id && cairn_bytes_equal(a->name.prefix, b->name.prefix);
}

/* Within one process the sequence number is certain; between processes the file's time has to do. */
static bool is_newer(const struct candidate *a, const struct candidate *b)
{
	if (a->named && b->named && same_process(a, b))
		return a->name.sequence > b->name.sequence;
	if (a->modified_ns != b->modified_ns)
		return a->modified_ns > b->modified_ns;
	return strcmp(a->path, b->path) > 0;
}

static const struct candidate *choose_newest(const struct candidates *list)
{
	const struct candidate *newest = &list->items[0];
	size_t others = 0;
	for (size_t i = 1; i < list->count; i++)
		if (is_newer(&list->items[i], newest))
			newest = &list->items[i];
	for (size_t i = 0; i < list->count; i++)
		others += !same_process(&list->items[i], newest);
	if (list->count > 1) {
		struct cairn_error note;
		cairn_fail(&note, "%zu dumps%s; showing the newest, %s (--sum adds them up)", list->count,
			   others ? " of more than one process" : "", newest->path);
		cairn_say_note(note.text);
	}
	return newest;
}

static struct cairn_symbolize_options symbolize_options(const struct cairn_source_options *options)
{
	return (struct cairn_symbolize_options){
		.find = {
			.binaries = options->binary.items,
			.binary_count = options->binary.count,
			.symbols = options->symbols.items,
			.symbols_count = options->symbols.count,
			.sysroot = options->sysroot,
			.debuginfod = options->debuginfod,
		},
		.no_cache = options->no_cache,
	};
}

static bool read_one(struct cairn_profile *profile, const char *path, const struct cairn_source_options *options, struct cairn_error *error)
{
	struct cairn_file file;
	struct cairn_dump_name name;
	cairn_profile_init(profile);
	if (!cairn_file_read(&file, path, error))
		return false;
	const char *shown = strcmp(path, "-") == 0 ? "standard input" : path;
	bool good = cairn_profile_read(profile, file.bytes, shown, &(struct cairn_read_options){.split_threads = options->thread || options->split_threads}, error);
	if (good && !profile->time_ns)
		profile->time_ns = file.modified_ns;
	if (good && !profile->process_id && cairn_dump_name_parse(path, &name))
		profile->process_id = name.process_id;
	cairn_file_close(&file);
	/* What lies where is known by build-id, so that profiles of different runs can be put together. */
	if (good && (options->sum || options->base.count)) {
		struct cairn_symbolize_options symbolize = symbolize_options(options);
		cairn_modules_identify(profile, &symbolize.find);
	}
	return good && (!options->thread || cairn_filter_thread(profile, options->thread, error));
}

static bool add_one(struct cairn_combine *combine, const char *path, double factor, const struct cairn_source_options *options, struct cairn_error *error)
{
	struct cairn_profile part;
	bool good = read_one(&part, path, options, error);
	if (good && factor < 0 && part.period != combine->sum->period)
		cairn_profile_warn(combine->sum, "%s: its sampling period is %.0f, the profile's %.0f; each was un-sampled with its own",
				   path, part.period, combine->sum->period);
	if (good && !cairn_combine_add(combine, &part, factor, error))
		good = cairn_fail_within(error, "%s: ", path);
	cairn_profile_free(&part);
	return good;
}

static bool read_chosen(struct cairn_profile *profile, const struct candidates *list, const struct cairn_source_options *options, struct cairn_error *error)
{
	bool several = options->sum && list->count > 1;
	if (!several && !options->base.count)
		return read_one(profile, choose_newest(list)->path, options, error);
	struct cairn_combine combine;
	cairn_profile_init(profile);
	cairn_combine_start(&combine, profile);
	bool good = true;
	if (several)
		for (size_t i = 0; good && i < list->count; i++)
			good = add_one(&combine, list->items[i].path, 1, options, error);
	else
		good = add_one(&combine, choose_newest(list)->path, 1, options, error);
	for (size_t i = 0; good && i < options->base.count; i++)
		good = add_one(&combine, options->base.items[i], -1, options, error);
	cairn_combine_finish(&combine);
	return good;
}

static bool explain_empty(const struct cairn_profile *profile, struct cairn_error *error)
{
	char period[24];
	if (profile->kind == CAIRN_PROFILE_HEAP && profile->period > 1)
		return cairn_fail(error, "the profile has no samples: profiling may have been inactive (prof_active:false), or less was allocated than "
					 "the sampling period of %s (lg_prof_sample)", cairn_text_human(profile->period, period));
	return cairn_fail(error, "the profile has no samples");
}

static void show_progress(void *context, size_t done, size_t total, const char *what)
{
	(void)context;
	if (done == total)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r\033[Knaming addresses: %zu of %zu, %.60s", done, total, what);
}

/* Names the locations, and says what could not be named where it matters. */
static void name_locations(struct cairn_profile *profile, const struct cairn_source_options *options)
{
	static const double worth_saying = 0.01;
	struct cairn_symbolize_options symbolize = symbolize_options(options);
	struct cairn_symbolize_report report;
	if (isatty(STDERR_FILENO))
		symbolize.progress = show_progress;
	cairn_symbolize(profile, &symbolize, &report);
	cairn_symbolize_weigh(profile, &report);
	struct cairn_buffer text = cairn_buffer(1 << 16);
	cairn_symbolize_explain(profile, &report, worth_saying, &text);
	struct cairn_bytes rest = cairn_buffer_bytes(&text), line;
	while (cairn_text_line(&rest, &line, NULL))
		cairn_say_note(cairn_arena_text(&report.arena, line));
	cairn_buffer_free(&text);
	cairn_symbolize_report_free(&report);
}

bool cairn_source_load(struct cairn_profile *profile, const struct cairn_source_options *options, int count, char **names,
		       struct cairn_error *error)
{
	struct candidates list = {0};
	cairn_profile_init(profile);
	bool good = count > 0 || cairn_fail(error, "name a heap dump, a folder of them, or - for standard input");
	for (int i = 0; good && i < count; i++)
		good = add_name(&list, names[i], error);
	if (good) {
		cairn_profile_free(profile);
		good = read_chosen(profile, &list, options, error);
	}
	if (good && profile->sample_count == 0)
		good = explain_empty(profile, error);
	if (good && !options->no_symbols)
		name_locations(profile, options);
	for (size_t i = 0; i < profile->warning_count; i++)
		cairn_say_note(cairn_profile_string(profile, profile->warnings[i]));
	free(list.items);
	cairn_arena_free(&list.arena);
	return good;
}
