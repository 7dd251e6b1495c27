/* process.h - one process as the live page shows it: what it is, how it is, and what is kept of it.
 *
 * Two locks. `serve->lock` guards what is answered at once and by the thread that must not wait: who there is, the state, the courses of
 * memory, and the JSON that was made last. `process->heavy` guards the archive and the newest dump, which take milliseconds to look
 * through. Who needs both takes the heavy one first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_PROCESS_H
#define CAIRN_CMD_SERVE_PROCESS_H

#include "base/buffer.h"
#include "cmd/serve/archive.h"
#include "cmd/serve/owner.h"
#include "cmd/serve/verdict.h"
#include "cmd/target.h"
#include "cmd/watch/keeper.h"
#include "process/memory.h"

#include <pthread.h>

struct cairn_serve;

enum cairn_serve_state {
	CAIRN_SERVE_WAITING, /* for a service that does not run, or the first answer */
	CAIRN_SERVE_SAMPLING,
	CAIRN_SERVE_PAUSED,
	CAIRN_SERVE_STOPPED, /* by a signal: it cannot answer */
	CAIRN_SERVE_SILENT, /* it runs and does not answer */
	CAIRN_SERVE_ENDED,
	CAIRN_SERVE_FOLDER, /* known by its dumps only */
};

/* What the page knows of a dump without asking for its tree. */
struct cairn_serve_point {
	int64_t id;
	double total, objects, resident, limit;
	uint64_t process_id, build;
	uint32_t run;
	char reason[CAIRN_ARCHIVE_REASON];
	char ended[CAIRN_ARCHIVE_ENDED];
};

struct cairn_serve_row {
	int64_t time_ms;
	double resident, anonymous;
};

enum { CAIRN_SERVE_ROWS = 8192,
       CAIRN_SERVE_KEY = 96 };

/* One run of a program in a folder: a process that was there before or after the others of its entry, never beside them. */
struct cairn_serve_run {
	char key[CAIRN_SERVE_KEY];
	int64_t start_ns, last_ns; /* when it started, and its newest dump */
};

struct cairn_serve_process {
	struct cairn_serve *serve;
	char key[CAIRN_SERVE_KEY]; /* names it in requests; the same after a restart of the server */
	const char *name; /* of the target, as it was given; NULL for a process of a folder */
	bool service; /* NAME is that of a service, which may come back */
	bool sum; /* it stands for all instances of a service of a store */
	unsigned users; /* requests and threads of folders that use it: it is not freed before there are none; under serve->lock */
	char folder_program[256], folder_host[65]; /* of a folder: whose runs these are */
	struct cairn_serve_run *runs; /* the same; under serve->lock */
	size_t run_count, run_capacity;

	/* Under serve->lock. */
	char program[128], command[256], host[65];
	int pid; /* as it is numbered here; 0 when not known */
	enum cairn_serve_owner owner; /* of its runs on this machine; only the thread that follows it writes this */
	enum cairn_serve_state state;
	char why[600]; /* of the state, where there is more to say */
	int64_t since_ms; /* the state has lasted since then */
	int64_t started_ms; /* sampling, as the agent says it */
	char engine[24];
	double period;
	struct cairn_serve_row *rows; /* resident memory, about one a second, sparser the older */
	size_t row_count;
	double limit;
	bool limit_of_group;
	struct cairn_serve_point *points;
	size_t point_count, point_capacity;
	struct cairn_verdict_summary verdict;
	struct cairn_buffer leaks, layers, bill, status; /* JSON; empty until there is some */
	int64_t next_ns; /* when the next snapshot is due, on the clock that never goes back; 0 for none */
	int64_t cost_ns, snapshot_ns; /* what the last one cost, all in all and in the service */
	uint64_t snapshots, failures;
	bool has_freed; /* the newest dump says what was freed */
	bool wanted; /* a snapshot was asked for */
	bool memory_open;
	struct cairn_memory memory;
	struct cairn_memory_reading reading; /* the last of it */
	uint64_t epoch; /* of the archive, as the summaries are */

	/* Of the thread that follows it. */
	struct cairn_target target;
	bool found;
	struct cairn_life life;
	int pidfd;
	struct cairn_keeper keeper;

	pthread_mutex_t heavy;
	struct cairn_archive archive;
	struct cairn_buffer newest; /* the newest dump, as it came */
	int64_t newest_id;
};

/* A process without anything, which stays until the program ends or it is dropped; NULL where there are too many. Under serve->lock. */
struct cairn_serve_process *cairn_serve_process_new(struct cairn_serve *serve, const char *key);

/* Processes that are off the list, but which requests may still use. */
struct cairn_serve_dropped {
	struct cairn_serve_process **items;
	size_t count, capacity;
};

/* Takes PROCESS, one that no thread follows, off the list and adds it to DROPPED: no request finds it any more. Under serve->lock. */
void cairn_serve_process_drop(struct cairn_serve_process *process, struct cairn_serve_dropped *dropped);

/* Frees what of DROPPED has no users any more. */
void cairn_serve_dropped_free(struct cairn_serve_dropped *dropped);

/* Says that it is in STATE from now on, and why; tells all who look where that is news. */
void cairn_serve_process_state(struct cairn_serve_process *process, enum cairn_serve_state state, const char *why);
const char *cairn_serve_state_name(enum cairn_serve_state state);

/* Puts PART, read from DUMP, into the archive, and with JUDGE judges anew. */
void cairn_serve_process_add(struct cairn_serve_process *process, struct cairn_profile *part, struct cairn_bytes dump, bool judge);

/* Reads DUMP and does the same. NAME is for messages. */
bool cairn_serve_process_dump(struct cairn_serve_process *process, struct cairn_bytes dump, const char *name, struct cairn_error *error);

/* Judges the archive as it is, and makes the bill of the newest dump. */
void cairn_serve_process_judge(struct cairn_serve_process *process);

/* Puts VERDICT, made elsewhere, in place of the last one. */
void cairn_serve_process_conclude(struct cairn_serve_process *process, const struct cairn_verdict_summary *verdict);

/* Reads its memory and adds a row; false once it has ended. Under serve->lock. */
bool cairn_serve_process_weigh(struct cairn_serve_process *process, int64_t now_ms, struct cairn_serve_row *row);

/* Begins and ends reading the memory of process PID. Under serve->lock. */
void cairn_serve_process_attend(struct cairn_serve_process *process, int pid);
void cairn_serve_process_leave(struct cairn_serve_process *process);

#endif
