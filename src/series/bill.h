/* bill.h - breaks resident memory down into lines that add up.
 *
 * Two sides count the same memory. The kernel knows which pages are resident and in which kind of mapping, but not what the allocator keeps
 * in them; jemalloc knows what it has handed out, cached and kept, but not whether those pages were ever touched. The bill starts from the
 * kernel's side: every line is part of some kind of mapping, and the allocator's mappings, recognized as described in process/smaps.h, are
 * split by jemalloc's numbers.
 *
 * If jemalloc counts more than is resident, the difference was never touched (or is swapped out). It is subtracted where that is most
 * likely: from pages kept for sampled objects, the allocator's own tables, and large objects, before anything small that was handed to the
 * program. If jemalloc counts less, the surplus is other anonymous memory, as far as the allocator's mappings are larger than it says; then
 * huge pages that extend into memory it has returned; and finally the rest, which nothing explains. So no line is negative, all lines add
 * up to the total, and the rest measures how far the two sides agree.
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

/* An allocator other than jemalloc, or a jemalloc without statistics. WALKED stands for all heaps of the process together, where there are
 * others than libc's and a walk has counted them (heap/walk.h). */
enum cairn_bill_malloc {
	CAIRN_BILL_NO_MALLOC,
	CAIRN_BILL_GLIBC,
	CAIRN_BILL_TCMALLOC,
	CAIRN_BILL_MIMALLOC,
	CAIRN_BILL_WALKED,
	CAIRN_BILL_OTHER,
};

/* The input of the bill. */
struct cairn_bill_facts {
	struct cairn_smaps smaps;
	uint64_t rss; /* the kernel's count for the whole process; 0 when not known */
	bool no_statistics; /* jemalloc was built without statistics */
	bool has_allocator; /* jemalloc's statistics, which follow, are known */
	uint64_t large; /* the part of `allocated` in large extents */
	uint64_t allocated, active, mapped, retained, resident, base, internal, cache, dirty, muzzy, page;
	bool has_classes; /* requested sizes, which follow, are known (prof_stats:true) */
	double slack;       /* the share of live bytes beyond those requested */
	double slack_pages; /* the share that consists of whole pages; touched only by programs that use more than they requested */
	bool has_profile;
	uint64_t before; /* memory of the process when sampling was switched on; 0 if that was at its start */
	double profile_bytes, profile_error; /* the profile's estimate of live objects, and its standard deviation */
	/* A sampled small object has its own pages: their size, the touched part of it, and the size of the objects themselves. */
	double sampled_count, sampled_size, sampled_touched, sampled_objects;
	/* Another allocator, and its own counts if they are known; otherwise the profile gives its live objects. */
	enum cairn_bill_malloc malloc;
	bool has_malloc;
	struct {
		uint64_t system;    /* obtained from the system, without mappings for single large objects */
		uint64_t physical;  /* the same minus returned memory, plus its own tables; of WALKED, what is resident */
		uint64_t used;      /* in objects */
		uint64_t cache;     /* in thread caches */
		uint64_t central;   /* free in tcmalloc's central and transfer lists, from which threads fill their caches */
		uint64_t fast;      /* in fast bins, which only glibc has */
		uint64_t free;      /* kept */
		uint64_t top;       /* the part of `free` at the ends of arenas, which was often never touched */
		uint64_t arenas;    /* number of arenas; 0 when not known */
		uint64_t unmapped;  /* returned; only address space */
		uint64_t mapped;    /* for single large objects */
	} counts;
	bool has_apart;       /* smaps counts separately what the service mapped itself; otherwise the profile gives: */
	double mapped_bytes;  /* private memory that the service mapped itself, resident or not; 0 when not known */
	double break_bytes;   /* the same for memory obtained with brk */
	double profile_slack; /* usable bytes of live objects beyond those requested, from the profile */
};

struct cairn_bill {
	uint64_t total;
	uint64_t lines[CAIRN_BILL_LINES];
	bool has_allocator, has_classes;
	/* Not part of the total, because not resident: */
	uint64_t retained;  /* address space that the allocator keeps */
	uint64_t untouched; /* handed out or kept by the allocator, but never touched */
	uint64_t swap;
	uint64_t hugetlb;   /* resident, but charged elsewhere */
	/* How much of the allocator's lines may be other anonymous memory instead; 0 when they can be distinguished. */
	uint64_t uncertain;
};

/* Takes the facts from TRAILER. Returns false with a message if it does not have the kernel's side; the allocator's side, if there, is
 * filled anyway. */
bool cairn_bill_facts_read(struct cairn_bill_facts *facts, const struct cairn_trailer *trailer, struct cairn_error *error);

/* Takes the figures of an allocator other than jemalloc from TRAILER, which the agent writes when asked for these figures alone. */
void cairn_bill_facts_malloc(struct cairn_bill_facts *facts, const struct cairn_trailer *trailer);

/* Adds the estimates of PROFILE, which was taken at the same moment. TRAILER may be NULL. */
void cairn_bill_facts_profile(struct cairn_bill_facts *facts, const struct cairn_profile *profile, const struct cairn_trailer *trailer);

/* The memory that the program holds, touched or not, by the allocator's count: what a profile should show. 0 if it does not
 * count. */
uint64_t cairn_bill_live(const struct cairn_bill_facts *facts);

/* Calculates the bill. It adds up for any input. */
void cairn_bill_make(struct cairn_bill *bill, const struct cairn_bill_facts *facts);

/* The name of a line in JSON, its name for people, and whether it belongs to the allocator. */
const char *cairn_bill_key(enum cairn_bill_line line);
const char *cairn_bill_name(enum cairn_bill_line line);
bool cairn_bill_is_allocator(enum cairn_bill_line line);

#endif
