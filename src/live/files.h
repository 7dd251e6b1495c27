/* files.h - finds the dump files that the user named: files, folders, standard input.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_FILES_H
#define CAIRN_LIVE_FILES_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "dump/name.h"

struct cairn_dump_file {
	const char *path; /* "-" is standard input; a PID, socket or URL a live process */
	int64_t time_ns; /* when it was taken: as the dump records it, else cairn_files_date; always the latter in a list of one */
	struct cairn_dump_name name;
	bool named; /* NAME is filled: the file has a name as jemalloc gives its dumps */
	struct cairn_bytes prefix;  /* of its name, without folders; empty if it is named otherwise */
	struct cairn_bytes program; /* the name that it publishes, else that of its file; empty if unknown */
	struct cairn_bytes started; /* the name that the program was started by, as that of a link to it; empty if unknown */
};

/* All zeroes is an empty list. */
struct cairn_dump_files {
	struct cairn_dump_file *items;
	size_t count, capacity;
	struct cairn_arena arena;
	bool listed_before; /* so that notes about what is left out have been printed */
};

/* Adds the files of NAMES to LIST: files as they are, and the files of folders that begin like a profile. NAMES outlive the list. Fails
 * with a message about the first that cannot be read, or if there is none. */
bool cairn_files_list(struct cairn_dump_files *list, int count, char **names, struct cairn_error *error);

/* Keeps only the dumps of service NAME in LIST: those of a program of that name or started by it, or of files with that prefix; all
 * if NAME is NULL. If there are none, fails with a message that lists the services. */
bool cairn_files_keep_service(struct cairn_dump_files *list, const char *name, struct cairn_error *error);

/* When a dump at PATH that does not record it was taken, in nanoseconds since 1970: from its name, else MODIFIED_NS. */
int64_t cairn_files_date(const char *path, int64_t modified_ns);

/* The newest dump of a list that is not empty. If there are several, a note says which it is and which services there are and, if they
 * MAY_SUM, how to see all of them or those of another service. */
const struct cairn_dump_file *cairn_files_newest(const struct cairn_dump_files *list, bool may_sum);

/* Removes the newest dumps from LIST until the newest one IS_WANTED, and returns how many it removed; none if no dump is wanted. */
size_t cairn_files_drop_newest(struct cairn_dump_files *list, bool (*is_wanted)(const char *path));

/* Appends the contents of the file at PATH ("-" is standard input) to OUT, decompressed if necessary. */
bool cairn_files_text(const char *path, struct cairn_buffer *out, struct cairn_error *error);

void cairn_files_free(struct cairn_dump_files *list);

#endif
