/* charge.h - what a control group is charged for, until it adds up: its processes, page cache by file, tmpfs by mount, and the kernel's own
 * memory. Groups of version 1 and 2; groups inside it are part of it.
 *
 * The kernel's counts are not of one instant, and version 2 charges in batches. So the lines are made to add up to the total: what is over
 * is taken from page cache first, what is missing is a line of its own. No line is negative.
 *
 * Who has which part of a line is known less exactly: a page of a file, or one that processes share, is charged to the group that touched
 * it first. Items never add up to more than their line; the rest belongs to no process that was found.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_CHARGE_H
#define CAIRN_LIVE_CHARGE_H

#include "base/arena.h"
#include "base/error.h"

enum cairn_charge_line {
	CAIRN_CHARGE_PROCESSES,  /* anonymous memory, pages that are shared since a fork once */
	CAIRN_CHARGE_LEFT,       /* anonymous memory of no process that is in the group */
	CAIRN_CHARGE_CACHE,      /* page cache */
	CAIRN_CHARGE_TMPFS,      /* files in tmpfs, memfds, and shared memory */
	CAIRN_CHARGE_SLAB,
	CAIRN_CHARGE_SOCKETS,
	CAIRN_CHARGE_PAGE_TABLES,
	CAIRN_CHARGE_STACKS,     /* the kernel's, one for each thread */
	CAIRN_CHARGE_KERNEL,     /* other memory of the kernel */
	CAIRN_CHARGE_REST,       /* charged in advance */
	CAIRN_CHARGE_LINES,
};

struct cairn_charge_item {
	const char *name; /* a process, a file, a mount */
	int pid;          /* of a process; else 0 */
	uint64_t bytes;
};

struct cairn_charge_items {
	struct cairn_charge_item *items; /* the largest first */
	size_t count, capacity;
};

struct cairn_charge {
	struct cairn_arena arena;
	const char *group; /* its folder */
	bool version_one;
	uint64_t total, limit; /* the limit of this group; 0 for none */
	uint64_t lines[CAIRN_CHARGE_LINES];
	struct cairn_charge_items items[CAIRN_CHARGE_LINES];
	size_t processes;
	uint64_t removed_groups; /* inside it, that are still charged for something; version 2 only */
	bool knows_files; /* the kernel says what is cached of a file (Linux 6.5) */
};

/* "page cache": for people, and "page_cache": for JSON. */
const char *cairn_charge_title(enum cairn_charge_line line);
const char *cairn_charge_name(enum cairn_charge_line line);

/* Of the group that process PID is in, or of the one whose folder is PATH. Free it in any case. */
bool cairn_charge_of_process(struct cairn_charge *charge, int pid, struct cairn_error *error);
bool cairn_charge_of_folder(struct cairn_charge *charge, const char *path, struct cairn_error *error);
/* The same of a folder, without the items of page cache and tmpfs, which take longer to find. */
bool cairn_charge_sums(struct cairn_charge *charge, const char *path, struct cairn_error *error);
void cairn_charge_free(struct cairn_charge *charge);

/* Of charge.c: adds an item; finds what page cache and tmpfs consist of, by the files that the COUNT processes PIDS have open, mapped and
 * mounted. */
void cairn_charge_add(struct cairn_charge *charge, enum cairn_charge_line line, const char *name, int pid, uint64_t bytes);
void cairn_charge_files(struct cairn_charge *charge, const int *pids, size_t count);

#endif
