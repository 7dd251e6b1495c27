/* symbolize.c - makes a job for each module, answers what it can from the cache, and looks up the rest on all processors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/symbolize.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/pool.h"
#include "profile/bound.h"
#include "symbol/answers.h"
#include "symbol/budget.h"
#include "symbol/cache.h"
#include "symbol/demangle.h"
#include "symbol/live.h"
#include "symbol/perf_map.h"
#include "symbol/search.h"
#include "symbol/ticker.h"

#include <stdlib.h>

/* The work for one module. The arrays of locations and of their link-time addresses are parallel. */
struct job {
	uint32_t module;
	size_t count;        /* number of locations with a known address */
	size_t outside;      /* number of those that are in no segment of the file */
	uint32_t *locations;
	uint64_t *addresses;
	uint64_t *missing; /* addresses that are not in the cache, ascending, each once */
	size_t missing_count;
	struct cairn_binary binary;
	struct cairn_cache_key key;
	bool has_answers;
	bool lacked_room; /* answers would be better with more memory */
	struct cairn_answers answers; /* from `cached`, then from `block` */
	struct cairn_file cached;
	struct cairn_buffer block;
	struct cairn_arena arena; /* for what a worker makes */
	const char *problem;
	const char *cache_problem;
};

struct work {
	struct cairn_profile *profile;
	const struct cairn_symbolize_options *options;
	struct cairn_symbolize_report *report;
	struct cairn_finder finder;
	struct cairn_cache cache;
	bool has_cache;
	struct job *jobs;
	size_t job_count;
	struct job **slow; /* jobs with missing addresses, largest first */
	size_t slow_count;
	struct cairn_ticker ticker;
};

/* Groups the locations that need a name into jobs by module. Those in no module are only counted. */
static size_t collect(struct work *work)
{
	const struct cairn_profile *profile = work->profile;
	struct cairn_arena *arena = &work->finder.arena;
	size_t modules = profile->module_count, homeless = 0;
	size_t *counts = cairn_arena_zero(arena, modules + 1, sizeof *counts);
	uint32_t *job_of = cairn_arena_zero(arena, modules + 1, sizeof *job_of);
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (location->frame_count)
			continue;
		if (location->mapping == CAIRN_NONE)
			homeless++;
		else
			counts[profile->mappings[location->mapping].module]++;
	}
	work->jobs = cairn_arena_zero(arena, modules + 1, sizeof *work->jobs);
	for (size_t i = 0; i < modules; i++) {
		if (!counts[i])
			continue;
		job_of[i] = (uint32_t)work->job_count;
		struct job *job = &work->jobs[work->job_count++];
		job->module = (uint32_t)i;
		job->locations = cairn_arena_alloc(arena, counts[i] * sizeof *job->locations);
	}
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (location->frame_count || location->mapping == CAIRN_NONE)
			continue;
		struct job *job = &work->jobs[job_of[profile->mappings[location->mapping].module]];
		job->locations[job->count++] = (uint32_t)i;
	}
	return homeless;
}

/* The lowest file offset of the module that was mapped: where its code begins, as far as the profile tells. */
static uint64_t lowest_offset(const struct cairn_profile *profile, uint32_t module)
{
	uint64_t lowest = UINT64_MAX;
	for (size_t i = 0; i < profile->mapping_count; i++)
		if (profile->mappings[i].module == module && profile->mappings[i].offset < lowest)
			lowest = profile->mappings[i].offset;
	return lowest;
}

/* Turns file offsets into link-time addresses, and drops the locations that have none. */
static void place(struct work *work, struct job *job)
{
	struct cairn_profile *profile = work->profile;
	const struct cairn_identity *identity = &job->binary.identity;
	uint64_t code_start = job->binary.is_debug_file ? lowest_offset(profile, job->module) : 0;
	size_t kept = 0;
	job->addresses = cairn_arena_alloc(&work->finder.arena, job->count * sizeof *job->addresses);
	for (size_t i = 0; i < job->count; i++) {
		const struct cairn_location *location = &profile->locations[job->locations[i]];
		uint64_t offset = cairn_profile_file_offset(profile, location), address;
		bool known = job->binary.is_debug_file ? cairn_identity_address_from_start(identity, code_start, offset, &address)
						       : cairn_identity_address(identity, offset, &address);
		if (!known) {
			job->outside++;
			continue;
		}
		profile->mappings[location->mapping].link_bias = address - offset;
		job->locations[kept] = job->locations[i];
		job->addresses[kept++] = address;
	}
	job->count = kept;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Lists the addresses that are not in the cache. */
static void list_missing(struct work *work, struct job *job)
{
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < job->count; i++) {
		if (job->has_answers && cairn_answers_find(&job->answers, job->addresses[i]) != CAIRN_NONE)
			continue;
		if (!job->missing)
			job->missing = cairn_arena_alloc(&work->finder.arena, (job->count - i) * sizeof *job->missing);
		job->missing[count++] = job->addresses[i];
	}
	work->report->from_cache += job->count - count;
	if (count)
		qsort(job->missing, count, sizeof *job->missing, by_value);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || job->missing[kept - 1] != job->missing[i])
			job->missing[kept++] = job->missing[i];
	job->missing_count = kept;
}

