/* memory.h - how much memory a process has and how much it may have: /proc and its control groups, read without allocating.
 *
 * What changes quickly (the process's own memory) is one pread of a descriptor that stays open; what changes rarely (limits,
 * pressure, events, the group itself) is read again every two seconds. The open descriptor also is the process's identity:
 * the kernel answers nothing through it once that very process has ended, whoever has its number by then.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_MEMORY_H
#define CAIRN_PROCESS_MEMORY_H

#include "base/error.h"

#include <stdint.h>

/* How often the group of a process ran into its limits, since the group was made. */
struct cairn_memory_events {
	uint64_t high, max, oom, oom_kill;
};

struct cairn_memory_reading {
	uint64_t anonymous;      /* the process's own memory: heap, stacks and private pages (RssAnon) */
	uint64_t resident;       /* with files and shared memory (VmRSS) */
	uint64_t limit;          /* the tightest of all groups above the process and of the machine; 0 when unknown */
	bool limit_of_group;     /* it is a control group's */
	bool limit_is_told;      /* it is what somebody said, and lower; set by who was told */
	uint64_t usage;          /* what is charged to the group of the limit, page cache and all; 0 when it is the machine's */
	uint64_t host_total;
	uint64_t host_available;
	double pressure;         /* share of the last ten seconds in which somebody waited for memory; 0 where it cannot be read */
	struct cairn_memory_events events;
	uint64_t allocated;      /* by malloc since the start, freed or not; filled in by who can ask jemalloc, 0 when unknown */
};

enum { CAIRN_MEMORY_PATH = 512 };

/* One process that is looked at again and again. Who keeps many raises RLIMIT_NOFILE: it holds up to three descriptors. */
struct cairn_memory {
	const char *root;      /* before /proc; borrowed */
	int pid;               /* 0 for this process */
	int statm, events, pressure;
	bool version_one;      /* of the groups */
	char group[CAIRN_MEMORY_PATH]; /* folder of the process's group; "" where there is none */
	size_t mount;          /* how much of it is the mount point */
	int64_t refreshed_ns;
	struct cairn_memory_reading slow; /* what was read then */
	uint64_t membership;   /* a hash of what /proc says of its groups */
	uint64_t group_kills, host_kills; /* OOM kills, when opened */
};

/* Begins with process PID; 0 is the calling one, to be read on the thread that opened it. ROOT is "" but in tests. Fails where there
 * is no such process, or no descriptor left. */
bool cairn_memory_open(struct cairn_memory *memory, const char *root, int pid, struct cairn_error *error);

/* Its memory at the monotonic time NOW. False once the process has ended (a zombie has, too). */
bool cairn_memory_read(struct cairn_memory *memory, int64_t now, struct cairn_memory_reading *reading);

/* Whether the OOM killer has killed a process of the group since the beginning. For a process that has ended. */
bool cairn_memory_was_short(const struct cairn_memory *memory);

/* How much more the process may take: what the tightest of its groups, or the machine, has left, with the page cache that the kernel can
 * drop at once. */
uint64_t cairn_memory_left(struct cairn_memory *memory);

void cairn_memory_close(struct cairn_memory *memory);

/* How many processes the OOM killer has killed in the group whose folder is GROUP. False when the kernel does not say. */
bool cairn_memory_group_kills(const char *group, uint64_t *kills);

#endif
