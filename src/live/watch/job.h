/* job.h - requests to an agent on separate threads, for `cairn watch`.
 *
 * An agent may take long or not answer at all, and the loop that watches many processes must not wait. So a job contains all it needs,
 * belongs to its thread from cairn_watch_job_send on, and comes back by its address through a pipe. Its thread is then joined: if a
 * program ends together with one of its threads, libraries free their memory twice, or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WATCH_JOB_H
#define CAIRN_LIVE_WATCH_JOB_H

#include "dump/folder.h"
#include "dump/trigger.h"
#include "live/attach/spawn.h"
#include "live/watch/template.h"

#include <pthread.h>

/* The settings that all watched processes share. */
struct cairn_watch {
	struct cairn_trigger_rules rules;
	struct cairn_folder folder;
	const char *pattern; /* of file names */
	const char *token;
	const char *from; /* where dumps are taken from instead of an agent: a URL; NULL for none */
	char host[65];
	bool attach; /* processes without an agent are given one, */
	struct cairn_attach_settings agent; /* with these settings */
	int back; /* the end of a pipe that receives the address of each finished job */
	size_t running; /* how many processes are watched now */
	struct cairn_memory_groups *groups; /* theirs */
};

enum cairn_watch_job_kind {
	CAIRN_WATCH_JOB_NONE,
	CAIRN_WATCH_JOB_DUMP,    /* a heap profile into the folder */
	CAIRN_WATCH_JOB_ATTACH,  /* an agent into a process that has none */
	CAIRN_WATCH_JOB_NUMBERS, /* all that the process has allocated; for a process elsewhere, also its memory */
};

struct cairn_watch_job {
	const struct cairn_watch *watch;
	pthread_t thread;
	enum cairn_watch_job_kind kind;
	const char *name;       /* the target as the user named it, which is asked if there is no process here */
	struct cairn_life life; /* of the process; PID 0 for one elsewhere */
	char program[64];
	bool first;             /* it has not been asked for a dump yet */
	bool descends;          /* it was found in the tree of one that the user named */
	enum cairn_trigger_reason reason;
	const char *word;       /* the reason's name; CAIRN_DUMP_LAST for the last moment, which has no rule */
	char why[140];
	struct cairn_memory_reading reading; /* before the dump; for numbers, the answer */
	/* The result. */
	bool good;
	bool awaited;  /* there is no agent yet, but there may be one later */
	bool early;    /* there is no agent, but the process has just begun */
	bool hopeless; /* there is no agent, or it has no profile */
	time_t time;
	char file[CAIRN_TEMPLATE_NAME];
	uint64_t bytes;
	struct cairn_error error; /* also a remark if it succeeded; "" for nothing */
};

/* What process PID was started as, without its path: of `/usr/bin/redis-server *:6379` the middle. */
void cairn_watch_job_program(int pid, char *out, size_t size);

/* Writes BODY into the folder, under the first name that is free, with the reason and the reading of JOB; its file and bytes say what
 * came of it, or its error. What is no heap profile is written as it came. Any thread that JOB belongs to. */
bool cairn_watch_job_write(struct cairn_watch_job *job, struct cairn_bytes body);

/* Sends it, with everything above `good` except the thread filled in. Returns false if no thread can be started. */
bool cairn_watch_job_send(struct cairn_watch_job *job);

/* Joins the thread of a finished job, which has nothing left to do. */
void cairn_watch_job_end(struct cairn_watch_job *job);

#endif
