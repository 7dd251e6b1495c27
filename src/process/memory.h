/* memory.h - the memory of a process and its limits, from /proc and control groups, read without allocating.
 *
 * Values that change quickly (the process's own memory) take one pread of a descriptor that stays open; values that change rarely
 * (limits, pressure, events, the group itself) are read again every two seconds, once for all processes of a group if they share a
 * cairn_memory_groups. The open descriptor also identifies the process: once
 * that process has ended, the kernel returns nothing through it, even if the PID has been reused.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_MEMORY_H
#define CAIRN_PROCESS_MEMORY_H

#include "base/error.h"

#include <stdint.h>

/* How often the process's group has reached its limits since the group was created. */
struct cairn_memory_events {
	uint64_t high, max, oom, oom_kill;
};

struct cairn_memory_reading {
	uint64_t anonymous;      /* the process's own memory: heap, stacks and private pages (RssAnon) */
	uint64_t resident;       /* with files and shared memory (VmRSS) */
	uint64_t limit;          /* the tightest of all groups above the process and of the machine; 0 when unknown */
	bool limit_of_group;     /* the limit is a control group's */
	bool limit_is_told;      /* the limit was configured, and is lower than the others; set by the caller */
	uint64_t usage;          /* the memory charged to the group of the limit, including page cache; 0 if the limit is the machine's */
	uint64_t host_total;
	uint64_t host_available;
	double pressure;         /* share of the last ten seconds in which a process waited for memory; 0 if it cannot be read */
	struct cairn_memory_events events;
	uint64_t allocated;      /* allocated since the start, freed or not; filled in by callers that can ask jemalloc; 0 if unknown */
};

enum { CAIRN_MEMORY_PATH = 512 };

/* Lets this process open as many files as the system allows, for whoever reads many processes. Not inside somebody else's process, and
 * after the start of one that is to keep its own limit. */
void cairn_memory_raise_file_limit(void);

/* What the groups of processes last said, so that processes of one group ask the kernel once. All zeroes is empty. For one thread. */
struct cairn_memory_groups {
	struct cairn_memory_group {
		uint64_t membership; /* 0 for an empty row */
		int64_t refreshed_ns;
		size_t limiting;
		struct cairn_memory_reading slow;
	} rows[64];
};

/* One process that is read repeatedly. It holds up to three descriptors: whoever has many calls cairn_memory_raise_file_limit. */
struct cairn_memory {
	const char *root;      /* prefix of /proc; borrowed */
	int pid;               /* 0 for this process */
	int statm, events, pressure;
	bool version_one;      /* of the groups */
	char group[CAIRN_MEMORY_PATH]; /* folder of the process's group; "" if it has none */
	size_t mount;          /* length of the mount point in it */
	size_t limiting;       /* length of the folder of the group that has the limit; 0 if none has */
	int64_t refreshed_ns;
	struct cairn_memory_reading slow; /* the values read at that time */
	uint64_t membership;   /* a hash of the process's groups in /proc */
	uint64_t group_kills, host_kills; /* OOM kills when it was opened */
	struct cairn_memory_groups *groups; /* shared by all that one thread reads; borrowed; NULL for none, which is as it is opened */
};

/* Opens process PID; 0 is the calling process, which must then be read on the thread that opened it. ROOT is "" except in tests. Fails if
 * there is no such process or no free descriptor. */
bool cairn_memory_open(struct cairn_memory *memory, const char *root, int pid, struct cairn_error *error);

/* Reads its memory at the monotonic time NOW. Returns false once the process has ended (or is a zombie). */
bool cairn_memory_read(struct cairn_memory *memory, int64_t now, struct cairn_memory_reading *reading);

/* Whether the OOM killer has killed a process of the group since it was opened. For a process that has ended. */
bool cairn_memory_was_short(const struct cairn_memory *memory);

/* How much of the usage of the group that has the limit is page cache, which the kernel drops before it kills; 0 if unknown. Not for every
 * reading: the kernel adds it up from all processors. */
uint64_t cairn_memory_cache(const struct cairn_memory *memory);

/* How much more memory the process can use: what the tightest of its groups, or the machine, has left, including page cache that the
 * kernel can drop at once. */
uint64_t cairn_memory_left(struct cairn_memory *memory);

void cairn_memory_close(struct cairn_memory *memory);

/* What of ANONYMOUS, the anonymous memory of process PID, counts in a sum with other processes: pages that it shares with them since a fork
 * count in part (Pss_Anon of smaps_rollup). All of it where the kernel does not say. Takes the kernel about 10 ms for each GiB. */
uint64_t cairn_memory_in_sum(int pid, uint64_t anonymous);

/* How many processes the OOM killer has killed in the group whose folder is GROUP. Returns false if the kernel does not say. */
bool cairn_memory_group_kills(const char *group, uint64_t *kills);

#endif
