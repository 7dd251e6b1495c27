/* source_series.c - reading many dumps at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/source_series.h"

#include "base/array.h"
#include "base/note.h"
#include "base/path.h"
#include "base/pool.h"
#include "live/files.h"
#include "live/store_series.h"
#include "live/target.h"
#include "series/choose.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reading {
	const struct cairn_dump_files *files;
	const struct cairn_source_options *options;
	const struct cairn_view_options *view;
	struct cairn_profile *profiles;
	struct cairn_error *errors;
	bool *good;
};

static void read_dump(void *context, size_t item, unsigned worker)
{
	(void)worker;
	struct reading *reading = context;
	struct cairn_profile *profile = &reading->profiles[item];
	reading->good[item] = cairn_source_read(profile, reading->files->items[item].path, reading->options, &reading->errors[item]) &&
			      cairn_view_choose(profile, reading->view, &profile->default_value, &reading->errors[item]);
}

static void note_choice(const struct cairn_choice *choice, const struct cairn_candidate *dumps)
{
	const struct cairn_candidate *service = &dumps[choice->service];
	struct cairn_bytes name = service->prefix.length ? service->prefix : service->program;
	if (choice->other_services)
		cairn_note("dumps of several services; using the %zu of %.*s and leaving out %zu others (--service NAME selects one)",
			   choice->count + choice->unknown + choice->other_processes, (int)name.length, name.data, choice->other_services);
	if (choice->unknown)
		cairn_note("leaving out %zu dump%s not name the process, as truncated dumps do not", choice->unknown,
			   choice->unknown == 1 ? " that does" : "s that do");
	if (choice->other_processes)
		cairn_note("dumps of several processes that ran at the same time; using those of process %llu and leaving out %zu others",
			   (unsigned long long)service->origin.process_id, choice->other_processes);
}

/* Whether the monotonic clock says when PROFILE was taken, in numbers that do not overflow when added. */
static bool has_uptime(const struct cairn_profile *profile)
{
	static const int64_t most = (int64_t)1 << 62;
	return profile->facts.life && profile->facts.uptime_ns > 0 && profile->facts.uptime_ns < most / 4 && profile->facts.time_ns > profile->facts.uptime_ns &&
	       profile->facts.time_ns < most && profile->facts.start_ns >= 0 && profile->facts.start_ns <= profile->facts.time_ns;
}

/* What is added to the times of a dump. */
struct shift {
	int64_t time_ns, since_ns;
};

/* The wall clock may have been set between two dumps of a process, but the monotonic clock went on: times are converted to the wall clock
 * of the process's last dump. When sampling began was read from the clock of that moment, which the first dump after it still had. */
static struct shift find_shift(const struct reading *reading, size_t item)
{
	const struct cairn_profile *profile = &reading->profiles[item], *first = profile, *last = profile;
	if (!reading->good[item] || !has_uptime(profile))
		return (struct shift){0};
	for (size_t i = 0; i < reading->files->count; i++) {
		const struct cairn_profile *other = &reading->profiles[i];
		if (!reading->good[i] || !has_uptime(other) ||
		    !cairn_bytes_equal(cairn_strings_bytes(&other->strings, other->facts.life),
				       cairn_strings_bytes(&profile->strings, profile->facts.life)))
			continue;
		last = other->facts.uptime_ns > last->facts.uptime_ns ? other : last;
		first = other->facts.uptime_ns < first->facts.uptime_ns && other->facts.since_ns == profile->facts.since_ns ? other : first;
	}
	int64_t booted = last->facts.time_ns - last->facts.uptime_ns;
	bool began = profile->facts.since_ns > 0 && profile->facts.since_ns <= profile->facts.time_ns;
	return (struct shift){
		.time_ns = booted - (profile->facts.time_ns - profile->facts.uptime_ns),
		.since_ns = began ? booted - (first->facts.time_ns - first->facts.uptime_ns) : 0,
	};
}

static void settle_times(struct reading *reading)
{
	size_t count = reading->files->count;
	struct shift *shifts = cairn_array_zero(count, sizeof *shifts);
	for (size_t i = 0; i < count; i++)
		shifts[i] = find_shift(reading, i);
	for (size_t i = 0; i < count; i++) {
		struct cairn_profile *profile = &reading->profiles[i];
		profile->facts.start_ns += profile->facts.start_ns ? shifts[i].time_ns : 0;
		profile->facts.time_ns += shifts[i].time_ns;
		profile->facts.since_ns += shifts[i].since_ns;
	}
	free(shifts);
}

