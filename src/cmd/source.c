/* source.c - reads the named sources, combines them, and symbolizes their addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/source.h"

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "cmd/fleet/question.h"
#include "cmd/target.h"
#include "dump/name.h"
#include "profile/combine.h"
#include "profile/filter.h"
#include "profile/read.h"
#include "profile/restrict.h"
#include "series/choose.h"
#include "symbol/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(member) offsetof(struct cairn_source_options, member)

const struct cairn_option cairn_combine_option_table[] = {
	{0, "base", "FILE", "subtract this profile; can be repeated", CAIRN_OPTION_LIST, AT(base), 0},
	{0, "normalize", NULL, "scale the base to the profile's total before subtracting it", CAIRN_OPTION_FLAG, AT(normalize), 0},
	{0, "sum", NULL, "add up several profiles instead of showing the newest", CAIRN_OPTION_FLAG, AT(sum), 0},
	{0, "tree", NULL, "with a PID: add up the process and its descendants", CAIRN_OPTION_FLAG, AT(tree), 0},
	{0},
};

const struct cairn_option cairn_source_option_table[] = {
	{0, "thread", "NAME|ID", "keep this thread only, by name or jemalloc's number", CAIRN_OPTION_TEXT, AT(thread), 0},
	{0, "older", "TIME", "keep only what has been live for TIME or longer, such as 10m (Cairn's engine)", CAIRN_OPTION_TEXT, AT(older),
	 0},
	{0, "younger", "TIME", "keep only what was allocated within TIME before the dump", CAIRN_OPTION_TEXT, AT(younger), 0},
	{0, "peak", NULL, "show what was live at the highest point instead of what is live now (Cairn's engine)", CAIRN_OPTION_FLAG,
	 AT(peak), 0},
	{0, "slack", NULL, "show what live objects can hold beyond what was requested (Cairn's engine)", CAIRN_OPTION_FLAG, AT(slack), 0},
	{0, "fragmentation", NULL, "show the free memory in slabs that live objects keep (Cairn's engine on jemalloc 5.2 and later)",
	 CAIRN_OPTION_FLAG, AT(fragmentation), 0},
	{0, "mappings", "KIND", "show what the service mapped itself, not its heap: anonymous, shared, file, reserved, brk or all",
	 CAIRN_OPTION_TEXT, AT(mappings), 0, (const char *const[]){"anonymous", "shared", "file", "reserved", "brk", "all", NULL}},
	{0, "service", "NAME", "of several dumps, use only those of this service or program", CAIRN_OPTION_TEXT, AT(service), 0},
	{0, "binary", "FILE", "use this program or library, which has moved since", CAIRN_OPTION_LIST, AT(binary), 0},
	{0, "symbols", "FOLDER", "also search this folder for debug files: .debug, .dwo, .dwp", CAIRN_OPTION_LIST, AT(symbols), 0},
	{0, "sysroot", "FOLDER", "root folder with the files of the profiled machine", CAIRN_OPTION_TEXT, AT(sysroot), 0},
	{0, "debuginfod", NULL, "fetch debug files from the servers in DEBUGINFOD_URLS", CAIRN_OPTION_FLAG, AT(debuginfod), 0},
	{0, "no-cache", NULL, "do not use the symbol cache", CAIRN_OPTION_FLAG, AT(no_cache), 0},
	{0, "no-symbols", NULL, "do not symbolize addresses", CAIRN_OPTION_FLAG, AT(no_symbols), 0},
	{0, "only-modules", "FILE", "open only the modules in this memory map; for untrusted profiles", CAIRN_OPTION_TEXT, AT(only_modules),
	 0},
	{0, "memory", "SIZE", "memory limit for symbolizing (default: a quarter of what the control group or machine has left)",
	 CAIRN_OPTION_SIZE, AT(memory), 0},
	{0, "token", "TOKEN", "token for an agent reached by URL (default: $CAIRN_TOKEN)", CAIRN_OPTION_TEXT, AT(token), 0},
	{0},
};

struct cairn_find_options cairn_source_find(const struct cairn_source_options *options)
{
	return (struct cairn_find_options){
		.binaries = options->binary.items,
		.binary_count = options->binary.count,
		.symbols = options->symbols.items,
		.symbols_count = options->symbols.count,
		.sysroot = options->sysroot,
		.debuginfod = options->debuginfod,
	};
}

static struct cairn_symbolize_options symbolize_options(const struct cairn_source_options *options)
{
	return (struct cairn_symbolize_options){.find = cairn_source_find(options), .no_cache = options->no_cache,
		.memory = options->memory};
}

/* Asks the live process that NAME stands for. */
static bool read_live(struct cairn_profile *profile, const char *name, const struct cairn_source_options *options,
		      const struct cairn_read_options *reading, struct cairn_error *error)
{
	struct cairn_target target;
	struct cairn_buffer body = {0};
	bool good = cairn_target_find_or_start(&target, name, options->token, error) && cairn_target_snapshot(&target, &body, error) &&
		    cairn_profile_read(profile, cairn_buffer_bytes(&body), name, reading, error);
	if (good && cairn_target_process(&target) > 0)
		profile->process_id = (uint64_t)cairn_target_process(&target); /* as it is numbered here; it may see itself as another */
	cairn_buffer_free(&body);
	return good;
}

