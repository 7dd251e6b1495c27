/* hourly.h - questions about a few call paths of very many instances, which the store itself adds up.
 *
 * The table `hourly` has the first whole snapshot that an instance has in each hour. Its rows lie in the order of cohort, hour and stack,
 * so that a cohort at one hour, and some of its call paths over many hours, are read without reading anything else. A *cohort* is all
 * instances of one release of a service (struct cairn_store_process has its number). For a time so short that hours are too coarse, the
 * same questions can be asked about single whole snapshots.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_HOURLY_H
#define CAIRN_STORE_HOURLY_H

#include "store/store.h"

/* Whether the table has everything since FROM_NS that the store has: one that was brought up to date has only what came after. */
bool cairn_hourly_reaches(const struct cairn_store *store, int64_t from_ns);

/* What is asked about: lists of numbers, each once. */
struct cairn_hourly_question {
	const uint64_t *cohorts, *instances;
	const int64_t *hours; /* or, where that is NULL, */
	const int64_t *times; /* of whole snapshots */
	const uint64_t *stacks; /* where only some are asked for */
	size_t cohort_count, instance_count, hour_count, time_count, stack_count;
};

/* How many rows QUESTION is about, of all stacks. */
bool cairn_hourly_size(struct cairn_store *store, const struct cairn_hourly_question *question, size_t *rows, struct cairn_error *error);

/* A call path at one time, on all instances. A *share* is what an instance holds of it, of all that it holds; of single snapshots, where
 * that is not known, bytes. */
struct cairn_hourly_sum {
	uint64_t stack;
	double bytes;
	double shares, squares; /* the sum of all shares, and of their squares */
	double most;            /* the largest share */
};

/* Adds up what QUESTION is about, one time of each instance; *SUMS, in the order of stacks, is the caller's to free. A snapshot that was
 * put twice may count twice for a while. */
bool cairn_hourly_sums(struct cairn_store *store, const struct cairn_hourly_question *question, struct cairn_hourly_sum **sums,
		       size_t *count, struct cairn_error *error);

/* One row. */
struct cairn_hourly_row {
	uint64_t instance, stack;
	int64_t time_ns;
	double bytes, size; /* and that of an object on average */
};

/* Calls VISIT with each row of the stacks that QUESTION lists, in any order; one that was put twice may come twice. */
bool cairn_hourly_rows(struct cairn_store *store, const struct cairn_hourly_question *question,
		       void (*visit)(void *context, const struct cairn_hourly_row *row), void *context, struct cairn_error *error);

/* Makes PROFILE, an initialised one, of COUNT stacks: sample I is STACKS[I], with BYTES[I]. */
bool cairn_hourly_profile(struct cairn_store *store, const uint64_t *stacks, const double *bytes, size_t count,
			  struct cairn_profile *profile, struct cairn_error *error);

#endif
