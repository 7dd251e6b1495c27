/* folder.h - the dump folder: files that are complete or absent, kept within limits, never replacing an older one.
 *
 * A folder is a path and limits; nothing is kept open between calls: others may remove, replace or fill it at any time, and any number of
 * processes may use it at once. A dump is written under a temporary name that is locked while its writer lives, flushed, and renamed, so
 * that it is complete under its name or absent, whatever happens to the process or the machine. An urgent one is renamed first; a power
 * failure may then truncate it, and it is not listed. Files that a killed writer of this user left behind are recognized by their missing
 * lock, and removed. After every dump the folder is thinned and its index is rewritten (see listing.h).
 *
 * Whatever an index or a listing says, a file is removed only after its own first bytes were read and are those of a dump.
 *
 * No call allocates from the heap: all memory is pages that are released before it returns. Any thread may call.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_FOLDER_H
#define CAIRN_DUMP_FOLDER_H

#include "dump/listing.h"

struct cairn_folder {
	char path[300];
	struct cairn_folder_limits limits;
	bool must_exist; /* not created if it is missing */
	unsigned mode;   /* of new dumps; 0 for 0600 */
};

/* Facts about a dump that it may not contain itself. All of them are optional. */
struct cairn_folder_facts {
	struct cairn_life process; /* the process that was dumped; for a dump without a trailer */
	int64_t time_ns;           /* when it was taken, since 1970; 0 for now; for a dump without a trailer */
	uint64_t memory;           /* anonymous memory of the process, in bytes; 0 for what the trailer says */
	const char *reason;        /* the reason: one word for the trigger, then details, such as "grow 20 MiB in 93 s"; NULL for none */
	bool urgent;               /* the process may be killed at any moment: the dump is renamed before the disk has it */
};

/* Sets FOLDER's path, which is copied. Returns false if it is too long. The folder need not exist. */
bool cairn_folder_set(struct cairn_folder *folder, const char *path, const struct cairn_folder_limits *limits, struct cairn_error *error);

/* Writes DUMP under NAME, with memory and reason added to its trailer (or a new trailer), then thins the folder. Creates the folder if it
 * is missing and its parent exists. Refuses, with the reason, if too little space would be left on the disk and thinning does not help;
 * errno is EEXIST if NAME is taken. */
bool cairn_folder_write(const struct cairn_folder *folder, const char *name, struct cairn_bytes dump,
			const struct cairn_folder_facts *facts, struct cairn_error *error);

/* Copies the folder of PATH to OUT, "." if it has none; "" and false with errno if it does not fit. */
bool cairn_folder_of(const char *path, char *out, size_t size);

/* Writes BYTES to any PATH in the same way: completely or not at all, without replacing a file; creates, thins and indexes no folder. */
bool cairn_folder_write_file(const char *path, struct cairn_bytes bytes, struct cairn_error *error);

/* Lists all complete dumps there. Free LISTING in any case. */
bool cairn_folder_list(const struct cairn_folder *folder, struct cairn_listing *listing, struct cairn_error *error);

/* Calls SEE for each name in the folder that is not hidden, dump or not. */
bool cairn_folder_visit(const struct cairn_folder *folder, void (*see)(void *context, const char *name), void *context,
			struct cairn_error *error);

/* Opens the heap dump NAME of the folder, which contains no path; -1 with the reason, also for any other file. Close it with
 * cairn_descriptor_close. */
int cairn_folder_open_file(const struct cairn_folder *folder, const char *name, struct cairn_error *error);

/* Removes the heap dump NAME; no other file. */
bool cairn_folder_remove(const struct cairn_folder *folder, const char *name, struct cairn_error *error);

/* Removes the dumps of PROCESS whose name MATCHES, which were written for REASON according to their own trailer, and which belong to this
 * user. Returns their number. */
size_t cairn_folder_remove_own(const struct cairn_folder *folder, const struct cairn_life *process, const char *reason,
			       bool (*matches)(const char *name));

/* Registers dumps that others wrote, removes those beyond the limits (and more if the disk has too little space) and files of dead
 * writers, and updates the index. REMOVED, if not NULL, receives the number of removed dumps. */
bool cairn_folder_thin(const struct cairn_folder *folder, size_t *removed, struct cairn_error *error);

#endif
