/* moment.h - heap profiles of a tree of processes at one moment.
 *
 * A *member* is a process of the tree, whose memory is read repeatedly. A *shot* is a snapshot of one process, kept in an unnamed file,
 * so that nothing is left behind whatever happens to us. A *moment* is the shots that belong together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_RUN_MOMENT_H
#define CAIRN_LIVE_RUN_MOMENT_H

#include "base/buffer.h"
#include "process/life.h"
#include "process/memory.h"

enum { CAIRN_SHOTS = 64, CAIRN_MEMBERS = 1024 };

struct cairn_shot {
	int pid;
	char program[64];
	int descriptor;    /* of its file; read it by /proc/self/fd */
	uint64_t memory;   /* anonymous, when it was taken */
	int64_t taken_ns;  /* cairn_clock_ns */
};

/* All zeroes is an empty one. */
struct cairn_moment {
	struct cairn_shot shots[CAIRN_SHOTS];
	size_t count;
	uint64_t memory;  /* of all members then, with and without a shot */
	uint64_t sum;     /* the same with what they share counted once, to be shown */
	size_t processes; /* the number of those */
	int64_t time_ns;  /* since 1970 */
};

struct cairn_member {
	struct cairn_life life;
	char program[64];
	struct cairn_memory memory;
	uint64_t anonymous; /* at the last look */
	bool seen;          /* in the last list */
	bool tried;         /* to start its agent */
	bool studied, alone; /* its program was looked at; it can have no agent inside (attach/check.h) */
	int ledger;         /* of one that is alone; -1 for none so far */
};

struct cairn_members {
	struct cairn_member *items;
	size_t count, capacity;
	uint64_t anonymous; /* of all at the last look */
	struct cairn_buffer known; /* of cairn_tree_list */
	int helper; /* a child of ours that starts an agent, and is none of them; 0 for none so far */
	bool helps; /* those that are alone get an agent beside them, */
	int served; /* unless they have one: this process */
	struct cairn_moment *ends; /* where their last snapshots go; NULL for nowhere */
};

/* Finds all that descends from process ROOT. Takes a look at every process of the machine. */
void cairn_members_list(struct cairn_members *members, int root);
/* Reads their memory; those that have ended are dropped. */
void cairn_members_look(struct cairn_members *members, int64_t now);
void cairn_members_free(struct cairn_members *members);

/* Takes the last shot of process PID, which has ended, from its ledger, if that was kept. */
void cairn_members_end(struct cairn_members *members, int pid);

/* Takes a shot of each member with an agent, those with the most memory first, within PATIENCE_MS in total. Replaces the earlier shots of
 * MOMENT, unless no shot could be taken: then it stays unchanged, and false is returned. */
bool cairn_moment_take(struct cairn_moment *moment, struct cairn_members *members, int patience_ms);

/* Adds what process PID sent as DESCRIPTOR, which remains the caller's, in place of an earlier shot: a snapshot or, with IS_LEDGER, its
 * ledger, from which one is made. */
void cairn_moment_add(struct cairn_moment *moment, const struct cairn_members *members, int pid, int descriptor, bool is_ledger);

/* Drops the shots that were taken before NS. */
void cairn_moment_forget(struct cairn_moment *moment, int64_t ns);
void cairn_moment_free(struct cairn_moment *moment);

#endif
