/* job.h - asking an agent for something, on a thread of its own, for `cairn watch`.
 *
 * An agent may take long or not answer at all, and the loop that watches many processes waits for none. So a job holds
 * all it needs, belongs to its thread from cairn_watch_job_send on, and comes back by its address through a pipe. Its thread is waited for
 * then: a program that ends while one of its threads does has the libraries' own memory freed twice, or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_WATCH_JOB_H
#define CAIRN_CMD_WATCH_JOB_H

#include "cmd/template.h"
#include "dump/folder.h"
#include "dump/trigger.h"

#include <pthread.h>

/* What is the same for all that are watched. */
struct cairn_watch {
	struct cairn_trigger_rules rules;
	struct cairn_folder folder;
	const char *pattern; /* of file names */
	const char *token;
	char host[65];
	bool attach;         /* processes without an agent are given one, */
	uint64_t period;     /* with this period; 0 for the default */
	int back; /* the end of a pipe that takes the address of a job which is done */
};

enum cairn_watch_job_kind {
	CAIRN_WATCH_JOB_NONE,
	CAIRN_WATCH_JOB_DUMP,    /* a heap profile into the folder */
	CAIRN_WATCH_JOB_ATTACH,  /* an agent into a process that has none */
	CAIRN_WATCH_JOB_NUMBERS, /* what the process has allocated in all; of one elsewhere, its memory too */
};

struct cairn_watch_job {
	const struct cairn_watch *watch;
	pthread_t thread;
	enum cairn_watch_job_kind kind;
	const char *name;       /* of the target, as a person gave it; what is asked where there is no process here */
	struct cairn_life life; /* of the process; PID 0 for one elsewhere */
	char program[64];
	bool first;             /* it has not been asked for a dump yet */
	enum cairn_trigger_reason reason;
	const char *word;       /* the reason's name; CAIRN_DUMP_LAST for the last moment, which no rule asks for */
	char why[140];
	struct cairn_memory_reading reading; /* before the dump; for numbers, the answer */
	/* What came of it. */
	bool good;
	bool awaited;  /* there is no agent, but there may be one later */
	bool early;    /* there is no agent, but the process has just begun */
	bool hopeless; /* there is no agent, or no profile can be had from it */
	time_t time;
	char file[CAIRN_TEMPLATE_NAME];
	uint64_t bytes;
	struct cairn_error error; /* also something to tell when it is good; "" for nothing */
};

/* What process PID was started as, without its path: of `/usr/bin/redis-server *:6379` the middle. */
void cairn_watch_job_program(int pid, char *out, size_t size);

/* Writes BODY into the folder, under the first name that is free, with the reason and the reading of JOB; its file and bytes say what
 * came of it, or its error. What is no heap profile is written as it came. Any thread that JOB belongs to. */
bool cairn_watch_job_write(struct cairn_watch_job *job, struct cairn_bytes body);

/* Sends it, with all above `good` but the thread filled in. False where there is no thread to be had. */
bool cairn_watch_job_send(struct cairn_watch_job *job);

/* Waits for the thread of one that is back, which has nothing left to do. */
void cairn_watch_job_end(struct cairn_watch_job *job);

#endif