static bool read_file(struct cairn_profile *profile, const char *path, struct cairn_read_options *reading, struct cairn_error *error)
{
	struct cairn_file file;
	struct cairn_dump_name name;
	if (!cairn_file_read(&file, path, error))
		return false;
	reading->mapped = file.mapped;
	bool good = cairn_profile_read(profile, file.bytes, strcmp(path, "-") == 0 ? "standard input" : path, reading, error);
	if (good && !profile->time_ns)
		profile->time_ns = cairn_files_date(path, file.modified_ns);
	if (good && !profile->process_id && cairn_dump_name_parse(path, &name))
		profile->process_id = name.process_id;
	cairn_file_close(&file);
	return good;
}

/* Leaves PROFILE only the modules that the file PATH lists. */
static bool restrict_modules(struct cairn_profile *profile, const char *path, struct cairn_error *error)
{
	struct cairn_file file;
	if (!cairn_file_read(&file, path, error))
		return false;
	cairn_profile_restrict(profile, file.bytes);
	cairn_file_close(&file);
	return true;
}

/* An age as a person gives it; none is 0. */
static bool read_age(const char *text, const char *option, uint64_t *age_us, struct cairn_error *error)
{
	int64_t age_ns;
	if (!text)
		return true;
	if (!cairn_text_duration(text, &age_ns) || age_ns < 1000)
		return cairn_fail_usage(error, "--%s takes a time such as 30s, 10m or 2h, not '%.40s'", option, text);
	*age_us = (uint64_t)age_ns / 1000;
	return true;
}

/* The kinds of mappings that TEXT stands for. */
static bool read_kinds(const char *text, unsigned *kinds, struct cairn_error *error)
{
	for (int i = 0; text && i < CAIRN_MAPPED_KINDS; i++)
		if (strcmp(text, "all") == 0 || strcmp(text, cairn_mapped_kind_name((enum cairn_mapped_kind)i)) == 0)
			*kinds |= 1u << i;
	return !text || *kinds ||
	       cairn_fail_usage(error, "--mappings takes anonymous, shared, file, reserved, brk or all, not '%.40s'", text);
}

/* What OPTIONS ask of a reader. */
static bool read_options(const struct cairn_source_options *options, struct cairn_read_options *reading, struct cairn_error *error)
{
	*reading = (struct cairn_read_options){
		.split_threads = options->thread || options->split_threads,
		.split_ages = options->split_ages,
		.split_sizes = options->split_sizes,
		.every_kind = options->every_kind,
		.with_freed = options->with_freed,
		.all_values = options->all_values,
		.at_peak = options->peak,
		.as_slack = options->slack,
		.as_fragmentation = options->fragmentation,
		.as_jeprof = options->as_jeprof,
	};
	if (!read_age(options->older, "older", &reading->older_us, error) ||
	    !read_age(options->younger, "younger", &reading->younger_us, error) ||
	    !read_kinds(options->mappings, &reading->mapped_kinds, error))
		return false;
	if (options->mappings && (options->thread || options->older || options->younger || options->slack || options->fragmentation ||
				  options->peak))
		return cairn_fail_usage(
			error, "--mappings knows call paths only: neither --thread, --older, --younger, --slack, --fragmentation nor "
			       "--peak goes with it");
	if (options->peak && (options->thread || options->older || options->younger || options->slack || options->fragmentation))
		return cairn_fail_usage(
			error, "--peak knows call paths only: neither --thread, --older, --younger, --slack nor --fragmentation goes "
			       "with it");
	if (options->slack && options->fragmentation)
		return cairn_fail_usage(error, "--slack and --fragmentation are two values: choose one");
	return true;
}

bool cairn_source_is_plain(const struct cairn_source_options *options)
{
	return !options->thread && !options->older && !options->younger && !options->peak && !options->slack && !options->fragmentation &&
	       !options->mappings;
}

