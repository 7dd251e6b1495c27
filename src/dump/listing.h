/* listing.h - all dumps of a folder, process by process, and which of them to give up.
 *
 * A listing is what the folder holds at that moment: complete dumps only, each with what it says of itself. The index saves
 * reading files that were read before; it may be missing, damaged or behind, and nothing but time is lost. It counts only where
 * nobody else can have written it: it is a file of this user's, in a folder that no one but this user and root can change.
 * In a folder that everybody can write to, other users' files are left out.
 *
 * The first, the highest and the newest dump of a process are what its story needs: where it began, the worst, and the end.
 * They are kept for every process that runs and for the eight that ended last. Of the rest those go first whose
 * neighbours in time are closest, so what stays is spread over the whole life of the process. Dumps that were cut short are not
 * listed, but they take room: they count, and go before all others.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LISTING_H
#define CAIRN_DUMP_LISTING_H

#include "base/error.h"
#include "dump/dump.h"

#define CAIRN_INDEX_NAME ".cairn-index"

/* How much a folder may hold; 0 is no limit. */
struct cairn_folder_limits {
	uint64_t count;       /* of dumps */
	uint64_t bytes;       /* of all together */
	uint64_t age_seconds; /* of a dump */
	uint64_t free_bytes;  /* that are to stay free on the disk; CAIRN_FREE_DEFAULT for a twentieth of it, at most 1 GiB */
};

#define CAIRN_FREE_DEFAULT UINT64_MAX

/* So many dumps of last moments of one service stay, the newest; a service that crashes again and again leaves no more. */
enum { CAIRN_LAST_MOMENTS_KEPT = 20 };

struct cairn_listing {
	struct cairn_dump *dumps; /* by process (those that began earlier first), then by time */
	size_t count;
	uint64_t bytes;           /* of these */
	size_t damaged;           /* so many more in `dumps`, behind them, that were cut short; the oldest first */
	uint64_t damaged_bytes;   /* of those */
	size_t unreadable;        /* files that may not be opened, dumps or not */
	size_t strangers;         /* files of other users, dumps or not, in a folder that everybody can write to */
	bool trusted;             /* the folder is one whose index counts */
	bool changed;             /* the index does not say the same */
	struct cairn_buffer room; /* owned */
};

/* Reads the folder open as DESCRIPTOR. False when it cannot be read or there is no memory. Free the listing in any case. */
bool cairn_listing_read(struct cairn_listing *listing, int descriptor, struct cairn_error *error);

void cairn_listing_free(struct cairn_listing *listing);

/* Marks with CAIRN_DUMP_DROP what must go to stay within LIMITS at NOW_NS and to give back SPARE bytes besides. */
void cairn_listing_plan(struct cairn_listing *listing, const struct cairn_folder_limits *limits, int64_t now_ns, uint64_t spare);

/* Takes the dumps marked with CAIRN_DUMP_DROP off the list. */
void cairn_listing_forget_dropped(struct cairn_listing *listing);

/* Sorts the listing and marks first, highest, newest and alive; part of reading, and for listings made otherwise. */
void cairn_listing_mark(struct cairn_listing *listing);

/* Calls SEE for each name in the folder open as DESCRIPTOR, hidden ones too; it may remove them. */
void cairn_listing_visit(int descriptor, void (*see)(void *context, const char *name), void *context);

/* The listing as JSON (doc/formats.md), and as a person reads it, with times moved by UTC_OFFSET seconds. PATH is the folder's. */
void cairn_listing_json(const struct cairn_listing *listing, const char *path, struct cairn_buffer *out);
void cairn_listing_text(const struct cairn_listing *listing, const char *path, int utc_offset, struct cairn_buffer *out);

#endif
