/* series.c - reading many dumps at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/series.h"

#include "base/pool.h"
#include "cmd/command.h"
#include "cmd/files.h"
#include "symbol/symbolize.h"

#include <stdlib.h>

struct reading {
	const struct cairn_dump_files *files;
	const struct cairn_source_options *options;
	const size_t *chosen;
	struct cairn_profile *profiles;
	struct cairn_error *errors;
	bool *good;
};

static void read_dump(void *context, size_t item, unsigned worker)
{
	(void)worker;
	struct reading *reading = context;
	reading->good[item] = cairn_source_read(&reading->profiles[item], reading->files->items[reading->chosen[item]].path, reading->options, &reading->errors[item]);
}

/* Dumps of one service have one prefix, whatever the process; dumps named otherwise are taken for one service. */
static bool same_service(const struct cairn_dump_file *a, const struct cairn_dump_file *b)
{
	return a->named == b->named && (!a->named || cairn_bytes_equal(a->name.prefix, b->name.prefix));
}

/* The files of the service that has the most of them, in CHOSEN. */
static size_t choose_service(const struct cairn_dump_files *files, size_t *chosen)
{
	const struct cairn_dump_file *best = &files->items[0];
	size_t most = 0, count = 0;
	for (size_t i = 0; i < files->count; i++) {
		size_t same = 0;
		for (size_t j = 0; j < files->count; j++)
			same += same_service(&files->items[i], &files->items[j]);
		if (same > most) {
			most = same;
			best = &files->items[i];
		}
		if (same == files->count)
			break;
	}
	for (size_t i = 0; i < files->count; i++)
		if (same_service(&files->items[i], best))
			chosen[count++] = i;
	if (count < files->count) {
		struct cairn_error note;
		cairn_fail(&note, "dumps of several services; taking the %zu of %.*s and leaving %zu others out", count, (int)best->name.prefix.length,
			   best->named ? best->name.prefix.data : "", files->count - count);
		cairn_say_note(note.text);
	}
	return count;
}

static void note_many(const char *text, size_t count)
{
	struct cairn_error note;
	if (count) {
		cairn_fail(&note, "%zu %s", count, text);
		cairn_say_note(note.text);
	}
}

bool cairn_source_series(struct cairn_series *series, const struct cairn_source_options *options, size_t least, int count, char **names,
			 struct cairn_error *error)
{
	struct cairn_dump_files files = {0};
	cairn_series_start(series);
	if (!cairn_files_list(&files, count, names, error)) {
		cairn_files_free(&files);
		return false;
	}
	/* Dumps of different runs are put together, so each must say by build-id what it saw. */
	struct cairn_source_options reading_options = *options;
	reading_options.sum = true;
	size_t *chosen = calloc(files.count, sizeof *chosen), usable = choose_service(&files, chosen), duplicates = 0;
	struct reading reading = {&files, &reading_options, chosen, calloc(usable, sizeof *reading.profiles), calloc(usable, sizeof *reading.errors),
				  calloc(usable, sizeof *reading.good)};
	if (!chosen || !reading.profiles || !reading.errors || !reading.good)
		cairn_out_of_memory(files.count * sizeof *reading.profiles);
	cairn_pool_run(usable, read_dump, &reading);
	for (size_t i = 0; i < usable; i++) {
		const char *path = files.items[chosen[i]].path;
		if (!reading.good[i] || !cairn_series_add(series, &reading.profiles[i], path, &reading.errors[i]))
			cairn_say_note(reading.errors[i].text);
		cairn_profile_free(&reading.profiles[i]);
	}
	cairn_series_finish(series, &duplicates);
	note_many("dumps were there twice and count once", duplicates);
	free(chosen);
	free(reading.profiles);
	free(reading.errors);
	free(reading.good);
	cairn_files_free(&files);
	if (series->point_count < least)
		return cairn_fail(error, "%zu dumps that can be used; it takes at least %zu to tell a trend", series->point_count, least);
	cairn_source_name(&series->profile, options);
	return true;
}