bool cairn_source_is_whole(const struct cairn_source_options *options)
{
	return cairn_source_is_plain(options) && !options->sum && !options->tree && !options->base.count;
}

bool cairn_source_check(const struct cairn_source_options *options, struct cairn_error *error)
{
	struct cairn_read_options reading;
	return read_options(options, &reading, error);
}

/* Fails if PROFILE, which was read from NAME, does not have what OPTIONS ask for. */
static bool check_asked(const struct cairn_profile *profile, const char *name, const struct cairn_source_options *options,
			struct cairn_error *error)
{
	const struct {
		bool asked, there;
		const char *missing, *option, *where;
	} needs[] = {
		{options->older || options->younger, profile->has_ages, "when its objects were allocated", "--older and --younger need",
		 ""},
		{options->peak, profile->at_peak, "what was live at the highest point", "--peak needs", ""},
		{options->slack, profile->as_slack, "how much of its objects was requested", "--slack needs", ""},
		{options->fragmentation, profile->has_slabs, "how full the slabs of its objects are", "--fragmentation needs",
		 " on jemalloc 5.2 and later"},
		{options->mappings != NULL, profile->has_mapped, "what the service mapped itself", "--mappings needs",
		 ", where the allocator is a library,"},
	};
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (needs[i].asked && !needs[i].there)
			return cairn_fail(error, "%s does not say %s, which %s; dumps of Cairn's own engine%s do (engine:cairn)", name,
					  needs[i].missing, needs[i].option, needs[i].where);
	return true;
}

bool cairn_source_read(struct cairn_profile *profile, const char *name, const struct cairn_source_options *options,
		       struct cairn_error *error)
{
	struct cairn_read_options reading;
	cairn_profile_init(profile);
	if (!read_options(options, &reading, error))
		return false;
	bool good = cairn_store_is(name)    ? cairn_fleet_source_read(profile, name, error)
		    : cairn_target_is(name) ? read_live(profile, name, options, &reading, error)
					    : read_file(profile, name, &reading, error);
	good = good && check_asked(profile, name, options, error);
	if (good && options->only_modules)
		good = restrict_modules(profile, options->only_modules, error);
	/* Modules are identified by build-id, so that profiles of different runs can be combined, and others can symbolize what is
	 * written without names. */
	if (good && (options->sum || options->tree || options->base.count || options->no_symbols)) {
		struct cairn_symbolize_options symbolize = symbolize_options(options);
		cairn_modules_identify(profile, &symbolize.find);
	}
	if (good && options->thread)
		cairn_filter_thread(profile, options->thread);
	return good;
}

bool cairn_source_check_thread(const struct cairn_profile *profile, const struct cairn_source_options *options, struct cairn_error *error)
{
	return !options->thread || profile->sample_count > 0 || cairn_filter_no_thread(profile, options->thread, error);
}

/* Says on each sample of PART whose it is. */
static void label_process(struct cairn_profile *part)
{
	char text[96];
	const char *path = part->process ? cairn_profile_string(part, part->process) : "process";
	snprintf(text, sizeof text, "%.60s %llu", cairn_base_name(path), (unsigned long long)part->process_id);
	cairn_profile_label_all(part, "process", text);
}

/* Adds FACTOR times the profile PATH; stores its process in ORIGIN. */
static bool add_one(struct cairn_combine *combine, const char *path, double factor, const struct cairn_source_options *options,
		    struct cairn_origin *origin, struct cairn_error *error)
{
	struct cairn_profile part;
	bool good = cairn_source_read(&part, path, options, error);
	if (good && options->tree && part.process_id)
		label_process(&part);
	if (good)
		*origin = cairn_origin_of(&part);
	if (good && factor < 0 && part.period != combine->sum->period)
		cairn_profile_warn(combine->sum, "%s: its sampling period is %.0f, the profile's is %.0f; each is scaled by its own",
				   path, part.period, combine->sum->period);
	if (good && !cairn_combine_add(combine, &part, factor, error))
		good = cairn_fail_within(error, "%s: ", path);
	cairn_profile_free(&part);
	return good;
}

