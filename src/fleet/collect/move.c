/* move.c - moves snapshots from the spool into the store, in batches: decompresses, reads and names them.
 *
 * A file that ends the collector, for example by using up its memory, must not do so again and again: the spool counts how often work on a
 * file began and did not end (spool.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/move.h"

#include "base/array.h"
#include "base/condition.h"
#include "base/file.h"
#include "base/note.h"
#include "base/outbox.h"
#include "fleet/collect/collector.h"
#include "fleet/collect/load.h"
#include "fleet/collect/naming.h"
#include "process/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* A batch is full at this many files, after this time, or at this many bytes after decompression. Then tenants take turns anew: one whose
 * snapshots take minutes each to name delays those of another by one of them. */
enum { batch_most = 64, batch_s = 2 };
static const size_t batch_bytes = (size_t)64 << 20;

/* One file of the spool. */
struct loaded {
	struct cairn_file file;
	bool opened; /* if not, nothing is known about the file, and it stays in the spool */
	struct cairn_loaded it;
};

static bool load(struct cairn_collector *collector, const char *name, struct loaded *loaded, struct cairn_error *error)
{
	struct cairn_load_options options = {
		.unpacked_most = collector->unpacked_most,
		.arrived_ns = cairn_spool_arrival(name),
		.namer = &collector->namer,
	};
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", collector->spool.path, name);
	loaded->opened = cairn_file_map(&loaded->file, path, error);
	if (!loaded->opened)
		return false;
	if (!cairn_spool_parse(loaded->file.bytes, &options.query, &options.tenant, &options.body))
		return cairn_fail(error, "its file in the spool is damaged");
	return cairn_loaded_read(&loaded->it, &options, error);
}

static void unload(struct loaded *loaded)
{
	cairn_loaded_free(&loaded->it);
	cairn_file_close(&loaded->file);
}

/* Loads up to COUNT files, until the batch is full. Returns how many were tried. Unusable files are removed and have size 0; one that
 * cannot be opened, for lack of descriptors or memory, stays for a later batch. */
static size_t load_batch(struct cairn_collector *collector, const char *const *names, size_t count, struct loaded *loaded)
{
	const int64_t until_ns = cairn_clock_ns() + batch_s * CAIRN_SECOND_NS;
	size_t bytes = 0, i;
	for (i = 0; i < count && bytes < batch_bytes && (i == 0 || cairn_clock_ns() < until_ns); i++) {
		struct cairn_error bad;
		if (load(collector, names[i], &loaded[i], &bad)) {
			bytes += loaded[i].it.size;
			continue;
		}
		loaded[i].it.size = 0;
		if (!loaded[i].opened)
			continue;
		if (!loaded[i].it.ignored || collector->ignored == 0)
			cairn_note("a snapshot from %s cannot be used, and is dropped: %s",
				   loaded[i].it.host[0] ? loaded[i].it.host : "a sender", bad.text);
		collector->rejected += !loaded[i].it.ignored;
		collector->ignored += loaded[i].it.ignored;
		cairn_spool_remove(&collector->spool, names[i]);
	}
	return i;
}

/* Puts ROWS, made of the COUNT files in NAMES, into STORE. While it waits for the store, no attempt is noted: if the collector is killed
 * then, the files are not to blame. */
static bool put_rows(struct cairn_collector *collector, struct cairn_store *store, struct cairn_store_rows *rows, const char *const *names,
		     size_t count, struct cairn_error *error)
{
	cairn_spool_pause(&collector->spool);
	if (!cairn_store_look_up(store, rows, error))
		return false;
	cairn_spool_begin(&collector->spool, names, count);
	cairn_store_select(store, rows);
	cairn_spool_pause(&collector->spool);
	bool good = cairn_store_put_rows(store, rows, error);
	if (good && cairn_store_removal(store))
		cairn_note("%s", cairn_store_removal(store));
	return good;
}

