/* spool.h - a folder of snapshots that were accepted and are not in the store yet.
 *
 * What was accepted is on disk before its sender hears so, and is removed once the store has it. So nothing is lost when the collector or
 * the store is killed; what was stored and not yet removed is stored again, which changes nothing. A file holds the request's query on its
 * first line, the tenant on its second, and then the profile as it came.
 *
 * A file that kills the collector, as by the memory that it takes, would be found again at the next start. So work on files is announced on
 * disk (`.attempts`) before it begins and called off when it ends, well or not. What is still announced when a spool is opened was being
 * worked on when the collector died: such a file is then tried alone, and after three attempts it is set aside, into the folder `.refused`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_SPOOL_H
#define CAIRN_CMD_COLLECT_SPOOL_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"

#include <stdatomic.h>

enum { CAIRN_SPOOL_ATTEMPTS = 3, CAIRN_SPOOL_NAME = 64 };

/* A file on which work began and did not end. */
struct cairn_spool_attempt {
	char name[CAIRN_SPOOL_NAME];
	unsigned count;
};

struct cairn_spool {
	int folder;
	const char *path; /* borrowed */
	uint64_t limit;   /* of all files together */
	_Atomic uint64_t bytes, files;
	atomic_uint number; /* of the next file, beside its time */
	struct cairn_spool_attempt *attempts; /* of earlier lives of the collector */
	size_t attempt_count, attempt_capacity;
	_Atomic uint64_t set_aside; /* files, since the spool was opened */
};

/* Opens the folder PATH, which is made if it is not there, counts what is in it, and sets aside what was attempted too often. Another
 * collector must not have it. */
bool cairn_spool_open(struct cairn_spool *spool, const char *path, uint64_t limit, struct cairn_error *error);
void cairn_spool_close(struct cairn_spool *spool);

/* Whether LENGTH more bytes fit. */
bool cairn_spool_has_room(const struct cairn_spool *spool, size_t length);

/* Writes a file, to the disk. Any thread. */
bool cairn_spool_write(struct cairn_spool *spool, struct cairn_bytes query, struct cairn_bytes tenant, struct cairn_bytes body,
		       struct cairn_error *error);

/* The names of up to MOST files, the oldest first, in NAMES; they live as long as ARENA. Returns how many. A file that was attempted before
 * comes alone. */
size_t cairn_spool_list(const struct cairn_spool *spool, struct cairn_arena *arena, const char **names, size_t most);

/* Work on the COUNT files in NAMES begins: counts an attempt of each, on the disk. A disk that is full holds nothing up. */
void cairn_spool_begin(struct cairn_spool *spool, const char *const *names, size_t count);

/* It waits for somebody else, and is not to blame for an end meanwhile: as before this attempt, on the disk. It goes on with another
 * call of cairn_spool_begin. */
void cairn_spool_pause(struct cairn_spool *spool);

/* It has ended: they have done no harm. */
void cairn_spool_end(struct cairn_spool *spool, const char *const *names, size_t count);

/* When the file NAME came, however long ago: reading it twice gives the same. */
int64_t cairn_spool_arrival(const char *name);

/* Removes a file. */
void cairn_spool_remove(struct cairn_spool *spool, const char *name);

/* Takes a file's TEXT apart. */
bool cairn_spool_parse(struct cairn_bytes text, struct cairn_bytes *query, struct cairn_bytes *tenant, struct cairn_bytes *body);

#endif
