/* spool.h - a folder of snapshots that were accepted but are not in the store yet.
 *
 * A snapshot is on disk before its sender gets an answer, and is removed once the store has it. So nothing is lost if the collector or the
 * store is killed; a snapshot that was stored but not yet removed is stored again, which changes nothing. A file has the request's query on
 * its first line, the tenant on its second, and then the profile as it came.
 *
 * If the spool is *shared* by several tenants, each may fill it up to as much as is left free afterwards. So one tenant alone takes half of
 * it, two take a third each, and there is always room for one more.
 *
 * A file that kills the collector, for example by the memory that it needs, would be found again at the next start. So attempts to process
 * files are noted on disk (`.attempts`) before they begin, and the note is removed when they end, with or without success. A file that is
 * still noted when a spool is opened was being processed when the collector died: it is then tried alone, and after three attempts it is
 * set aside in the folder `.refused`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_SPOOL_H
#define CAIRN_FLEET_COLLECT_SPOOL_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"

#include <pthread.h>
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
	bool shared;      /* set after opening, if there are several tenants */
	_Atomic uint64_t bytes, files;
	pthread_mutex_t lock; /* for the part of each tenant */
	struct cairn_spool_part {
		uint64_t tenant; /* its number (store/snapshot.h) */
		uint64_t bytes;
	} *parts;
	size_t part_count, part_capacity;
	atomic_uint number; /* of the next file, part of its name */
	struct cairn_spool_attempt *attempts; /* of collectors that died */
	size_t attempt_count, attempt_capacity;
	_Atomic uint64_t set_aside; /* files, since the spool was opened */
};

/* Opens the folder PATH, which is created if missing, counts its files, and sets aside those that were attempted too often. Fails if
 * another collector uses the folder. */
bool cairn_spool_open(struct cairn_spool *spool, const char *path, uint64_t limit, struct cairn_error *error);
void cairn_spool_close(struct cairn_spool *spool);

/* Whether LENGTH more bytes of TENANT fit: if not, because the spool is full, or because the tenant has its share. Any thread may call it. */
enum cairn_spool_room { CAIRN_SPOOL_FITS, CAIRN_SPOOL_FULL, CAIRN_SPOOL_SHARE };
enum cairn_spool_room cairn_spool_room(struct cairn_spool *spool, struct cairn_bytes tenant, size_t length);

/* Writes a file and waits until it is on disk. Any thread may call it. */
bool cairn_spool_write(struct cairn_spool *spool, struct cairn_bytes query, struct cairn_bytes tenant, struct cairn_bytes body,
		       struct cairn_error *error);

/* Stores the names of up to MOST files in NAMES, the oldest of each tenant first, then the second of each; they live as long as ARENA.
 * Returns their number. A file that was attempted before is listed alone. */
size_t cairn_spool_list(const struct cairn_spool *spool, struct cairn_arena *arena, const char **names, size_t most);

/* Notes an attempt for each of the COUNT files in NAMES on disk, before work on them begins. Does not fail if the disk is full. */
void cairn_spool_begin(struct cairn_spool *spool, const char *const *names, size_t count);

/* Removes this attempt from the disk while the work waits for something else, so that the files are not blamed if the collector dies
 * meanwhile. Call cairn_spool_begin to continue. */
void cairn_spool_pause(struct cairn_spool *spool);

/* Removes all attempts for the files in NAMES: work on them has ended and did no harm. */
void cairn_spool_end(struct cairn_spool *spool, const char *const *names, size_t count);

/* When the file NAME was accepted, according to its name. */
int64_t cairn_spool_arrival(const char *name);

/* Removes a file. */
void cairn_spool_remove(struct cairn_spool *spool, const char *name);

/* Splits the TEXT of a file into its parts. */
bool cairn_spool_parse(struct cairn_bytes text, struct cairn_bytes *query, struct cairn_bytes *tenant, struct cairn_bytes *body);

#endif
