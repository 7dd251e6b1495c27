/* store.h - snapshots of the heap of many processes on many machines, over time.
 *
 * A store has two engines: SQLite in a file for one machine (`sqlite:PATH`), and a ClickHouse server or cluster beyond it
 * (`clickhouse://HOST:PORT/DATABASE`, also `clickhouses://` for HTTPS, with a user and password that were set aside, base/url.h). Both hold
 * the tables of store/rows.h and answer the same statements.
 *
 * A program puts *snapshots*: profiles that have names, with the service, version and labels of their process. It gets profiles back, so
 * that every report works on them. A snapshot that is put twice is stored once. Of the snapshots of one process within ten minutes, only
 * the first is stored whole; of the others, only changes beyond the error bar (store/written.h). Reading fills in the rest.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_STORE_H
#define CAIRN_STORE_STORE_H

#include "profile/profile.h"

#include <assert.h>
#include <stdatomic.h>

struct cairn_store;
struct cairn_bill;

/* Whether NAME is that of a store, not of a file. */
bool cairn_store_is(const char *name);

/* The name of the store that is GIVEN or, if that is NULL, of $CAIRN_STORE, in ARENA if need be: where only a store can be meant, the path
 * of a file is one of SQLite. NULL, and a usage error, if there is none or it is not the name of a store. */
const char *cairn_store_name(const char *given, struct cairn_arena *arena, struct cairn_error *error);

/* Opens the store NAME without looking at its tables. One thread may use a store at a time. Only cairn_store_create creates a missing file,
 * for cairn_store_init. */
struct cairn_store *cairn_store_open(const char *name, struct cairn_error *error);
struct cairn_store *cairn_store_create(const char *name, struct cairn_error *error);
void cairn_store_close(struct cairn_store *store);

/* Creates missing tables and migrates those of an earlier version; on ClickHouse with CLUSTER, replicated and distributed over that
 * cluster; NULL for one server. Rows older than *KEEP_DAYS are removed from now on when rows of the last day are put, or never if it is 0;
 * NULL keeps the setting. */
bool cairn_store_init(struct cairn_store *store, const char *cluster, const uint64_t *keep_days, struct cairn_error *error);

/* Checks that the tables exist and have the version that this program needs. */
bool cairn_store_check(struct cairn_store *store, struct cairn_error *error);

struct cairn_store_snapshot {
	const struct cairn_profile *profile; /* of a heap, with names */
	struct cairn_bytes tenant;  /* its owner: tenants do not see each other's data; empty if there is only one */
	struct cairn_bytes service, version, host;
	struct cairn_bytes labels;  /* further ones, as a query string */
	const struct cairn_bill *bill; /* of its resident memory; NULL if unknown */
};

/* Whether a store accepts PROFILE: it must be of live memory and have a time. */
bool cairn_store_accepts(const struct cairn_profile *profile, struct cairn_error *error);

/* Puts COUNT snapshots. If it fails, all of them may be put again: nothing is counted twice. */
bool cairn_store_put(struct cairn_store *store, const struct cairn_store_snapshot *snapshots, size_t count, struct cairn_error *error);

/* A sentence about what the last cairn_store_put or cairn_store_put_rows removed as too old, or why it did not; NULL if there is nothing
 * to say. Owned by STORE. */
const char *cairn_store_removal(const struct cairn_store *store);

/* cairn_store_put in steps, for callers that must know which of them take memory and which wait for the store: cairn_store_prepare makes
 * the rows in memory (none for a snapshot that stores do not accept); cairn_store_look_up asks the store about their processes (waits);
 * cairn_store_select selects the rows that the store lacks (takes about as much memory again); and cairn_store_put_rows puts these (waits).
 * Rows that were selected must be put. */
struct cairn_store_rows;
struct cairn_store_rows *cairn_store_prepare(const struct cairn_store_snapshot *snapshots, size_t count);
void cairn_store_rows_free(struct cairn_store_rows *rows);
bool cairn_store_look_up(struct cairn_store *store, const struct cairn_store_rows *rows, struct cairn_error *error);
void cairn_store_select(struct cairn_store *store, struct cairn_store_rows *rows);
bool cairn_store_put_rows(struct cairn_store *store, const struct cairn_store_rows *rows, struct cairn_error *error);

