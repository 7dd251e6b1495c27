/* hourly.h - queries for a few call paths of very many instances, which the store itself adds up.
 *
 * The table `hourly` has the first whole snapshot of each instance in each hour. Its rows are in the order of cohort, hour and stack, so
 * that a cohort at one hour, or some of its call paths over many hours, can be read without reading anything else. A *cohort* is all
 * instances of one release of a service (struct cairn_store_process has its number). For a time so short that hours are too coarse, the
 * same queries work on single whole snapshots.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_HOURLY_H
#define CAIRN_STORE_HOURLY_H

#include "store/store.h"

/* Whether the table has all snapshots of the store since FROM_NS: if the store was migrated, it has only later ones. */
bool cairn_hourly_reaches(const struct cairn_store *store, int64_t from_ns);

/* What a query is about: lists of unique numbers. */
struct cairn_hourly_question {
	const uint64_t *cohorts, *instances;
	const uint64_t *hours; /* NULL to use `times` instead */
	const uint64_t *times; /* of whole snapshots */
	const uint64_t *stacks; /* for queries about some stacks only */
	size_t cohort_count, instance_count, hour_count, time_count, stack_count;
};

/* Counts the rows that QUESTION is about, with all stacks. */
bool cairn_hourly_size(struct cairn_store *store, const struct cairn_hourly_question *question, size_t *rows, struct cairn_error *error);

/* A call path at one time, on all instances. A *share* is the part of an instance's live bytes that the call path holds; for single
 * snapshots, whose total is not known, it is in bytes. */
struct cairn_hourly_sum {
	uint64_t stack;
	double bytes;
	double shares, squares; /* the sum of all shares, and of their squares */
	double most;            /* the largest share */
};

/* Adds up the rows that QUESTION is about, which has one time for each instance. *SUMS is in the order of stacks; the caller frees it. A
 * snapshot that was put twice may count twice for a while. */
bool cairn_hourly_sums(struct cairn_store *store, const struct cairn_hourly_question *question, struct cairn_hourly_sum **sums,
		       size_t *count, struct cairn_error *error);

/* One row. */
struct cairn_hourly_row {
	uint64_t instance, stack;
	int64_t time_ns;
	double bytes, size; /* `size` is the mean size of an object */
};

/* Calls VISIT with each row of the stacks that QUESTION lists, in any order. A row that was put twice may come twice. */
bool cairn_hourly_rows(struct cairn_store *store, const struct cairn_hourly_question *question,
		       void (*visit)(void *context, const struct cairn_hourly_row *row), void *context, struct cairn_error *error);

/* Fills PROFILE, which is initialized, with COUNT stacks: sample I is STACKS[I] with BYTES[I]. */
bool cairn_hourly_profile(struct cairn_store *store, const uint64_t *stacks, const double *bytes, size_t count,
			  struct cairn_profile *profile, struct cairn_error *error);

#endif
