/* source.c - reads the named sources, combines them, and symbolizes their addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/source.h"

#include "base/array.h"
#include "base/file.h"
#include "base/note.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"
#include "dump/name.h"
#include "live/files.h"
#include "live/owner.h"
#include "live/page_dump.h"
#include "live/store_source.h"
#include "live/target.h"
#include "live/walked.h"
#include "profile/combine.h"
#include "profile/filter.h"
#include "profile/read.h"
#include "profile/restrict.h"
#include "profile/restrict.h"
#include "report/closure.h"
#include "series/choose.h"
#include "series/words.h"
#include "symbol/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* What OPTIONS ask for first; COUNT is how much of it there is. */
static enum cairn_shown shown_by(const struct cairn_source_options *options, unsigned *count)
{
	enum cairn_shown shown = CAIRN_SHOWN_LIVE;
	*count = 0;
	for (unsigned i = CAIRN_SHOWN_COUNT; i-- > 0;)
		if (options->shows[i] || (i == CAIRN_SHOWN_MAPPED && options->mappings)) {
			shown = i;
			++*count;
		}
	return shown;
}

static bool wants_walk(const struct cairn_read_options *reading)
{
	return reading->shown == CAIRN_SHOWN_FRAGMENTATION || reading->every_kind;
}

/* Asks the live process that TARGET is; BODY receives its answer, unless it has a dump of it already. */
static bool read_live(struct cairn_profile *profile, const struct cairn_target *target, struct cairn_buffer *body, const char *name,
		      const struct cairn_read_options *reading, struct cairn_error *error)
{
	bool good = body->length > 0 || cairn_target_snapshot(target, body, error);
	struct cairn_error why = {{0}};
	if (good && wants_walk(reading))
		cairn_walked_snapshot(target, body, &why);
	good = good && cairn_profile_read(profile, cairn_buffer_bytes(body), name, reading, error);
	if (good && reading->shown == CAIRN_SHOWN_FRAGMENTATION && why.text[0] && !(profile->facts.shows >> CAIRN_SHOWN_FRAGMENTATION & 1))
		good = cairn_fail(error, "%s does not say what free memory its objects keep: %s", name, why.text);
	if (good && cairn_target_process(target) > 0)
		profile->facts.process_id = (uint64_t)cairn_target_process(target); /* on this machine; in a container it has another */
	profile->facts.foreign = good && cairn_serve_owner_of((int)cairn_target_process(target)) != CAIRN_OWNER_OWN;
	return good;
}

static bool read_file(struct cairn_profile *profile, const char *path, struct cairn_read_options *reading, struct cairn_error *error)
{
	struct cairn_file file;
	struct cairn_dump_name name;
	if (!cairn_file_read(&file, path, error))
		return false;
	reading->mapped = file.guard;
	bool good = cairn_profile_read(profile, file.bytes, strcmp(path, "-") == 0 ? "standard input" : path, reading, error);
	if (cairn_file_is_cut(&file))
		good = cairn_fail(error, "%s: was cut short while it was read; read it again once it is complete", path);
	if (good && !profile->facts.time_ns)
		profile->facts.time_ns = cairn_files_date(path, file.modified_ns);
	if (good && !profile->facts.process_id && cairn_dump_name_parse(path, &name))
		profile->facts.process_id = name.process_id;
	/* The names of a process that runs may come from its own files, whoever wrote the dump. */
	profile->facts.foreign = (file.owner != 0 && file.owner != geteuid()) ||
			   (good && profile->facts.process_id && cairn_serve_owner_of((int)profile->facts.process_id) == CAIRN_OWNER_FOREIGN);
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
	unsigned count;
	*reading = (struct cairn_read_options){
		.split_threads = options->thread || options->split_threads,
		.split_ages = options->split_ages,
		.split_sizes = options->split_sizes,
		.every_kind = options->every_kind,
		.with_freed = options->with_freed,
		.all_values = options->all_values,
		.shown = shown_by(options, &count),
		.as_jeprof = options->as_jeprof,
	};
	if (!read_age(options->older, "older", &reading->older_us, error) ||
	    !read_age(options->younger, "younger", &reading->younger_us, error) ||
	    !read_kinds(options->mappings, &reading->mapped_kinds, error))
		return false;
	const struct cairn_shown_view *view = &cairn_shown_views[reading->shown];
	for (unsigned i = reading->shown + 1; count > 1 && i < CAIRN_SHOWN_COUNT; i++)
		if (options->shows[i] || i == CAIRN_SHOWN_MAPPED)
			return cairn_fail_usage(error, "--%s and --%s are two values: choose one", view->option, cairn_shown_views[i].option);
	return !view->by_path || !(options->thread || options->older || options->younger) ||
	       cairn_fail_usage(error, "--%s knows call paths only: neither --thread, --older nor --younger goes with it", view->option);
}

bool cairn_source_is_plain(const struct cairn_source_options *options)
{
	unsigned shown;
	shown_by(options, &shown);
	return !options->thread && !options->older && !options->younger && shown == 0;
}