/* The file is gone, or another build is in its place: takes the segments, and what names there are, from the cache. */
static bool recall(struct work *work, struct job *job)
{
	const struct cairn_profile *profile = work->profile;
	const char *build_id = cairn_profile_string(profile, profile->modules[job->module].build_id);
	struct cairn_identity *identity = &job->binary.identity;
	job->has_answers = work->has_cache &&
			   cairn_cache_load_gone(&work->cache, &work->finder.arena, build_id, &job->cached, &job->answers);
	if (!job->has_answers)
		return false;
	*identity = (struct cairn_identity){.segment_count = job->answers.segment_count};
	identity->segments = cairn_arena_zero(&work->finder.arena, identity->segment_count + 1, sizeof *identity->segments);
	for (size_t i = 0; i < identity->segment_count; i++) {
		const struct cairn_answer_segment *segment = &job->answers.segments[i];
		identity->segments[i] = (struct cairn_elf_segment){
			.offset = segment->offset, .address = segment->address, .file_size = segment->file_size};
	}
	return true;
}

static void prepare(struct work *work, struct job *job)
{
	struct cairn_profile *profile = work->profile;
	cairn_find_binary(&work->finder, profile, &profile->modules[job->module], &job->binary);
	if (job->binary.warning)
		cairn_profile_warn(profile, "%s", job->binary.warning);
	if (!job->binary.path) {
		job->problem = job->binary.reason;
		if (recall(work, job)) {
			place(work, job);
			list_missing(work, job);
			job->missing_count = 0; /* which nothing can look up */
		}
		return;
	}
	struct cairn_module *module = &profile->modules[job->module];
	if (!module->build_id)
		module->build_id = cairn_profile_text(profile, job->binary.identity.build_id);
	place(work, job);
	if (!job->count)
		return;
	job->key = cairn_cache_key(&work->finder.arena, &job->binary, &work->options->find);
	job->has_answers = work->has_cache && cairn_cache_load(&work->cache, &job->key, &job->binary, &job->cached, &job->answers);
	list_missing(work, job);
}

static const char *remember(struct job *job, const char *text)
{
	return cairn_arena_text(&job->arena, cairn_bytes_of(text));
}

/* Records every path that was examined: first the files that were found, then those that the debug information named but that are
 * missing. */
static void set_probes(struct job *job, const struct cairn_debug *debug, const struct cairn_symbols *symbols,
		       struct cairn_answers_origin *origin)
{
	size_t count;
	const char *const *sought = cairn_symbols_sought(symbols, &count);
	struct cairn_probe *probes = cairn_arena_zero(&job->arena, debug->probe_count + count, sizeof *probes);
	if (debug->probe_count)
		memcpy(probes, debug->probes, debug->probe_count * sizeof *probes);
	for (size_t i = 0; i < count; i++)
		probes[debug->probe_count + i] = cairn_probe_now(sought[i]);
	origin->probes = probes;
	origin->probe_count = debug->probe_count + count;
}

/* Looks up the missing addresses, and makes a new block from the old and new answers. */
static void look_up(struct job *job, const struct cairn_debug *debug)
{
	struct cairn_symbols *symbols = cairn_symbols_open(&debug->files);
	struct cairn_symbol *results = cairn_array_zero(job->missing_count, sizeof *results);
	cairn_symbols_lookup(symbols, job->missing, job->missing_count, results);

	struct cairn_answers_builder builder = {0};
	if (job->has_answers)
		cairn_answers_add_all(&builder, &job->answers);
	for (size_t i = 0; i < job->missing_count; i++)
		cairn_answers_add(&builder, job->missing[i], &results[i]);
	free(results);

	size_t warning_count;
	const char *const *warnings = cairn_symbols_warnings(symbols, &warning_count);
	struct cairn_answers_origin origin = {
		.key = job->key.text, .options = job->key.options, .note = debug->note, .damaged = debug->damaged,
		.segments = job->binary.identity.segments,
		.segment_count = job->binary.is_debug_file ? 0 : job->binary.identity.segment_count};
	set_probes(job, debug, symbols, &origin);
	if (!origin.note && warning_count) {
		origin.note = warning_count == 1 ? warnings[0]
						 : cairn_arena_format(&job->arena, "%s, and %zu more such", warnings[0], warning_count - 1);
		origin.damaged = true;
	}
	job->block = cairn_buffer(SIZE_MAX);
	bool good =
		cairn_answers_write(&builder, &origin, &job->block) && cairn_answers_parse(&job->answers, cairn_buffer_bytes(&job->block));
	job->has_answers = good;
	if (!good)
		job->problem = "it has too many names";
	job->lacked_room = cairn_symbols_lacked_room(symbols);
	const char *changed = cairn_symbols_changed(symbols);
	if (changed) { /* what is in the cache is of one build all the same */
		job->has_answers = job->cached.bytes.data && cairn_answers_parse(&job->answers, job->cached.bytes);
		job->problem = cairn_arena_format(&job->arena, "%s was written to while it was read", changed);
	}
	cairn_answers_builder_free(&builder);
	cairn_symbols_close(symbols);
}