/* CHOSEN receives the source that is shown; NULL if several are added up. */
static bool read_chosen(struct cairn_profile *profile, const struct cairn_dump_files *list,
			const struct cairn_source_options *options, const char **chosen, struct cairn_error *error)
{
	bool several = (options->sum || options->tree) && list->count > 1;
	*chosen = several ? NULL : cairn_files_newest(list, true)->path;
	if (!several && !options->base.count)
		return cairn_source_read(profile, *chosen, options, error);
	struct cairn_combine combine;
	struct cairn_origin now = {0}, base = {0};
	cairn_profile_init(profile);
	cairn_combine_start(&combine, profile);
	bool good = true;
	if (several)
		for (size_t i = 0; good && i < list->count; i++)
			good = add_one(&combine, list->items[i].path, 1, options, &now, error);
	else
		good = add_one(&combine, *chosen, 1, options, &now, error);
	for (size_t i = 0; good && i < options->base.count; i++)
		good = add_one(&combine, options->base.items[i], -1, options, &base, error);
	/* Two dumps of one process contain the same samples. */
	profile->base_within = good && !several && options->base.count == 1 && !options->normalize && !profile->mixed_periods &&
			       now.process_id != 0 && cairn_origin_continues(now, base);
	cairn_combine_finish(&combine);
	profile->at_peak = options->peak;
	profile->as_slack = options->slack;
	profile->as_fragmentation = options->fragmentation;
	profile->as_mapped = options->mappings;
	if (good && options->normalize)
		cairn_combine_normalize(profile);
	return good;
}

/* Folded text with two numbers on each line, before and after, is a difference. */
static void subtract_column(struct cairn_profile *profile)
{
	uint32_t before = cairn_profile_find_value(profile, "before"), after = cairn_profile_find_value(profile, "after");
	if (before == CAIRN_NONE || after == CAIRN_NONE)
		return;
	for (size_t i = 0; i < profile->sample_count; i++)
		cairn_profile_subtract(profile, i, after, cairn_profile_values(profile, i)[before]);
}

bool cairn_source_fail_empty(const struct cairn_profile *profile, const char *source, struct cairn_error *error)
{
	char period[24];
	bool heap = profile->kind == CAIRN_PROFILE_HEAP && profile->period > 1;
	struct stat status;
	bool folder = source && stat(source, &status) == 0 && S_ISDIR(status.st_mode); /* which doctor does not take */
	bool one = source && strcmp(source, "-") != 0 && !cairn_store_is(source) && !folder;
	if (heap)
		return cairn_fail(
			error,
			"the profile has no samples: sampling may have been off, or less was allocated than the sampling period of "
			"%s%s%.200s%s",
			cairn_text_human(profile->period, period), one ? "; 'cairn doctor " : "", one ? source : "",
			one ? "' explains why" : "");
	if (profile->kind == CAIRN_PROFILE_CPU)
		return cairn_fail(error, "the profile has no samples: the process used almost no CPU time while it was sampled");
	return cairn_fail(error, "the profile has no samples");
}

static void show_progress(void *context, size_t done, size_t total, const char *what)
{
	(void)context;
	struct cairn_buffer shown = cairn_buffer(60);
	cairn_utf8_show(&shown, cairn_bytes_of(cairn_base_name(what))); /* a long path would push the file's name out of the line */
	if (done == total)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r\033[Knaming addresses: %zu of %zu, %.*s", done, total, (int)shown.length, shown.data);
	cairn_buffer_free(&shown);
}

/* A mistyped name would otherwise show as addresses without names, if at all. */
static void say_missing(const char *const *names, size_t count)
{
	struct cairn_error error;
	for (size_t i = 0; i < count; i++)
		if (names[i] && access(names[i], F_OK) != 0) {
			cairn_fail_errno(&error, "not searching for symbols in %s", names[i]);
			cairn_say_note(error.text);
		}
}

/* Whether the report TEXT contains an address of MODULE, as cairn_view_place writes it: with its offset, or in a report by file without,
 * at the end of a line or as a JSON string. Addresses outside any file are plain numbers, which are not looked for. */
static bool mentions(const struct cairn_profile *profile, const struct cairn_symbolize_module *module, struct cairn_bytes text)
{
	static const struct {
		const char *before, *after;
	} forms[] = {{"", "+0x"}, {" ", "\n"}, {"\"", "\""}};
	char name[512];
	if (module->module == CAIRN_NONE)
		return true;
	const char *path = cairn_profile_string(profile, profile->modules[module->module].path);
	if (!*path)
		return cairn_bytes_contain(text, "[code without a file]");
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(name, sizeof name, "%s%s%s", forms[i].before, cairn_base_name(path), forms[i].after);
		if (cairn_bytes_contain(text, name))
			return true;
	}
	return false;
}