/* Adds the dumps of the service with the most dumps. */
static void add_dumps(struct cairn_series *series, struct reading *reading)
{
	size_t count = reading->files->count, usable = 0, whole = 0, cut = 0;
	for (size_t i = 0; i < count; i++)
		whole += reading->good[i] && !reading->profiles[i].cut;
	struct cairn_candidate *candidates = cairn_array_zero(count, sizeof *candidates);
	size_t *item_of = cairn_array_zero(count, sizeof *item_of);
	for (size_t i = 0; i < count; i++) {
		const struct cairn_dump_file *file = &reading->files->items[i];
		const struct cairn_profile *profile = &reading->profiles[i];
		if (!reading->good[i]) {
			cairn_note("%s", reading->errors[i].text);
			continue;
		}
		/* What is missing from a truncated dump would look like memory that was freed and allocated again. */
		if (profile->cut && whole > 0) {
			cut++;
			continue;
		}
		item_of[usable] = i;
		candidates[usable++] = (struct cairn_candidate){
			.prefix = file->named ? file->name.prefix : (struct cairn_bytes){"", 0},
			.program = cairn_strings_bytes(&profile->strings, profile->facts.process),
			.origin = cairn_origin_of(profile),
		};
	}
	if (cut)
		cairn_note("leaving out %zu truncated dump%s", cut, cut == 1 ? "" : "s");
	if (usable > 0) {
		struct cairn_choice choice = cairn_series_choose(candidates, usable);
		note_choice(&choice, candidates);
	}
	for (size_t i = 0; i < usable; i++)
		if (candidates[i].chosen && !cairn_series_add(series, &reading->profiles[item_of[i]],
							      reading->files->items[item_of[i]].path, &reading->errors[item_of[i]]))
			cairn_note("%s", reading->errors[item_of[i]].text);
	free(candidates);
	free(item_of);
}

/* Says what to do if COUNT dumps are too few. A live process is one dump; if its agent keeps others, they are named. */
static bool fail_few(size_t count, size_t least, int name_count, char **names, const char *token, struct cairn_error *error)
{
	struct cairn_target target;
	struct cairn_buffer body = cairn_buffer(0);
	char last[600] = "";
	if (name_count != 1 || !cairn_target_is(names[0]))
		return cairn_fail(error, "%zu usable dump%s, but at least %zu are needed; 'cairn watch TARGET' collects them", count,
				  count == 1 ? "" : "s", least);
	if (cairn_target_find(&target, names[0], token, NULL) && cairn_target_ask(&target, "GET", "/cairn/status", &body, NULL))
		cairn_target_field(cairn_buffer_bytes(&body), "dumps.last_path", last, sizeof last);
	cairn_buffer_free(&body);
	size_t folder = cairn_path_folder(last);
	if (folder > 1)
		return cairn_fail(error,
				  "%s is a process, which gives one dump, but at least %zu are needed; its agent writes them to %.*s, so "
				  "name that folder",
				  names[0], least, (int)folder - 1, last);
	return cairn_fail(error,
			  "%s is a process, which gives one dump, but at least %zu are needed; 'cairn watch --folder FOLDER %s' collects "
			  "them, then name FOLDER",
			  names[0], least, names[0]);
}

/* A store by itself is a series already. */
static bool read_store(struct cairn_series *series, const struct cairn_source_options *options,
		       const struct cairn_view_options *view, const char *name, size_t least, struct cairn_error *error)
{
	size_t duplicates;
	bool good = cairn_fleet_source_series(series, name, view, error);
	cairn_series_finish(series, &duplicates);
	if (good && series->point_count < least)
		good = cairn_fail(error, "%zu snapshot%s in that time, but at least %zu are needed (--from -TIME reaches further back)",
				  series->point_count, series->point_count == 1 ? "" : "s", least);
	if (good)
		cairn_source_name(&series->profile, options);
	return good;
}

bool cairn_source_series(struct cairn_series *series, const struct cairn_source_options *options,
			 const struct cairn_view_options *view, size_t least, size_t least_aged,
			 int count, char **names, struct cairn_error *error)
{
	struct cairn_dump_files files = {.listed_before = options->listed_before};
	cairn_series_start(series);
	if (!cairn_source_check(options, error))
		return false;
	if (count == 1 && cairn_store_is(names[0]))
		return read_store(series, options, view, names[0], least, error);
	if (!cairn_files_list(&files, count, names, error) || !cairn_files_keep_service(&files, options->service, error)) {
		cairn_files_free(&files);
		return false;
	}
	/* Dumps of different runs are combined, so each must record build-ids. */
	struct cairn_source_options reading_options = *options;
	reading_options.sum = true;
	struct reading reading = {
		.files = &files,
		.options = &reading_options,
		.view = view,
		.profiles = cairn_array_zero(files.count, sizeof *reading.profiles),
		.errors = cairn_array_zero(files.count, sizeof *reading.errors),
		.good = cairn_array_zero(files.count, sizeof *reading.good),
	};
	cairn_pool_run(files.count, read_dump, &reading);
	settle_times(&reading);
	bool alone = files.count == 1 && !reading.good[0]; /* then its fault is the answer, and no note */
	if (alone)
		*error = reading.errors[0];
	else
		add_dumps(series, &reading);
	for (size_t i = 0; i < files.count; i++)
		cairn_profile_free(&reading.profiles[i]);
	size_t duplicates;
	cairn_series_finish(series, &duplicates);
	if (duplicates)
		cairn_note("%zu duplicate dumps count once", duplicates);
	free(reading.profiles);
	free(reading.errors);
	free(reading.good);
	cairn_files_free(&files);
	if (alone)
		return false;
	if (series->point_count > 0 && !cairn_source_check_thread(&series->profile, options, error))
		return false;
	bool aged = series->point_count > 0 && series->lives.seconds > 0;
	if (series->point_count < (aged ? least_aged : least))
		return fail_few(series->point_count, least, count, names, options->token, error);
	cairn_source_name(&series->profile, options);
	return true;
}
