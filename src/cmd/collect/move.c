/* move.c - from the spool into the store: unpacked, read, named, and put in batches.
 *
 * A file that ends the collector, as by taking more memory than there is, must not do so again and again: the spool counts how often work
 * on a file was begun and never ended (spool.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/collect/collector.h"

#include "base/array.h"
#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "base/unpack.h"
#include "cmd/command.h"
#include "process/clock.h"
#include "profile/read.h"
#include "store/store.h"
#include "symbol/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A batch is full with so many files, or with so much unpacked. */
enum { batch_most = 64 };
static const size_t batch_bytes = (size_t)64 << 20;

/* One file of the spool, read and named. */
struct loaded {
	struct cairn_file file;
	struct cairn_profile profile;
	char service[256], version[256], host[256];
	struct cairn_buffer labels;
	size_t size; /* of the profile, unpacked */
	bool ignored; /* it is one that no store keeps */
	struct cairn_store_snapshot snapshot;
};

/* Copies what QUERY says beside service, version, host and time. */
static void keep_labels(struct cairn_bytes query, struct cairn_buffer *out)
{
	static const char *const own[] = {"service=", "version=", "host=", "time="};
	while (query.length > 0) {
		const char *end = memchr(query.data, '&', query.length);
		struct cairn_bytes part = {query.data, end ? (size_t)(end - query.data) : query.length};
		bool label = part.length > 0;
		query = cairn_bytes_skip(query, end ? part.length + 1 : part.length);
		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			label = label && !cairn_bytes_start_with(part, own[i]);
		if (label && out->length > 0)
			cairn_buffer_byte(out, '&');
		if (label)
			cairn_buffer_append(out, part.data, part.length);
	}
}

/* Reads BODY, which is unpacked to at most so many bytes. */
static bool read_within(size_t most, struct cairn_bytes body, struct loaded *loaded, struct cairn_error *error)
{
	char *unpacked = NULL;
	bool cut;
	loaded->size = body.length;
	if (cairn_unpack_sniff(body) != CAIRN_PACKED_NOT) {
		if (!cairn_unpack_within(body, most, &unpacked, &loaded->size, &cut, error))
			return false;
		body = (struct cairn_bytes){unpacked, loaded->size};
	}
	bool good = cairn_profile_read(&loaded->profile, body, "a snapshot", &(struct cairn_read_options){0}, error);
	free(unpacked);
	return good;
}

static bool load(struct cairn_collector *collector, const char *name, struct loaded *loaded, struct cairn_error *error)
{
	struct cairn_bytes query, tenant, body;
	char path[4096];
	*loaded = (struct loaded){.labels = cairn_buffer(1 << 16)};
	cairn_profile_init(&loaded->profile);
	snprintf(path, sizeof path, "%s/%s", collector->spool.path, name);
	if (!cairn_file_map(&loaded->file, path, error))
		return false;
	if (!cairn_spool_parse(loaded->file.bytes, &query, &tenant, &body))
		return cairn_fail(error, "its file in the spool is damaged");
	if (!read_within(collector->unpacked_most, body, loaded, error))
		return false;
	struct cairn_profile *profile = &loaded->profile;
	struct cairn_symbolize_options symbolize = {.find = cairn_source_find(collector->source)};
	struct cairn_symbolize_report report;
	char time[40];
	if (profile->time_ns <= 0 && cairn_query_get(query, "time", time, sizeof time))
		cairn_text_seconds(cairn_bytes_of(time), &profile->time_ns);
	if (profile->time_ns <= 0)
		profile->time_ns = cairn_clock_wall_ns();
	/* Clients of other systems send profiles of CPU time and locks as well, whatever is kept of them. */
	loaded->ignored = !cairn_store_accepts(profile, error);
	if (loaded->ignored)
		return false;
	cairn_symbolize(profile, &symbolize, &report);
	cairn_symbolize_report_free(&report);
	if (!cairn_query_get(query, "service", loaded->service, sizeof loaded->service) || !loaded->service[0])
		snprintf(loaded->service, sizeof loaded->service, "%.250s",
			 profile->process ? cairn_base_name(cairn_profile_string(profile, profile->process)) : "unknown");
	cairn_query_get(query, "version", loaded->version, sizeof loaded->version);
	cairn_query_get(query, "host", loaded->host, sizeof loaded->host);
	keep_labels(query, &loaded->labels);
	loaded->snapshot = (struct cairn_store_snapshot){
		.profile = profile,
		.tenant = tenant,
		.service = cairn_bytes_of(loaded->service),
		.version = cairn_bytes_of(loaded->version),
		.host = cairn_bytes_of(loaded->host),
		.labels = cairn_buffer_bytes(&loaded->labels),
	};
	return true;
}