/* From now on, what is asked of STORE fails once *GONE is true, since whoever waits for the answer has left; NULL for never. */
void cairn_store_cancel_when(struct cairn_store *store, const atomic_bool *gone);

struct cairn_store_process;

/* A query for processes. NULL or 0 matches everything. */
struct cairn_question {
	const char *tenant;
	const char *service;
	const char *version;
	const char *instance;      /* HOST, HOST:PID, or the number that a listing shows */
	bool whole;                /* only points with a whole snapshot */
	/* For very many instances: only the last point of each process, or the first in each interval of this many nanoseconds. */
	bool last_only;
	int64_t slot_ns;
	bool counted; /* with last_only: each process has the number of points and the time of the first */
	const char *const *labels; /* "key=value"; all of them must match */
	size_t label_count;
	/* Whether to include a process that matches all of the above; NULL to include all. */
	bool (*wants)(const void *context, const struct cairn_store_process *process);
	const void *context;
	int64_t from_ns, to_ns;
	bool with_earlier; /* the first point of each process is its last one within the day before from_ns, if there is one */
	size_t point_most; /* fail if there are more points; 0 for no limit */
};

struct cairn_store_point {
	int64_t time_ns;
	double bytes, resident, limit, period;
	bool limit_of_group, has_allocated;
	enum cairn_unsampling unsampling;
	bool size_classes; /* as in a profile */
	const char *ended;
	int64_t base_ns; /* the time of the whole snapshot that its samples are changes to; 0 if it is whole itself */
	int64_t since_ns; /* when sampling began; 0 if unknown, like the next two */
	double before; /* the anonymous memory that the process had by then, if that was late */
	double own; /* its anonymous memory now, resident or swapped out */
};

/* One process and its points within the query's time, in order. There is at least one. */
struct cairn_store_process {
	uint64_t instance;
	uint64_t cohort; /* number of the cohort, all instances of this release */
	const char *service, *version, *host, *program;
	struct cairn_bytes labels;
	uint64_t pid;
	int64_t start_ns;
	struct cairn_store_point *points;
	size_t point_count, point_capacity;
	/* With `counted`, of all points within the query's time; otherwise 0. */
	size_t snapshots;
	int64_t first_ns;
};

struct cairn_store_processes {
	struct cairn_arena arena;
	struct cairn_store_process *items; /* by service, then by when they were first seen, then by release */
	size_t count, capacity;
};

/* Finds the processes that match QUESTION. Finding none is not a failure. */
bool cairn_store_ask(struct cairn_store *store, const struct cairn_question *question, struct cairn_store_processes *processes,
		     struct cairn_error *error);
void cairn_store_processes_free(struct cairn_store_processes *processes);

/* Sorts PROCESSES again after points were added or removed; each has at least one. */
void cairn_store_processes_sort(struct cairn_store_processes *processes);

/* The last point of PROCESS; there is at least one in what cairn_store_ask found. */
static inline const struct cairn_store_point *cairn_store_last(const struct cairn_store_process *process)
{
	assert(process->point_count > 0);
	return &process->points[process->point_count - 1];
}

/* Stores the times of the first and the last point of all PROCESSES. If there are none, the first time is after the last. */
void cairn_store_span(const struct cairn_store_processes *processes, int64_t *first_ns, int64_t *last_ns);

/* Chooses up to MOST points of PROCESS, spread evenly from the first to the last; the last one if MOST is 1. Stores their indices in CHOSEN
 * and returns their number. */
size_t cairn_store_choose_points(const struct cairn_store_process *process, size_t most, size_t *chosen);

/* Calls VISIT with each line, by its key, of the bill of the last point of each of PROCESSES; PROCESS is the index there. Not every point
 * has a bill. */
bool cairn_store_bills(struct cairn_store *store, const struct cairn_store_processes *processes,
		       void (*visit)(void *context, size_t process, const char *line, double bytes), void *context,
		       struct cairn_error *error);

/* Calls VISIT with the profile of each of the COUNT points of PROCESS that WANTED lists, in order of time; it is freed after the call.
 * Returns false if the store fails or VISIT returns false. */
bool cairn_store_profiles(struct cairn_store *store, const struct cairn_store_process *process, const size_t *wanted, size_t count,
			  bool (*visit)(void *context, const struct cairn_profile *profile, struct cairn_error *error), void *context,
			  struct cairn_error *error);

#endif
