/* bill.h - resident memory, split until it adds up.
 *
 * Two sides count the same memory. The kernel knows which pages are there and what kind of mapping each is in, but not what
 * the allocator keeps in them; jemalloc knows what it has handed out, cached and kept, but not whether those pages
 * were ever touched. The bill starts from the kernel's side: every line is part of some kind of mapping, and the allocator's
 * mappings, told from others as process/smaps.h says, are split by jemalloc's numbers. Where jemalloc counts more than is
 * resident, the difference was never touched (or is swapped out) and is taken off where that is likeliest: pages kept for sampled objects,
 * the allocator's own tables, and large objects, before anything small that a program was handed; where it counts
 * less, what is left over is other anonymous memory as far as the allocator's mappings are larger than it says, huge
 * pages that reach into memory it has given back, or else the rest, which nothing explains. So no line is negative, all
 * lines add up to the total, and the rest is a measure of how far the two sides agree.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_BILL_H
#define CAIRN_SERIES_BILL_H

#include "dump/trailer.h"
#include "process/smaps.h"
#include "profile/profile.h"

enum cairn_bill_line {
	CAIRN_BILL_LIVE,
	CAIRN_BILL_BEFORE,
	CAIRN_BILL_SLACK,
	CAIRN_BILL_SAMPLED,
	CAIRN_BILL_CACHE,
	CAIRN_BILL_FAST,
	CAIRN_BILL_UNUSED,
	CAIRN_BILL_FREE,
	CAIRN_BILL_TOP,
	CAIRN_BILL_DIRTY,
	CAIRN_BILL_MUZZY,
	CAIRN_BILL_RETAINED,
	CAIRN_BILL_METADATA,
	CAIRN_BILL_HEAP,
	CAIRN_BILL_ARENA,
	CAIRN_BILL_MAPPED,
	CAIRN_BILL_ANONYMOUS,
	CAIRN_BILL_STACK,
	CAIRN_BILL_DATA,
	CAIRN_BILL_FILE,
	CAIRN_BILL_SHARED,
	CAIRN_BILL_LEDGER,
	CAIRN_BILL_KERNEL,
	CAIRN_BILL_REST,
	CAIRN_BILL_LINES,
};

/* An allocator that is not jemalloc, or whose jemalloc cannot be asked. */
enum cairn_bill_malloc { CAIRN_BILL_NO_MALLOC, CAIRN_BILL_GLIBC, CAIRN_BILL_TCMALLOC, CAIRN_BILL_MIMALLOC, CAIRN_BILL_OTHER };

/* What the bill is made from. */
struct cairn_bill_facts {
	struct cairn_smaps smaps;
	uint64_t rss; /* as the kernel counts it for the process as a whole; 0 when not known */
	bool no_statistics; /* jemalloc was built without any */
	bool has_allocator; /* jemalloc's statistics are known: */
	uint64_t large; /* of `allocated`, what is in large extents */
	uint64_t allocated, active, mapped, retained, resident, base, internal, cache, dirty, muzzy, page;
	bool has_classes; /* what was asked for is known (prof_stats:true): */
	double slack;       /* the part of live objects that nobody asked for */
	double slack_pages; /* the part of it that is whole pages, touched only by who looks beyond what he asked for */
	bool has_profile;
	uint64_t before; /* what the process had when sampling was switched on, if that was long after it began; else 0 */
	double profile_bytes, profile_error; /* its estimate of live objects, and the standard deviation of that */
	/* A sampled small object has pages to itself: how much they are, how much of that is touched, how much is the objects. */
	double sampled_count, sampled_size, sampled_touched, sampled_objects;
	/* Another allocator, and what it counts where it was asked; its live objects are the profile's where it was not. */
	enum cairn_bill_malloc malloc;
	bool has_malloc;
	struct {
		uint64_t system;    /* what it has of the system, without what it mapped for single large objects */
		uint64_t physical;  /* the same less what it has given back, and with its own tables */
		uint64_t used;      /* in objects */
		uint64_t cache;     /* in caches of threads and between them */
		uint64_t fast;      /* in fast bins, which only glibc has */
		uint64_t free;      /* kept */
		uint64_t top;       /* of that, what is free at the ends of arenas, and was often never touched */
		uint64_t arenas;    /* how many it has; 0 when not known */
		uint64_t unmapped;  /* given back; address space only */
		uint64_t mapped;    /* for single large objects */
	} counts;
	bool has_apart;       /* smaps counts what the service mapped itself apart; else, from the profile: */
	double mapped_bytes;  /* private memory that the service mapped itself, resident or not; 0 when not known */
	double break_bytes;   /* the same of what it got by brk */
	double profile_slack; /* what live objects can hold beyond what was requested, by the profile */
};

struct cairn_bill {
	uint64_t total;
	uint64_t lines[CAIRN_BILL_LINES];
	bool has_allocator, has_classes;
	/* Beside it: not resident. */
	uint64_t retained;  /* address space the allocator keeps */
	uint64_t untouched; /* handed out or kept by the allocator, but never touched */
	uint64_t swap;
	uint64_t hugetlb;   /* resident, but charged elsewhere */
	/* How much of the allocator's lines may be other anonymous memory instead; 0 when they can be distinguished. */
	uint64_t uncertain;
};

/* Takes what TRAILER knows. False, with a sentence, where it does not know the kernel's side; the allocator's, if known, is filled all the
 * same. */
bool cairn_bill_facts_read(struct cairn_bill_facts *facts, const struct cairn_trailer *trailer, struct cairn_error *error);

/* Takes the figures of an allocator that is not jemalloc from TRAILER, which the agent writes for whoever asks for them alone. */
void cairn_bill_facts_malloc(struct cairn_bill_facts *facts, const struct cairn_trailer *trailer);

/* Adds what PROFILE, of the same instant, estimates. TRAILER may be NULL. */
void cairn_bill_facts_profile(struct cairn_bill_facts *facts, const struct cairn_profile *profile, const struct cairn_trailer *trailer);

/* What the program holds, touched or not, as the allocator counts it: what a profile should show. */
uint64_t cairn_bill_live(const struct cairn_bill_facts *facts);

/* Any numbers give a bill that adds up. */
void cairn_bill_make(struct cairn_bill *bill, const struct cairn_bill_facts *facts);

/* What a line is called in JSON, and by people; and whether it is the allocator's. */
const char *cairn_bill_key(enum cairn_bill_line line);
const char *cairn_bill_name(enum cairn_bill_line line);
bool cairn_bill_is_allocator(enum cairn_bill_line line);

#endif