bool cairn_source_knows_ages(const struct cairn_source_options *options)
{
	unsigned count;
	enum cairn_shown shown = shown_by(options, &count);
	return cairn_source_is_plain(options) || (count == 1 && shown == CAIRN_SHOWN_MAPPED && !options->thread);
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
	unsigned count;
	enum cairn_shown shown = shown_by(options, &count);
	const struct cairn_shown_view *view = &cairn_shown_views[shown];
	if ((options->older || options->younger) && !profile->facts.has_ages)
		return cairn_fail(error,
				  "%s does not say when its objects were allocated, which --older and --younger need; dumps of Cairn's own engine "
				  "do (engine:cairn)", name);
	if (count && !(profile->facts.shows >> shown & 1))
		return cairn_fail(error, "%s does not say %s, which --%s needs; dumps of Cairn's own engine%s do (engine:cairn)", name,
				  view->lacking, view->option, view->where);
	return true;
}

/* PROFILE, which was read from NAME, as OPTIONS want it. */
static bool settle(struct cairn_profile *profile, const char *name, const struct cairn_source_options *options, struct cairn_error *error)
{
	bool good = check_asked(profile, name, options, error);
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

bool cairn_source_take(struct cairn_profile *profile, const struct cairn_target *target, struct cairn_buffer *dump, const char *name,
		       const struct cairn_source_options *options, struct cairn_error *error)
{
	struct cairn_read_options reading;
	cairn_profile_init(profile);
	if (!read_options(options, &reading, error))
		return false;
	int pid = cairn_target_process(target);
	if (pid > 0 && !wants_walk(&reading))
		cairn_page_dump(pid, dump);
	return read_live(profile, target, dump, name, &reading, error) && settle(profile, name, options, error);
}

bool cairn_source_read(struct cairn_profile *profile, const char *name, const struct cairn_source_options *options,
		       struct cairn_error *error)
{
	struct cairn_read_options reading;
	struct cairn_target target;
	struct cairn_buffer body = {0};
	cairn_profile_init(profile);
	if (!read_options(options, &reading, error))
		return false;
	bool good, of_store = cairn_store_is(name);
	if (of_store)
		good = cairn_fleet_source_read(profile, name, error);
	else if (cairn_target_is(name))
		good = cairn_target_find_profile(&target, name, options->token, error) &&
		       read_live(profile, &target, &body, name, &reading, error);
	else
		good = read_file(profile, name, &reading, error);
	cairn_buffer_free(&body);
	profile->facts.foreign |= of_store; /* which many may write to */
	return good && settle(profile, name, options, error);
}

bool cairn_source_check_thread(const struct cairn_profile *profile, const struct cairn_source_options *options, struct cairn_error *error)
{
	return !options->thread || profile->sample_count > 0 || cairn_filter_no_thread(profile, options->thread, error);
}

/* Says on each sample of PART whose it is. */
static void label_process(struct cairn_profile *part)
{
	char text[96];
	const char *path = part->facts.process ? cairn_profile_string(part, part->facts.process) : "process";
	snprintf(text, sizeof text, "%.60s %llu", cairn_base_name(path), (unsigned long long)part->facts.process_id);
	cairn_profile_label_all(part, "process", text);
}

/* Adds FACTOR times the profile PATH; stores its process in ORIGIN. */
static bool add_one(struct cairn_combine *combine, const char *path, double factor, const struct cairn_source_options *options,
		    struct cairn_origin *origin, struct cairn_error *error)
{
	struct cairn_profile part;
	bool good = cairn_source_read(&part, path, options, error);
	if (good && options->tree && part.facts.process_id)
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
	profile->shown = shown_by(options, &(unsigned){0});
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
	struct cairn_own_memory own = cairn_own_memory_of(profile);
	struct cairn_buffer words = cairn_buffer(SIZE_MAX);
	bool heap = profile->kind == CAIRN_PROFILE_HEAP && profile->period > 1;
	struct stat status;
	bool folder = source && stat(source, &status) == 0 && S_ISDIR(status.st_mode); /* which doctor does not take */
	bool one = source && strcmp(source, "-") != 0 && !cairn_store_is(source) && !folder;
	if (heap) {
		cairn_words_no_samples(&own, profile->period, &words);
		cairn_fail(error, "the profile has %.*s%s%.200s%s", (int)words.length, words.data, one ? "; 'cairn doctor " : "",
			   one ? source : "", one ? "' explains why" : "");
		cairn_buffer_free(&words);
		return false;
	}
	if (profile->kind == CAIRN_PROFILE_CPU)
		return cairn_fail(error, "the profile has no samples: the process used almost no CPU time while it was sampled");
	return cairn_fail(error, "the profile has no samples");
}

/* A mistyped name would otherwise show as addresses without names, if at all. */
static void say_missing(const char *const *names, size_t count)
{
	struct cairn_error error;
	for (size_t i = 0; i < count; i++)
		if (names[i] && access(names[i], F_OK) != 0) {
			cairn_fail_errno(&error, "not searching for symbols in %s", names[i]);
			cairn_note("%s", error.text);
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
	if (!options->quiet)
		symbolize.progress = cairn_note_taker.progress;
	cairn_symbolize(profile, &symbolize, report);
	if (!options->as_jeprof)
		cairn_closures_name(profile);
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
			cairn_note("%s", error->text);
	}
	if (good)
		cairn_source_name(profile, options);
	for (size_t i = 0; i < profile->warning_count; i++)
		cairn_note("%s", cairn_profile_string(profile, profile->warnings[i]));
	cairn_files_free(&list);
	free(trees);
	return good;
}