static void unload(struct loaded *loaded)
{
	cairn_profile_free(&loaded->profile);
	cairn_buffer_free(&loaded->labels);
	cairn_file_close(&loaded->file);
}

/* Loads up to COUNT files, until they are enough for a batch. Returns how many were dealt with; those of no use are removed and their size
 * is 0. */
static size_t load_batch(struct cairn_collector *collector, const char *const *names, size_t count, struct loaded *loaded)
{
	size_t bytes = 0, i;
	for (i = 0; i < count && bytes < batch_bytes; i++) {
		struct cairn_error bad;
		if (load(collector, names[i], &loaded[i], &bad)) {
			bytes += loaded[i].size;
			continue;
		}
		loaded[i].size = 0;
		if (!loaded[i].ignored || collector->ignored == 0)
			cairn_note("a snapshot from %s is no use: %s", loaded[i].host[0] ? loaded[i].host : "a sender", bad.text);
		collector->rejected += !loaded[i].ignored;
		collector->ignored += loaded[i].ignored;
		cairn_spool_remove(&collector->spool, names[i]);
	}
	return i;
}

/* Moves up to a batch from the spool into STORE. Returns how many files were dealt with, or -1 where the store did not take them. */
static int move_batch(struct cairn_collector *collector, struct cairn_store *store, struct cairn_error *error)
{
	struct cairn_arena arena = {0};
	const char *names[batch_most];
	size_t count = cairn_spool_list(&collector->spool, &arena, names, batch_most), good = 0;
	struct loaded *loaded = cairn_array_zero(count, sizeof *loaded);
	struct cairn_store_snapshot snapshots[batch_most];
	size_t file_of[batch_most];
	cairn_spool_begin(&collector->spool, names, count);
	size_t done = load_batch(collector, names, count, loaded);
	for (size_t i = 0; i < done; i++)
		if (loaded[i].size > 0) {
			file_of[good] = i;
			snapshots[good++] = loaded[i].snapshot;
		}
	struct cairn_store_rows *rows = cairn_store_prepare(snapshots, good);
	/* From here on only the store can be slow or away, and that is no fault of the files. */
	if (count > 0)
		cairn_spool_end(&collector->spool, names, count);
	bool put = good == 0 || cairn_store_put_rows(store, rows, error);
	cairn_store_rows_free(rows);
	for (size_t i = 0; put && i < good; i++)
		cairn_spool_remove(&collector->spool, names[file_of[i]]);
	collector->stored += put ? good : 0;
	for (size_t i = 0; i < done; i++)
		unload(&loaded[i]);
	free(loaded);
	cairn_arena_free(&arena);
	return put ? (int)done : -1;
}

/* Waits until something may have come, at most so long. */
static void wait_for_work(struct cairn_collector *collector, unsigned milliseconds)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	int64_t end = cairn_time_ns(&until) + (int64_t)milliseconds * 1000000;
	until = (struct timespec){end / CAIRN_SECOND_NS, end % CAIRN_SECOND_NS};
	pthread_mutex_lock(&collector->lock);
	if (!collector->stop)
		pthread_cond_timedwait(&collector->arrived, &collector->lock, &until);
	pthread_mutex_unlock(&collector->lock);
}

void *cairn_move_run(void *context)
{
	enum { idle_ms = 1000, shortest_ms = 500, longest_ms = 30000 };
	struct cairn_collector *collector = context;
	struct cairn_store *store = NULL;
	unsigned pause = 0;
	while (!collector->stop) {
		struct cairn_error error;
		if (!store)
			store = cairn_store_open(collector->store_name, &error);
		int moved = store && (collector->spool.files == 0 || cairn_store_check(store, &error)) ? move_batch(collector, store, &error) : -1;
		if (moved < 0) {
			collector->failures++;
			if (pause == 0)
				cairn_note("the store takes nothing, so snapshots wait on disk: %s", error.text);
			pause = pause == 0 ? shortest_ms : pause * 2 < longest_ms ? pause * 2 : longest_ms;
			cairn_store_close(store);
			store = NULL;
			wait_for_work(collector, pause);
		} else {
			if (pause > 0)
				cairn_note("the store takes snapshots again");
			pause = 0;
			if (moved == 0 || collector->spool.files == 0)
				wait_for_work(collector, idle_ms);
		}
	}
	cairn_store_close(store);
	return NULL;
}