/* Incomplete answers are not stored if a server may have the missing file later, or if another run may have more memory: no probe would
 * show that they are out of date. */
static bool is_worth_keeping(const struct work *work, const struct job *job)
{
	return job->has_answers && !job->problem && work->has_cache && !job->lacked_room && !(work->options->find.debuginfod && job->answers.note);
}

static void run_slow(void *context, size_t item, unsigned worker)
{
	(void)worker;
	struct work *work = context;
	struct job *job = work->slow[item];
	struct cairn_finder finder = {.options = &work->options->find};
	struct cairn_debug debug;
	struct cairn_error error;
	cairn_ticker_say(&work->ticker, job->binary.path);
	cairn_find_debug(&finder, &job->binary, &debug);
	if (debug.files.binary) {
		look_up(job, &debug);
		if (is_worth_keeping(work, job) && !cairn_cache_store(&work->cache, &job->key, cairn_buffer_bytes(&job->block), &error))
			job->cache_problem = remember(job, error.text);
	} else {
		job->problem = remember(job, debug.note);
	}
	cairn_debug_close(&debug);
	cairn_finder_free(&finder);
	cairn_ticker_add(&work->ticker, job->missing_count);
}

static int largest_first(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a, *y = *(struct job *const *)b;
	return (x->missing_count < y->missing_count) - (x->missing_count > y->missing_count);
}

static void run_all_slow(struct work *work)
{
	size_t total = 0;
	work->slow = cairn_arena_alloc(&work->finder.arena, work->job_count * sizeof *work->slow);
	for (size_t i = 0; i < work->job_count; i++) {
		if (!work->jobs[i].missing_count)
			continue;
		work->slow[work->slow_count++] = &work->jobs[i];
		total += work->jobs[i].missing_count;
	}
	if (!work->slow_count)
		return;
	qsort(work->slow, work->slow_count, sizeof *work->slow, largest_first);
	cairn_ticker_start(&work->ticker, total, work->options->progress, work->options->progress_context);
	cairn_pool_run(work->slow_count, run_slow, work);
	cairn_ticker_stop(&work->ticker);
}

/* Maps the numbers of a block to those of the profile; CAIRN_NONE for those not used yet. */
struct translation {
	struct cairn_profile *profile;
	const struct job *job;
	uint32_t *strings, *functions;
};

static uint32_t profile_string(struct translation *to, uint32_t id)
{
	if (to->strings[id] == CAIRN_NONE)
		to->strings[id] = cairn_strings_add(&to->profile->strings, cairn_answers_string(&to->job->answers, id));
	return to->strings[id];
}

/* A function known only by its line is called as its location would be without it. */
static uint32_t nameless_function(struct translation *to, struct cairn_function *function, uint32_t location)
{
	struct cairn_profile *profile = to->profile;
	struct cairn_buffer name = cairn_buffer(SIZE_MAX);
	cairn_profile_place(profile, &profile->locations[location], &name);
	function->name = function->system_name = cairn_strings_add(&profile->strings, cairn_buffer_bytes(&name));
	cairn_buffer_free(&name);
	return cairn_profile_add_function(profile, function);
}

static uint32_t profile_function(struct translation *to, uint32_t id, uint32_t location)
{
	if (to->functions[id] != CAIRN_NONE)
		return to->functions[id];
	const struct cairn_answer_function *known = &to->job->answers.functions[id];
	struct cairn_function function = {.name = profile_string(to, known->name), .system_name = profile_string(to, known->system_name),
					  .file = profile_string(to, known->file), .start_line = known->start_line};
	if (!function.name)
		return nameless_function(to, &function, location);
	return to->functions[id] = cairn_profile_add_function(to->profile, &function);
}

