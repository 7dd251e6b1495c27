/* written.h - remembers what this program has put into a store, so that it does not put the same rows again.
 *
 * Rows of frames, stacks and processes hardly ever change: each is written once. Samples of a snapshot are written *whole* at least every
 * ten minutes. A snapshot between these has a *base*, the last whole one: it consists of the rows that differ from the base by more than
 * their error bar (95 %), with zeros for stacks that are gone and held more than that. Reading takes the base and replaces in it the rows
 * of the later snapshot. A base is always of the same day, since rows are removed day by day.
 *
 * Many changes that are small each can add up: if the total would be off by more than half of its own standard error, the largest of them
 * are written, too.
 *
 * The first whole snapshot of each hour is written a second time, as rows of hourly: by call path and not by process, for queries about
 * many instances (store/hourly.h).
 *
 * Memory is limited. Rows that were forgotten are written again, which changes nothing: rows with the same key replace each other, and all
 * rows of a snapshot are valid whatever its base is.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_WRITTEN_H
#define CAIRN_STORE_WRITTEN_H

#include "base/time.h"
#include "store/snapshot.h"

/* How long a whole snapshot can be a base, in nanoseconds. */
#define CAIRN_STORE_WHOLE_NS (10 * CAIRN_MINUTE_NS)

/* Whether WHOLE, of the same instance, can be the base of SNAPSHOT. */
bool cairn_snapshot_stands_on(const struct cairn_row_snapshot *snapshot, const struct cairn_row_snapshot *whole);

/* The last whole snapshot of an instance. */
struct cairn_base {
	struct cairn_row_snapshot snapshot; /* without texts */
	struct cairn_stored_sample *samples; /* by stack */
	size_t count;
	bool hour_only; /* only the instance and the hour are known */
	int64_t hour; /* of the last snapshot that was also written to hourly */
	uint64_t used; /* a counter's value when it was last used */
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

/* Whether SNAPSHOT can be written without looking into the store first: a base for it is known or, for a last moment, which is always
 * whole, it is known that its hour was written. */
bool cairn_written_knows(const struct cairn_written *written, const struct cairn_row_snapshot *snapshot);

/* Remembers that hourly has the hour of SNAPSHOT, for its instance. */
void cairn_written_add_hour(struct cairn_written *written, const struct cairn_row_snapshot *snapshot);

/* Remembers a whole snapshot. Takes ownership of SAMPLES, which may be in any order. */
void cairn_written_add_base(struct cairn_written *written, const struct cairn_row_snapshot *snapshot, struct cairn_stored_sample *samples,
			    size_t count);

/* Adds the part of ROWS that the store lacks to LACKING, which borrows from them, and remembers it as written: if writing it then fails,
 * free WRITTEN. PARTS has one item for each row of snapshots. */
void cairn_written_select(struct cairn_written *written, const struct cairn_rows *rows, const struct cairn_snapshot_part *parts,
			  struct cairn_rows *lacking);

/* Whole hours since 1970. */
static inline int64_t cairn_store_hour(int64_t time_ns)
{
	return time_ns / CAIRN_HOUR_NS;
}

static inline int64_t cairn_store_hour_start(int64_t time_ns)
{
	return time_ns - time_ns % CAIRN_HOUR_NS;
}

/* Joins the samples OWN of a snapshot with those of its BASE, both sorted by stack, into OUT, which has room for both. Returns their
 * number. */
size_t cairn_samples_join(const struct cairn_stored_sample *base, size_t base_count, const struct cairn_stored_sample *own,
			  size_t own_count, struct cairn_stored_sample *out);

#endif
