/* process.h - one process as the live page shows it: its identity, its state and its dumps.
 *
 * There are two locks. `serve->lock` guards what the main thread, which must not wait, answers at once: the list of processes, their
 * states, memory over time, and the JSON that was made last. `process->heavy` guards the archive and the newest dump, which take
 * milliseconds to process. A thread that needs both takes the heavy one first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_PROCESS_H
#define CAIRN_FLEET_SERVE_PROCESS_H

#include "base/buffer.h"
#include "fleet/serve/archive.h"
#include "fleet/serve/verdict.h"
#include "live/owner.h"
#include "live/target.h"
#include "live/watch/keeper.h"
#include "process/memory.h"

#include <pthread.h>

struct cairn_serve;

enum cairn_serve_state {
	CAIRN_SERVE_WAITING, /* for a service that is not running, or for the first answer */
	CAIRN_SERVE_SAMPLING,
	CAIRN_SERVE_PAUSED,
	CAIRN_SERVE_STOPPED, /* by a signal, so that it cannot answer */
	CAIRN_SERVE_SILENT, /* runs but does not answer */
	CAIRN_SERVE_ENDED,
	CAIRN_SERVE_FOLDER, /* known by its dumps only */
};

/* What the page knows about a dump without its tree. */
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

/* One run of a program in a folder: a process. The runs of one entry of the list never overlap in time. */
struct cairn_serve_run {
	char key[CAIRN_SERVE_KEY];
	int64_t start_ns, last_ns; /* when it started, and its newest dump */
};

struct cairn_serve_process {
	struct cairn_serve *serve;
	char key[CAIRN_SERVE_KEY]; /* identifies it in requests; the same after a restart of the server */
	const char *name; /* of the target, as given; NULL for a process of a folder */
	bool service; /* NAME is that of a service, which may be restarted */
	int64_t usual_keep_ns; /* how long its dumps are kept without --keep; 0 for ever */
	bool sum; /* the sum of all instances of a service in a store, which has no PID and no runs */
	unsigned users; /* requests and threads of folders that use it: it is not freed before there are none; under serve->lock */
	char folder_program[256], folder_host[65]; /* of a folder: whose runs these are */
	struct cairn_serve_run *runs; /* the same; under serve->lock */
	size_t run_count, run_capacity;

	/* Under serve->lock. */
	char program[128], command[256], host[65];
	int pid; /* in our PID namespace; 0 if unknown */
	enum cairn_serve_owner owner; /* of its runs on this machine; only the thread that follows it writes this */
	enum cairn_serve_state state;
	char why[600]; /* the reason of the state; "" for none */
	int64_t since_ms; /* when the state began */
	int64_t started_ms; /* when sampling began, according to the agent */
	char engine[24];
	double period;
	struct cairn_serve_row *rows; /* resident memory, about once a second, at longer intervals the older they are */
	size_t row_count;
	double limit;
	bool limit_of_group;
	size_t machines; /* of a sum: how many machines have the limit as their memory */
	struct cairn_serve_point *points;
	size_t point_count, point_capacity;
	struct cairn_verdict_summary verdict;
	struct cairn_buffer leaks, layers, bill, status; /* JSON; empty until there is some */
	int64_t next_ns; /* when the next snapshot is due, on the monotonic clock; 0 for none */
	int64_t cost_ns, snapshot_ns; /* the cost of the last one, in total and in the service */
	uint64_t snapshots, failures;
	bool has_freed; /* the newest dump says what was freed */
	bool wanted; /* a snapshot was requested */
	bool looks;  /* one is being taken */
	bool memory_open;
	struct cairn_memory memory;
	struct cairn_memory_reading reading; /* the last one */
	uint64_t epoch; /* of the archive when `points` was made */

	/* For the thread that follows it only. */
	struct cairn_target target;
	bool found;
	int asked; /* the process whose agent was asked to start */
	struct cairn_life life;
	int pidfd;
	struct cairn_keeper keeper;

	pthread_mutex_t heavy;
	uint64_t bytes_most; /* of the archive */
	struct cairn_archive archive;
	struct cairn_buffer newest; /* the newest dump, unchanged */
	int64_t newest_id;
};

/* Adds an empty process, which stays until the program ends or it is dropped. Returns NULL if there are too many. Under serve->lock. */
struct cairn_serve_process *cairn_serve_process_new(struct cairn_serve *serve, const char *key);

/* Processes that are no longer on the list, but that requests may still use. */
struct cairn_serve_dropped {
	struct cairn_serve_process **items;
	size_t count, capacity;
};

/* Moves PROCESS, which no thread may follow, from the list to DROPPED, so that no new request finds it. Under serve->lock. */
void cairn_serve_process_drop(struct cairn_serve_process *process, struct cairn_serve_dropped *dropped);

/* Frees the processes in DROPPED that have no users any more. */
void cairn_serve_dropped_free(struct cairn_serve_dropped *dropped);

/* Sets STATE and its reason, and sends an event to open pages if they changed. */
void cairn_serve_process_state(struct cairn_serve_process *process, enum cairn_serve_state state, const char *why);
const char *cairn_serve_state_name(enum cairn_serve_state state);

/* Adds PART, read from DUMP, to the archive; with JUDGE, makes a new verdict. */
void cairn_serve_process_add(struct cairn_serve_process *process, struct cairn_profile *part, struct cairn_bytes dump, bool judge);

/* Limits the memory of its dumps to BYTES_MOST, and drops those that are too many for it. */
void cairn_serve_process_limit(struct cairn_serve_process *process, uint64_t bytes_most);

/* Reads DUMP, adds it and makes a new verdict. NAME is for messages. */
bool cairn_serve_process_dump(struct cairn_serve_process *process, struct cairn_bytes dump, const char *name, struct cairn_error *error);

/* The text of the newest dump of its archive; empty if that is not known. Under the heavy lock. */
struct cairn_bytes cairn_serve_process_newest(const struct cairn_serve_process *process);

/* Makes a new verdict on the archive, and the bill of the newest dump. */
void cairn_serve_process_judge(struct cairn_serve_process *process);

/* Replaces the last verdict by VERDICT, which was made elsewhere. */
void cairn_serve_process_conclude(struct cairn_serve_process *process, const struct cairn_verdict_summary *verdict);

/* Reads its memory and adds a row. Returns false once it has ended. Under serve->lock. */
bool cairn_serve_process_weigh(struct cairn_serve_process *process, int64_t now_ms, struct cairn_serve_row *row);

/* Begin and end reading the memory of process PID. Under serve->lock. */
void cairn_serve_process_attend(struct cairn_serve_process *process, int pid);
void cairn_serve_process_leave(struct cairn_serve_process *process);

#endif
