/* watched.h - one process that `cairn watch` watches: its readings, its trigger, its dumps and its end.
 *
 * A look is one small read in the loop's thread; every request to the agent is a job (job.h), one at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WATCH_WATCHED_H
#define CAIRN_LIVE_WATCH_WATCHED_H

#include "live/watch/job.h"
#include "live/watch/keeper.h"

struct cairn_watched {
	const char *name; /* as the user named it; borrowed */
	bool service;     /* the name is that of a service */
	bool descends;    /* it was found in the tree of one that the user named */
	bool done;        /* it is no longer watched */
	bool failed;      /* it could never be watched properly */
	bool hopeless;    /* its process was given up: it will answer nothing */
	struct cairn_error said; /* the last problem reported, so that it is reported only once, */
	int64_t said_ns;         /* and when */
	/* Of the present process. */
	bool running;
	int64_t user;      /* as which it ran when it was last sent a job; -1 for one elsewhere */
	bool attached; /* an agent was sent for */
	bool told_refusal; /* the user knows that its last moment cannot be kept */
	bool ended;
	bool short_of_memory;   /* when it ended */
	struct cairn_life life; /* PID 0 for a process elsewhere, which is known only by its answers */
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
	struct cairn_watch_job job;     /* has no kind if none is in progress */
};

/* Starts watching process PID; 0 for one elsewhere, which the name identifies. */
bool cairn_watched_begin(struct cairn_watched *watched, int pid, struct cairn_error *error);

/* Stops watching the process, whether it has ended or not. No job may be in progress. */
void cairn_watched_close(struct cairn_watched *watched);

/* Reads its memory at NOW and, if MAY_SEND, sends the jobs that are due. Sets `ended` once the process has ended. */
void cairn_watched_look(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now, bool may_send);

/* Whether the process has ended, or has at least lost its memory, which goes before its sockets do: a request that fails then says nothing
 * that the end does not. */
bool cairn_watched_is_ending(struct cairn_watched *watched, int64_t now);

/* Writes the dump of the last moment of a process that has ended as ENDING says, if its ledger was kept; no job may be under way.
 * True where there is one: the job then says where, as for any other dump. The job's error is empty where there was nothing to write. */
bool cairn_watched_keep_last(struct cairn_watched *watched, const struct cairn_watch *watch, const struct cairn_ending *ending);

/* Takes over the job's results; the job then has no kind, everything else in it stays. */
void cairn_watched_settle(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now);

#endif
