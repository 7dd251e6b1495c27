/* moment.h - heap profiles of a tree of processes at one moment.
 *
 * A *member* is a process of the tree, whose memory is read repeatedly. A *shot* is a snapshot of one process, kept in an unnamed file,
 * so that nothing is left behind whatever happens to us. A *moment* is the shots that belong together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_RUN_MOMENT_H
#define CAIRN_CMD_RUN_MOMENT_H

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
};

struct cairn_members {
	struct cairn_member *items;
	size_t count, capacity;
	uint64_t anonymous; /* of all at the last look */
	struct cairn_buffer known; /* of cairn_tree_list */
};

/* Finds all that descends from process ROOT. Takes a look at every process of the machine. */
void cairn_members_list(struct cairn_members *members, int root);
/* Reads their memory; those that have ended are dropped. */
void cairn_members_look(struct cairn_members *members, int64_t now);
void cairn_members_free(struct cairn_members *members);

/* Takes a shot of each member with an agent, those with the most memory first, within PATIENCE_MS in total. Replaces the earlier shots of
 * MOMENT, unless no shot could be taken: then it stays unchanged, and false is returned. */
bool cairn_moment_take(struct cairn_moment *moment, struct cairn_members *members, int patience_ms);

/* Adds a snapshot that process PID sent as DESCRIPTOR, which remains the caller's, in place of an earlier one. */
void cairn_moment_add(struct cairn_moment *moment, const struct cairn_members *members, int pid, int descriptor);

/* Drops the shots that were taken before NS. */
void cairn_moment_forget(struct cairn_moment *moment, int64_t ns);
void cairn_moment_free(struct cairn_moment *moment);

#endif
