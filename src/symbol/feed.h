/* feed.h - the units that contain an address of a batch, one after the other.
 *
 * They come in the order of .debug_info, in which it is also decompressed, so that walking and decompression proceed in parallel. The
 * feed finds units by .debug_aranges; only if some address is not in there does it go through the units themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FEED_H
#define CAIRN_SYMBOL_FEED_H

#include "symbol/aranges.h"

struct cairn_feed;

/* Some of the sorted addresses: COUNT of them, starting at FIRST. */
struct cairn_span {
	size_t first;
	size_t count;
};

/* A unit with its root read, which is held, and the sorted places of the addresses that may be in it. All zeroes is none; each thread has
 * its own, and frees it with cairn_job_free. */
struct cairn_job {
	struct cairn_unit unit;
	size_t *places;
	size_t count, capacity;
	struct cairn_span placed; /* all of PLACES, if that is one span */
	/* The same before sorting: in any order, possibly overlapping. */
	struct cairn_span *spans;
	size_t span_count, span_capacity;
};

/* A feed over the units of DWARF for ADDRESSES, which are sorted and borrowed. Free with cairn_feed_free. */
struct cairn_feed *cairn_feed_new(struct cairn_dwarf *dwarf, const uint64_t *addresses, size_t count);
void cairn_feed_free(struct cairn_feed *feed);

/* Makes JOB the next unit, for the caller to release (cairn_unit_release); returns false after the last. Any thread may call it, with its
 * own cache. */
bool cairn_feed_next(struct cairn_feed *feed, struct cairn_job *job, struct cairn_abbrev_cache *cache);

void cairn_job_free(struct cairn_job *job);

#endif
