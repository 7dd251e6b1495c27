/* listing.h - lists all dumps of a folder, process by process, and chooses which to remove.
 *
 * A listing shows what the folder contains at that moment: only complete dumps, each with its own facts. The index avoids reading files
 * again; if it is missing, damaged or out of date, only time is lost. It is used only if nobody else can have written it: it must be owned
 * by this user, in a folder that only this user and root can change. In a folder that everybody can write to, other users' files are left
 * out.
 *
 * The first, the highest and the newest dump of a process tell its story: the beginning, the worst, and the end. They are kept for every
 * running process, and for the eight that ended last. Of the rest, the dumps with the closest neighbours in time are removed first, so that
 * those left are spread over the whole life of the process. Truncated dumps are not listed, but they take up space: they count, and are
 * removed before all others.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LISTING_H
#define CAIRN_DUMP_LISTING_H

#include "base/error.h"
#include "dump/dump.h"

#define CAIRN_INDEX_NAME ".cairn-index"

/* The limits of a folder; 0 is no limit. */
struct cairn_folder_limits {
	uint64_t count;       /* of dumps */
	uint64_t bytes;       /* of all dumps together */
	uint64_t age_seconds; /* of a dump */
	uint64_t free_bytes;  /* to be left free on the disk; CAIRN_FREE_DEFAULT for a twentieth of it, at most 1 GiB */
	/* The process whose dumps alone are counted and removed, where the folder is not Cairn's own; all zeroes for the dumps of all. */
	struct cairn_life owner;
};

#define CAIRN_FREE_DEFAULT UINT64_MAX

/* The number of last moments kept for one service, the newest ones: a service that crashes repeatedly leaves no more than these. */
enum { CAIRN_LAST_MOMENTS_KEPT = 20 };

struct cairn_listing {
	struct cairn_dump *dumps; /* sorted by process (earliest start first), then by time */
	size_t count;
	uint64_t bytes;           /* of these dumps */
	size_t damaged;           /* number of truncated dumps, which follow in `dumps`, oldest first */
	uint64_t damaged_bytes;   /* of the truncated dumps */
	size_t unreadable;        /* files that cannot be opened, dumps or not */
	size_t of_others;         /* files of other users, dumps or not, in a folder that everybody can write to */
	bool trusted;             /* the index of this folder can be trusted */
	bool changed;             /* the index is out of date */
	struct cairn_buffer room; /* owned */
};

/* Reads the folder open as DESCRIPTOR. Returns false if it cannot be read or there is not enough memory. Free the listing in any case. */
bool cairn_listing_read(struct cairn_listing *listing, int descriptor, struct cairn_error *error);

void cairn_listing_free(struct cairn_listing *listing);

/* Marks with CAIRN_DUMP_DROP the dumps that must be removed to stay within LIMITS at NOW_NS and to free SPARE bytes more. Last moments
 * beyond the number that is kept go too, unless the limits are those of one process. */
void cairn_listing_plan(struct cairn_listing *listing, const struct cairn_folder_limits *limits, int64_t now_ns, uint64_t spare);

/* Removes the dumps marked with CAIRN_DUMP_DROP from the listing. */
void cairn_listing_forget_dropped(struct cairn_listing *listing);

/* Sorts the listing and marks first, highest, newest and alive. Reading does this; call it for listings made in another way. */
void cairn_listing_mark(struct cairn_listing *listing);

/* Calls SEE for each name in the folder open as DESCRIPTOR, including hidden ones; SEE may remove files. */
void cairn_listing_visit(int descriptor, void (*see)(void *context, const char *name), void *context);

/* Writes the listing as JSON (doc/formats.md), and as text for people, with times moved by UTC_OFFSET seconds. PATH is that of the
 * folder. */
void cairn_listing_json(const struct cairn_listing *listing, const char *path, struct cairn_buffer *out);
void cairn_listing_text(const struct cairn_listing *listing, const char *path, int utc_offset, struct cairn_buffer *out);

#endif