/* Moves one batch from the spool into STORE. Returns the number of files that are done with, or -1 if the store did not take them. */
static int move_batch(struct cairn_collector *collector, struct cairn_store *store, struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	const char *names[batch_most];
	size_t count = cairn_spool_list(&collector->spool, &arena, names, batch_most), good = 0;
	struct loaded *loaded = cairn_array_zero(count, sizeof *loaded);
	struct cairn_store_snapshot snapshots[batch_most];
	size_t file_of[batch_most];
	cairn_spool_begin(&collector->spool, names, count);
	size_t done = load_batch(collector, names, count, loaded), unopened = 0;
	for (size_t i = 0; i < done; i++) {
		unopened += !loaded[i].opened;
		if (loaded[i].it.size > 0) {
			file_of[good] = i;
			snapshots[good++] = loaded[i].it.snapshot;
		}
	}
	struct cairn_store_rows *rows = cairn_store_prepare(snapshots, good);
	bool put = good == 0 || put_rows(collector, store, rows, names, count, error);
	if (count > 0)
		cairn_spool_end(&collector->spool, names, count);
	cairn_store_rows_free(rows);
	for (size_t i = 0; put && i < good; i++) {
		/* Removed first: if sending it on ends the collector, it must not do so again after the restart. */
		cairn_spool_remove(&collector->spool, names[file_of[i]]);
		if (collector->forwards)
			cairn_forward_queues_add(collector->forwards, &loaded[file_of[i]].it.profile, &snapshots[i]);
	}
	collector->stored += put ? good : 0;
	for (size_t i = 0; i < done; i++)
		unload(&loaded[i]);
	free(loaded);
	cairn_arena_free(&arena);
	return put ? (int)(done - unopened) : -1;
}

/* Waits at most MILLISECONDS for something to do. */
static void wait_for_work(struct cairn_collector *collector, unsigned milliseconds)
{
	int64_t until_ns = cairn_clock_ns() + milliseconds * CAIRN_MILLISECOND_NS;
	pthread_mutex_lock(&collector->lock);
	if (!collector->stop)
		cairn_condition_wait(&collector->arrived, &collector->lock, until_ns);
	pthread_mutex_unlock(&collector->lock);
}

/* Waits MILLISECONDS, whatever arrives meanwhile, unless the collector is to stop. */
static void pause_for(struct cairn_collector *collector, unsigned milliseconds)
{
	int64_t until_ns = cairn_clock_ns() + milliseconds * CAIRN_MILLISECOND_NS;
	pthread_mutex_lock(&collector->lock);
	while (!collector->stop && cairn_condition_wait(&collector->arrived, &collector->lock, until_ns))
		;
	pthread_mutex_unlock(&collector->lock);
}

void *cairn_move_run(void *context)
{
	enum { idle_ms = 1000 };
	struct cairn_collector *collector = context;
	struct cairn_store *store = NULL;
	struct cairn_naming naming = {.collector = collector};
	struct cairn_backoff backoff = {"the store does not accept snapshots, so they wait on disk", "the store accepts snapshots again", 0};
	while (!collector->stop) {
		struct cairn_error error;
		if (!store)
			store = cairn_store_open(collector->store_name, &error);
		int moved = store && (collector->spool.files == 0 || cairn_store_check(store, &error))
				    ? move_batch(collector, store, &error)
				    : -1;
		if (moved >= 0 && cairn_naming_is_due(&naming) && cairn_store_check(store, &error) &&
		    !cairn_naming_run(&naming, store, &error))
			cairn_note("cannot name stored snapshots now, and will try again: %s",
				   error.text); /* this does not affect the snapshots */
		if (moved < 0) {
			collector->failures++;
			cairn_store_close(store);
			store = NULL;
			pause_for(collector, cairn_backoff_fail(&backoff, &error));
		} else {
			cairn_backoff_succeed(&backoff);
			if (moved == 0 || collector->spool.files == 0)
				wait_for_work(collector, idle_ms);
		}
	}
	cairn_store_close(store);
	cairn_naming_free(&naming);
	cairn_namer_close(&collector->namer);
	return NULL;
}

