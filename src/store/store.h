/* store.h - many processes on many machines: what each of them held, over time.
 *
 * A store has two engines: SQLite in a file for one machine (`sqlite:PATH`), and a ClickHouse server or cluster beyond it
 * (`clickhouse://[USER:PASSWORD@]HOST:PORT/DATABASE`, also `clickhouses://` for HTTPS). Both hold the tables of store/rows.h and answer the
 * same statements.
 *
 * What goes in is a *snapshot*: a profile, already named, with the service, version and labels of its process. What comes out is profiles
 * again, so that every report works on them. A snapshot that is put twice is there once. Of snapshots of one process within ten minutes,
 * only the first is kept whole; of the others, what changed beyond its error bar (store/written.h). Reading fills in the rest.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_STORE_H
#define CAIRN_STORE_STORE_H

#include "profile/profile.h"

#include <stdatomic.h>

struct cairn_store;
struct cairn_bill;

/* Whether NAME is one of a store, not of a file. */
bool cairn_store_is(const char *name);

/* Opens the store NAME. Its tables are not looked at yet. Not for use by several threads at once. Only cairn_store_create makes a file that
 * is not there, for cairn_store_init. */
struct cairn_store *cairn_store_open(const char *name, struct cairn_error *error);
struct cairn_store *cairn_store_create(const char *name, struct cairn_error *error);
void cairn_store_close(struct cairn_store *store);

/* Makes the tables where they are not there yet, and brings those of an earlier version up to date: on ClickHouse with CLUSTER, replicated
 * and distributed over that cluster; NULL for one server. Rows older than *KEEP_DAYS are removed from now on whenever rows are put, or
 * never for 0; NULL leaves that as it is. */
bool cairn_store_init(struct cairn_store *store, const char *cluster, const uint64_t *keep_days, struct cairn_error *error);

/* Checks that the tables are there, and of a version that this program knows. */
bool cairn_store_check(struct cairn_store *store, struct cairn_error *error);

struct cairn_store_snapshot {
	const struct cairn_profile *profile; /* of a heap, with names */
	struct cairn_bytes tenant;  /* whose it is: tenants do not see each other; empty for the only one */
	struct cairn_bytes service, version, host;
	struct cairn_bytes labels;  /* the others, as a query string */
	const struct cairn_bill *bill; /* of its resident memory; NULL where that is not known */
};

/* Whether PROFILE is one that a store keeps: of live memory, with a time. */
bool cairn_store_accepts(const struct cairn_profile *profile, struct cairn_error *error);

/* Puts COUNT snapshots. Where that fails, all of them may be put again: what is there already is not counted twice. */
bool cairn_store_put(struct cairn_store *store, const struct cairn_store_snapshot *snapshots, size_t count, struct cairn_error *error);

/* The same in steps, for whoever must know which of them takes memory and which waits for a store: the rows, in memory; a snapshot that no
 * store accepts has none. Then what the store says of their processes (it waits), which of the rows the store lacks (about as much memory
 * again), and putting these (it waits). Rows that were selected are to be put, whatever comes. */
struct cairn_store_rows;
struct cairn_store_rows *cairn_store_prepare(const struct cairn_store_snapshot *snapshots, size_t count);
void cairn_store_rows_free(struct cairn_store_rows *rows);
bool cairn_store_look_up(struct cairn_store *store, const struct cairn_store_rows *rows, struct cairn_error *error);
void cairn_store_select(struct cairn_store *store, struct cairn_store_rows *rows);
bool cairn_store_put_rows(struct cairn_store *store, const struct cairn_store_rows *rows, struct cairn_error *error);

/* From now on, what is asked of STORE fails once *GONE is true, since whoever waits for the answer has left; NULL for never. */
void cairn_store_cancel_when(struct cairn_store *store, const atomic_bool *gone);

struct cairn_store_process;

/* What is asked about. NULL or 0 is anything. */
struct cairn_question {
	const char *tenant;
	const char *service;
	const char *version;
	const char *instance;      /* HOST, HOST:PID, or the number that a listing shows */
	bool whole;                /* only points with a whole snapshot: what lies between is not looked at */
	/* For very many instances: of each process only its last point, or the first in each time of so many nanoseconds. */
	bool last_only;
	int64_t slot_ns;
	bool counted; /* with last_only: each process says how many points there are, and when the first was */
	const char *const *labels; /* "key=value"; all of them have to hold */
	size_t label_count;
	/* Whether a process is wanted that all of the above holds for; NULL for every one. */
	bool (*wants)(const void *context, const struct cairn_store_process *process);
	const void *context;
	int64_t from_ns, to_ns;
	bool with_earlier; /* each process has as its first point the last one of the day before from_ns, where there is one */
	size_t point_most; /* the store fails where there are more points; 0 for any number */
};

struct cairn_store_point {
	int64_t time_ns;
	double bytes, resident, limit, period;
	bool limit_of_group, has_allocated;
	enum cairn_unsampling unsampling;
	const char *ended;
	int64_t base_ns; /* the whole snapshot that its samples are changes to, which reading takes into account; 0 for a whole one */
};

/* One process, and when it was looked at within the question's time, in order. There is at least one point. */
struct cairn_store_process {
	uint64_t instance;
	uint64_t cohort; /* of all instances of this release */
	const char *service, *version, *host, *program;
	struct cairn_bytes labels;
	uint64_t pid;
	int64_t start_ns;
	struct cairn_store_point *points;
	size_t point_count, point_capacity;
	/* Where they were counted, of all points within the question's time; else 0. */
	size_t snapshots;
	int64_t first_ns;
};

struct cairn_store_processes {
	struct cairn_arena arena;
	struct cairn_store_process *items; /* by service, by when they were first seen, by release */
	size_t count, capacity;
};

/* The processes that QUESTION is about. Fails only where the store does: no process is an answer. */
bool cairn_store_ask(struct cairn_store *store, const struct cairn_question *question, struct cairn_store_processes *processes,
		     struct cairn_error *error);
void cairn_store_processes_free(struct cairn_store_processes *processes);

/* Puts PROCESSES in their order again, after points were added or removed; each has at least one. */
void cairn_store_processes_sort(struct cairn_store_processes *processes);

/* Calls VISIT with each line of the bill that the last point of each of PROCESSES has, by the line's key; PROCESS is its place in there.
 * Not every point has one. */
bool cairn_store_bills(struct cairn_store *store, const struct cairn_store_processes *processes,
		       void (*visit)(void *context, size_t process, const char *line, double bytes), void *context,
		       struct cairn_error *error);

/* Calls VISIT with the profile of each of the COUNT points of PROCESS that WANTED lists, in order of time; it is freed after the call.
 * False where the store fails, or VISIT returns false. */
bool cairn_store_profiles(struct cairn_store *store, const struct cairn_store_process *process, const size_t *wanted, size_t count,
			  bool (*visit)(void *context, const struct cairn_profile *profile, struct cairn_error *error), void *context,
			  struct cairn_error *error);

#endif
