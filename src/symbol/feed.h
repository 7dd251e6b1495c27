/* feed.h - the units that some address of a batch is in, one after the other.
 *
 * They come in the order of .debug_info, which is the order in which it is unpacked when it is compressed: walking and
 * unpacking go on side by side. The feed knows units by .debug_aranges; only when some address is not in there does it go
 * through the units themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FEED_H
#define CAIRN_SYMBOL_FEED_H

#include "symbol/aranges.h"

struct cairn_feed;

/* Some of the sorted addresses: COUNT of them from FIRST on. */
struct cairn_span {
	size_t first;
	size_t count;
};

/* A unit, its root read, and the places of the addresses that may be in it, sorted. All zeroes is none; each thread has its
 * own, and frees it by cairn_job_free. */
struct cairn_job {
	struct cairn_unit unit;
	size_t *places;
	size_t count, capacity;
	struct cairn_span placed; /* all that PLACES has, when that is one span */
	/* The same before it is sorted: in any order, and overlapping. */
	struct cairn_span *spans;
	size_t span_count, span_capacity;
};

/* A feed over the units of DWARF for ADDRESSES, which are sorted and borrowed. Free with cairn_feed_free. */
struct cairn_feed *cairn_feed_new(struct cairn_dwarf *dwarf, const uint64_t *addresses, size_t count);
void cairn_feed_free(struct cairn_feed *feed);

/* Makes JOB the next unit; false when there are no more. Any thread may call it, with a cache of its own. */
bool cairn_feed_next(struct cairn_feed *feed, struct cairn_job *job, struct cairn_abbrev_cache *cache);

void cairn_job_free(struct cairn_job *job);

#endif