static void name_location(struct translation *to, uint32_t location, uint32_t answer)
{
	const struct cairn_answers *answers = &to->job->answers;
	struct cairn_profile *profile = to->profile;
	uint32_t first = answers->first[answer], count = answers->first[answer + 1] - first;
	if (!count)
		return;
	struct cairn_frame *frames = cairn_profile_frame_room(profile, location, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct cairn_answer_frame *frame = &answers->frames[first + i];
		frames[i] = (struct cairn_frame){profile_function(to, frame->function, location), frame->line, frame->column};
	}
}

/* Names the locations of the job. Returns the number of locations without a name. */
static size_t fill(struct work *work, struct job *job)
{
	if (!job->has_answers)
		return job->count + job->outside;
	size_t strings = job->answers.string_count + 1, unnamed = job->outside;
	struct translation to = {work->profile, job, malloc((strings + job->answers.function_count) * sizeof *to.strings), NULL};
	if (!to.strings)
		cairn_out_of_memory(strings * sizeof *to.strings);
	to.functions = to.strings + strings;
	memset(to.strings, 0xff, (strings + job->answers.function_count) * sizeof *to.strings);
	for (size_t i = 0; i < job->count; i++) {
		uint32_t answer = cairn_answers_find(&job->answers, job->addresses[i]);
		if (answer != CAIRN_NONE)
			name_location(&to, job->locations[i], answer);
		unnamed += work->profile->locations[job->locations[i]].frame_count == 0;
	}
	free(to.strings);
	return unnamed;
}

static void report_job(struct work *work, struct job *job, size_t unnamed)
{
	struct cairn_symbolize_report *report = work->report;
	const char *note = job->has_answers && job->answers.note ? cairn_answers_string(&job->answers, job->answers.note).data : NULL;
	const char *reason = job->problem ? job->problem : note;
	if (!reason)
		reason = job->outside ? "the addresses lie outside of the file" : "no symbol covers the addresses";
	report->modules[report->module_count++] = (struct cairn_symbolize_module){
		.module = job->module, .locations = job->count + job->outside, .unnamed = unnamed,
		.reason = unnamed ? cairn_arena_text(&report->arena, cairn_bytes_of(reason)) : NULL};
	report->locations += job->count + job->outside;
	report->unnamed += unnamed;
	if (job->cache_problem && !report->cache_problem)
		report->cache_problem = cairn_arena_text(&report->arena, cairn_bytes_of(job->cache_problem));
	if (note && job->answers.damaged)
		cairn_profile_warn(work->profile, "%s: %s", cairn_profile_string(work->profile, work->profile->modules[job->module].path),
				   note);
}

static void finish(struct job *job)
{
	if (job->cached.bytes.data)
		cairn_file_close(&job->cached);
	cairn_buffer_free(&job->block);
	cairn_arena_free(&job->arena);
}

void cairn_symbolize(struct cairn_profile *profile, const struct cairn_symbolize_options *options, struct cairn_symbolize_report *report)
{
	*report = (struct cairn_symbolize_report){0};
	cairn_symbol_budget(options->memory);
	struct cairn_symbolize_options whole = *options;
	struct work work = {.profile = profile, .options = &whole, .report = report, .finder = {.options = &whole.find}};
	cairn_modules_map(profile, &whole.find, false);
	whole.find.process_root = cairn_live_root(&work.finder.arena, profile);
	cairn_perf_map_apply(profile, &whole.find);
	cairn_demangle_profile(profile);
	work.has_cache = !options->no_cache && (cairn_cache_open(&work.cache, &work.finder.arena) || options->cache_folder);
	if (options->cache_folder)
		work.cache.folder = options->cache_folder;
	size_t homeless = collect(&work);
	report->modules = cairn_arena_zero(&report->arena, work.job_count + 1, sizeof *report->modules);
	for (size_t i = 0; i < work.job_count; i++)
		prepare(&work, &work.jobs[i]);
	run_all_slow(&work);
	for (size_t i = 0; i < work.job_count; i++)
		report_job(&work, &work.jobs[i], fill(&work, &work.jobs[i]));
	cairn_profile_bound(profile);
	if (homeless) {
		report->modules[report->module_count++] = (struct cairn_symbolize_module){
			.module = CAIRN_NONE, .locations = homeless, .unnamed = homeless, .reason = "no file was mapped there"};
		report->locations += homeless;
		report->unnamed += homeless;
	}
	for (size_t i = 0; i < work.job_count; i++)
		finish(&work.jobs[i]);
	cairn_finder_free(&work.finder);
}

void cairn_symbolize_report_free(struct cairn_symbolize_report *report)
{
	cairn_arena_free(&report->arena);
	*report = (struct cairn_symbolize_report){0};
}
