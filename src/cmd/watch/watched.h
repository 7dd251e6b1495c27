/* watched.h - one process that `cairn watch` looks after: its readings, its trigger, its dumps and its end.
 *
 * A look is one small read, done by the loop's thread; whatever asks the agent is a job (job.h), one at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_WATCH_WATCHED_H
#define CAIRN_CMD_WATCH_WATCHED_H

#include "cmd/watch/job.h"
#include "cmd/watch/keeper.h"

struct cairn_watched {
	const char *name; /* as a person gave it; borrowed */
	bool service;     /* the name is a service's */
	bool done;        /* it will not be looked at again */
	bool failed;      /* it could never be watched as it should */
	struct cairn_error said; /* the last problem reported, so that it is reported once, */
	int64_t said_ns;         /* and when */
	/* Of the present process. */
	bool running;
	bool attached; /* an agent was sent for */
	bool ended;
	bool short_of_memory;   /* when it ended */
	struct cairn_life life; /* PID 0 for one elsewhere, of which only is known what it answers */
	int pidfd;              /* readable when it has ended; -1 where the kernel has none */
	char program[64];
	struct cairn_memory memory;
	struct cairn_keeper keeper; /* of its ledger */
	struct cairn_memory_reading reading; /* the last */
	uint64_t most;                       /* the highest */
	struct cairn_trigger trigger;
	int64_t next_ns;    /* when to look again */
	int64_t asked_ns;   /* when the agent was last asked for numbers, */
	int64_t numbers_ns; /* and when it is to be asked again */
	size_t dumps;
	char last[CAIRN_TEMPLATE_NAME]; /* dump; "" for none */
	struct cairn_watch_job job;     /* of no kind when none is under way */
};

/* Begins with process PID; 0 is for one elsewhere, which the name says. */
bool cairn_watched_begin(struct cairn_watched *watched, int pid, struct cairn_error *error);

/* Lets go of the process, whether it has ended or not. No job may be under way. */
void cairn_watched_close(struct cairn_watched *watched);

/* Reads its memory at NOW and sends for what is due, if MAY_SEND. `ended` is set once the process has. */
void cairn_watched_look(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now, bool may_send);

/* Writes the dump of the last moment of a process that has ended as ENDING says, if its ledger was kept; no job may be under way.
 * True where there is one: the job then says where, as for any other dump. The job's error is empty where there was nothing to write. */
bool cairn_watched_keep_last(struct cairn_watched *watched, const struct cairn_watch *watch, const struct cairn_ending *ending);

/* Takes in what the job brought; it is of no kind then, all else in it stays. */
void cairn_watched_settle(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now);

#endif
