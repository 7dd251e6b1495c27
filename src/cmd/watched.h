/* watched.h - one process that `cairn watch` looks after: its readings, its trigger, its dumps and its end.
 *
 * Looks are cheap and done by the one thread of the loop. Whatever asks an agent (a dump, the total it has allocated, the
 * memory of a process elsewhere) may take long, so it is an errand: a thread of its own that touches only the errand, and
 * the loop settles it when it is back.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_WATCHED_H
#define CAIRN_CMD_WATCHED_H

#include "agent/folder.h"
#include "agent/trigger.h"
#include "cmd/target.h"
#include "cmd/template.h"

/* What is the same for all that are watched. */
struct cairn_watch {
	struct cairn_trigger_rules rules;
	struct cairn_folder folder;
	const char *pattern; /* of file names */
	const char *token;
	char host[65];
	int back; /* the end of a pipe to which an errand that is done writes its address */
};

enum cairn_errand_kind { CAIRN_ERRAND_NONE, CAIRN_ERRAND_DUMP, CAIRN_ERRAND_NUMBERS };

/* Belongs to its thread between cairn_watched_send and the moment its address is back. */
struct cairn_errand {
	struct cairn_watched *watched;
	const struct cairn_watch *watch;
	enum cairn_errand_kind kind;
	enum cairn_trigger_reason reason;
	char why[100];
	time_t time;
	struct cairn_memory_reading reading; /* before the dump; for numbers, what was asked for is filled in */
	bool good;
	bool hopeless; /* there is no agent, or no profile can be had from it */
	char file[CAIRN_TEMPLATE_NAME];
	uint64_t bytes;
	struct cairn_error error;
};

struct cairn_watched {
	const char *name;     /* as a person named it; borrowed */
	bool service;         /* it is the name of a service */
	bool remote;          /* a URL: nothing is known but what it answers */
	bool done;            /* it will not be looked at again */
	bool failed;          /* it was never watched as it should have been */
	struct cairn_life life; /* of the process; PID 0 when there is none at present */
	int pidfd;            /* readable when the process has ended; -1 where the kernel has none */
	char program[64];
	struct cairn_memory memory;
	struct cairn_memory_reading reading; /* the last */
	struct cairn_trigger trigger;
	uint64_t most;        /* the highest reading */
	int64_t next_ns;      /* when to look again */
	int64_t numbers_ns;   /* when to ask the agent again */
	size_t dumps;
	char last[CAIRN_TEMPLATE_NAME]; /* dump; "" for none */
	struct cairn_error said;        /* the last problem that was told, so that it is told once */
	struct cairn_errand errand;
};

/* Begins with process PID, or with the URL the name is for PID 0. */
bool cairn_watched_begin(struct cairn_watched *watched, int pid, struct cairn_error *error);

/* Reads its memory at NOW and sends for what is due, if MAY_SEND. False once the process has ended. */
bool cairn_watched_look(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now, bool may_send);

/* Takes in what the errand brought. */
void cairn_watched_settle(struct cairn_watched *watched, const struct cairn_watch *watch, int64_t now);

/* What is known about how a process ended. */
struct cairn_watched_end {
	bool known;
	int status;     /* as wait(2) gives it */
	bool short_of_memory; /* the kernel killed somebody of its group for want of memory */
	bool reused;    /* another process has its number already */
};

/* Takes leave of a process that has ended: what is known about it, and a sentence. */
void cairn_watched_end(struct cairn_watched *watched, struct cairn_watched_end *end, char *sentence, size_t size);

/* Lets go of the process, whether it has ended or not. */
void cairn_watched_close(struct cairn_watched *watched);

#endif