void cairn_source_note_unnamed(const struct cairn_profile *profile, struct cairn_symbolize_report *report,
			       const struct cairn_symbolize_scope *scope, const struct cairn_bytes *text)
{
	static const double worth_saying = 0.05;
	struct cairn_buffer lines = cairn_buffer(1 << 16);
	cairn_symbolize_weigh(profile, scope, report);
	for (size_t i = 0; text && i < report->module_count; i++)
		if (!mentions(profile, &report->modules[i], *text))
			report->modules[i].unnamed_weight = 0;
	cairn_symbolize_explain(profile, report, worth_saying, &lines);
	struct cairn_bytes rest = cairn_buffer_bytes(&lines), first = {"", 0}, line;
	size_t count = 0;
	for (; cairn_text_line(&rest, &line, NULL); count++)
		first = count == 0 ? line : first;
	if (count == 1)
		cairn_note("%.*s", (int)first.length, first.data);
	else if (count > 1)
		cairn_note("%.*s; names are missing from %zu more file%s, which 'cairn doctor DUMP' lists", (int)first.length, first.data,
			   count - 1, count == 2 ? "" : "s");
	cairn_buffer_free(&lines);
}

void cairn_source_name(struct cairn_profile *profile, const struct cairn_source_options *options)
{
	struct cairn_symbolize_options symbolize = symbolize_options(options);
	struct cairn_symbolize_report own, *report = options->unnamed ? options->unnamed : &own;
	if (options->no_symbols)
		return;
	if (!options->quiet) {
		say_missing(options->binary.items, options->binary.count);
		say_missing(options->symbols.items, options->symbols.count);
		say_missing(&options->sysroot, 1);
	}
	if (isatty(STDERR_FILENO) && !options->quiet && !cairn_option_quiet)
		symbolize.progress = show_progress;
	cairn_symbolize(profile, &symbolize, report);
	if (options->unnamed)
		return;
	if (!options->quiet)
		cairn_source_note_unnamed(profile, report, NULL, NULL);
	cairn_symbolize_report_free(report);
}

/* The PIDs in NAMES with all their descendants; other names are kept unchanged. free() the list; its names are in ARENA. */
static char **list_trees(struct cairn_arena *arena, int *count, char **names)
{
	char **all = NULL;
	size_t total = 0, capacity = 0, silent = 0;
	for (int i = 0; i < *count; i++) {
		int *pids = NULL, root = cairn_target_is(names[i]) ? cairn_target_pid(names[i]) : 0;
		size_t without = 0, found = root ? cairn_target_tree(root, &pids, &without) : 0;
		for (size_t k = 0; k < found; k++) {
			cairn_array_room(all, total, capacity);
			all[total++] = cairn_arena_format(arena, "%d", pids[k]);
		}
		if (found == 0) { /* which is said when it is read */
			cairn_array_room(all, total, capacity);
			all[total++] = names[i];
		} else {
			silent += without;
		}
		free(pids);
	}
	if (silent > 0)
		cairn_note("%zu process%s of the tree %s been sampled since the fork and %s left out", silent, silent == 1 ? "" : "es",
			   silent == 1 ? "has not" : "have not", silent == 1 ? "is" : "are");
	*count = (int)total;
	return all;
}

bool cairn_source_load(struct cairn_profile *profile, const struct cairn_source_options *options, int count, char **names,
		       struct cairn_error *error)
{
	struct cairn_dump_files list = {.listed_before = options->listed_before};
	cairn_profile_init(profile);
	static char dash[] = "-", *standard_input[] = {dash};
	char **trees = NULL;
	const char *chosen = NULL;
	if (count == 0 && options->reads_standard_input && !isatty(STDIN_FILENO)) {
		count = 1;
		names = standard_input;
	}
	if (options->tree)
		names = trees = list_trees(&list.arena, &count, names);
	bool good = cairn_source_check(options, error) && cairn_files_list(&list, count, names, error) &&
		    cairn_files_keep_service(&list, options->service, error);
	if (good && options->normalize && !options->base.count)
		good = cairn_fail_usage(error, "--normalize needs --base");
	if (good) {
		cairn_profile_free(profile);
		good = read_chosen(profile, &list, options, &chosen, error) && cairn_source_check_thread(profile, options, error);
	}
	if (good && options->columns_compare && !profile->base)
		subtract_column(profile);
	if (good && profile->sample_count == 0) {
		cairn_source_fail_empty(profile, chosen, error);
		good = options->may_be_empty;
		if (good)
			cairn_say_note(error->text);
	}
	if (good)
		cairn_source_name(profile, options);
	for (size_t i = 0; i < profile->warning_count; i++)
		cairn_say_note(cairn_profile_string(profile, profile->warnings[i]));
	cairn_files_free(&list);
	free(trees);
	return good;
}
