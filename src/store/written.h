/* written.h - what this program has put into a store, as far as it remembers, so that it puts nothing there twice.
 *
 * Frames, stacks and processes are rows that hardly ever change: each is written once. Of samples, a snapshot is written *whole* at least
 * every ten minutes, and those between have a *base*, the last whole one: they consist of the rows that differ from it by more than their
 * error bar (95 %), and zeros for stacks that are gone by more than that. Whoever reads takes the base and replaces in it what the later
 * snapshot has. A base is never of an earlier day, since days are forgotten one by one.
 *
 * Many changes that are small, each for itself, can add up: where the total would be off by more than half of its own standard error, the
 * largest of them are written, too.
 *
 * The first whole snapshot of each hour is written a second time, as rows of hourly: by call path and not by process, for questions about
 * many instances (store/hourly.h).
 *
 * What is remembered is limited. What was forgotten is written again, which changes nothing: rows with one key replace each other, and all
 * rows of one snapshot are true whatever its base is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_WRITTEN_H
#define CAIRN_STORE_WRITTEN_H

#include "base/time.h"
#include "store/snapshot.h"

/* How long a whole snapshot serves, in nanoseconds. */
#define CAIRN_STORE_WHOLE_NS (10 * CAIRN_MINUTE_NS)

/* A snapshot, as a row of that table has it. */
struct cairn_snapshot_row {
	uint64_t instance;
	int64_t time_ns;
	double period;
	uint64_t unsampling, has_allocated;
	bool ended;
	struct cairn_bytes start; /* of the row, all but its last column, which is the base's time */
};
struct cairn_snapshot_row cairn_snapshot_row_take(struct cairn_cursor *rows);

/* Whether SNAPSHOT may be stored as changes to WHOLE, of the same instance. */
bool cairn_snapshot_stands_on(const struct cairn_snapshot_row *snapshot, const struct cairn_snapshot_row *whole);

/* The last whole snapshot of an instance. */
struct cairn_base {
	struct cairn_snapshot_row snapshot;
	struct cairn_stored_sample *samples; /* by stack */
	size_t count;
	bool hour_only; /* nothing is known but the instance and the hour */
	int64_t hour; /* of the last snapshot that was written to hourly, too */
	uint64_t used; /* when it was last compared with, as a number that grows */
};

/* All zeroes is nothing. */
struct cairn_written {
	struct cairn_map rows; /* hashes of rows */
	struct cairn_map base_of; /* an instance's index in `bases` */
	struct cairn_base *bases;
	size_t base_count, base_capacity;
	size_t base_bytes;
	uint64_t clock;
};

void cairn_written_free(struct cairn_written *written);

/* Whether nothing has to be looked for in the store before SNAPSHOT is written: a base is known that it can stand on or, of a last moment,
 * which is always whole, that its hour has been written. */
bool cairn_written_knows(const struct cairn_written *written, const struct cairn_snapshot_row *snapshot);

/* Remembers that hourly has the hour of SNAPSHOT, for its instance. */
void cairn_written_add_hour(struct cairn_written *written, const struct cairn_snapshot_row *snapshot);

/* Remembers a whole snapshot; SAMPLES, in any order, become the memory's own. */
void cairn_written_add_base(struct cairn_written *written, const struct cairn_snapshot_row *snapshot, struct cairn_stored_sample *samples,
			    size_t count);

/* What a row of snapshots does not say of it: how many rows of samples belong to it, and its cohort. */
struct cairn_snapshot_part {
	size_t samples;
	uint64_t cohort;
};

/* Appends to LACKING the part of ROWS that the store lacks, and remembers it as written: where that fails, free what is remembered.
 * PARTS has one for each row of snapshots. */
void cairn_written_select(struct cairn_written *written, const struct cairn_buffer rows[CAIRN_TABLES],
			  const struct cairn_snapshot_part *parts, struct cairn_buffer lacking[CAIRN_TABLES]);

/* Whole hours since 1970. */
static inline int64_t cairn_store_hour(int64_t time_ns)
{
	return time_ns / CAIRN_HOUR_NS;
}

static inline int64_t cairn_store_hour_start(int64_t time_ns)
{
	return time_ns - time_ns % CAIRN_HOUR_NS;
}

/* The samples of a snapshot, OWN, that stands on those of BASE, both by stack, into OUT, which has room for both. Returns how many. */
size_t cairn_samples_join(const struct cairn_stored_sample *base, size_t base_count, const struct cairn_stored_sample *own,
			  size_t own_count, struct cairn_stored_sample *out);

#endif
