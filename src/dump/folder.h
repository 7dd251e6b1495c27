/* folder.h - the dump folder: files that are complete or not there, kept within limits, never over an older one.
 *
 * A folder is a path and limits, nothing is held open between calls: it may be removed, replaced or filled up by others at
 * any time, and any number of processes may use it at once. A dump is written under a temporary name that is locked while
 * its writer lives, flushed, and renamed, so that it is whole under its name or not there, whatever happens to the process or
 * the machine. An urgent one is renamed first; a power failure may then cut it short, and it is not listed. What a killed
 * writer of this user's left behind is recognised by the lock it no longer holds, and removed. After every dump the folder is
 * thinned and its index written anew (see listing.h).
 *
 * Whatever an index or a listing says, a file is removed only after its own first bytes were read and are those of a dump.
 *
 * No call allocates from the heap: all memory is pages that are given back before it returns. Any thread may call.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_FOLDER_H
#define CAIRN_DUMP_FOLDER_H

#include "dump/listing.h"

struct cairn_folder {
	char path[300];
	struct cairn_folder_limits limits;
	bool must_exist; /* not made where it is missing */
	unsigned mode;   /* of new dumps; 0 for 0600 */
};

/* What is known about a dump that it may not say itself. All of it may be left out. */
struct cairn_folder_facts {
	struct cairn_life process; /* whose dump it is; for one without a trailer */
	int64_t time_ns;           /* when it was taken, since 1970; 0 for now; for one without a trailer */
	uint64_t memory;           /* anonymous memory of the process, in bytes; 0 for what the trailer says */
	const char *reason;        /* why: one word for the trigger, then details if any, such as "grow 20 MiB in 93 s"; NULL for none */
	bool urgent;               /* the process may be killed any moment: the dump gets its name before the disk has it */
};

/* Says what FOLDER is and where: PATH is copied. False when it is too long. The folder need not be there. */
bool cairn_folder_open(struct cairn_folder *folder, const char *path, const struct cairn_folder_limits *limits, struct cairn_error *error);

/* Writes DUMP under NAME, with memory and reason added to its trailer (one of its own where it has none), then thins the
 * folder. Makes the folder where it is missing and its parent is there. Refuses, with the reason, when the disk would be left
 * with less than is to stay free and thinning does not help; errno is EEXIST when NAME is taken. */
bool cairn_folder_write(const struct cairn_folder *folder, const char *name, struct cairn_bytes dump,
			const struct cairn_folder_facts *facts, struct cairn_error *error);

/* The folder of PATH into OUT, "." when it names none; "" and false with errno when it does not fit. */
bool cairn_folder_of(const char *path, char *out, size_t size);

/* Writes BYTES to PATH, anywhere, in the same way: whole or not at all and over nothing; no folder is made, thinned or indexed. */
bool cairn_folder_write_file(const char *path, struct cairn_bytes bytes, struct cairn_error *error);

/* All complete dumps there. Free LISTING in any case. */
bool cairn_folder_list(const struct cairn_folder *folder, struct cairn_listing *listing, struct cairn_error *error);

/* Calls SEE for each name in the folder that is not hidden, dump or not. */
bool cairn_folder_visit(const struct cairn_folder *folder, void (*see)(void *context, const char *name), void *context,
			struct cairn_error *error);

/* Opens the heap dump NAME of the folder, which has no path in it; -1 with the reason, also for any other file. Close it by
 * cairn_descriptor_close. */
int cairn_folder_open_file(const struct cairn_folder *folder, const char *name, struct cairn_error *error);

/* Removes the heap dump NAME; no other file. */
bool cairn_folder_remove(const struct cairn_folder *folder, const char *name, struct cairn_error *error);

/* Removes the dumps of PROCESS with a name that MATCHES which say themselves that they were written for REASON and belong to
 * this user. Returns how many went. */
size_t cairn_folder_remove_own(const struct cairn_folder *folder, const struct cairn_life *process, const char *reason,
			       bool (*matches)(const char *name));

/* Takes in what others wrote, removes what is past the limits (where less is free than should be, more of it) and what dead
 * writers left, and brings the index up to date.
 * REMOVED, when asked for, receives how many dumps went. */
bool cairn_folder_thin(const struct cairn_folder *folder, size_t *removed, struct cairn_error *error);

#endif
