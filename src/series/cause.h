/* cause.h - why resident memory is much larger than what a program holds: the one cause that matters most, in a sentence, the others with
 * their numbers, and what to do, in the order of effect.
 *
 * All candidates are amounts of memory: live objects that grow, a cache that fills, free memory that the allocator keeps, what an allocator
 * has of which neither is known, threads' stacks, caches and arenas, mappings that the program made itself, files, huge pages, and what is
 * charged to the control group beside the process.
 * The largest is the cause. Growth counts with what it adds within a day, up to what is resident, because it does not stop there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_CAUSE_H
#define CAIRN_SERIES_CAUSE_H

#include "heap/remedy.h"
#include "series/bill.h"
#include "series/trend.h"

enum cairn_cause_kind {
	CAIRN_CAUSE_GROWTH,     /* live objects grow */
	CAIRN_CAUSE_CACHE,      /* live objects fill up to a level */
	CAIRN_CAUSE_LIVE,       /* live objects that do neither */
	CAIRN_CAUSE_BEFORE,     /* allocated before Cairn came */
	CAIRN_CAUSE_UNREAD,     /* of an allocator whose heap cannot be read */
	CAIRN_CAUSE_RETENTION,  /* free memory in the allocator */
	CAIRN_CAUSE_THREADS,    /* stacks, arenas and caches of threads */
	CAIRN_CAUSE_MAPPINGS,   /* mapped by the program itself */
	CAIRN_CAUSE_HUGE_PAGES, /* made resident by huge pages */
	CAIRN_CAUSE_VARIABLES,  /* static data of the program and its libraries, and pages of mapped files that it has written to */
	CAIRN_CAUSE_FILES,      /* code and mapped files */
	CAIRN_CAUSE_TMPFS,      /* shared memory and tmpfs */
	CAIRN_CAUSE_PAGE_CACHE, /* files that the control group has read or written */
	CAIRN_CAUSE_SLAB,       /* the kernel's own objects, charged to the control group */
	CAIRN_CAUSE_SOCKETS,    /* buffers of sockets, likewise */
	CAIRN_CAUSE_KINDS,
};

/* Live objects over time: of the call path that moves most, or of all of them. */
struct cairn_cause_growth {
	bool known;
	enum cairn_verdict verdict;
	const char *name;  /* of the function; borrowed; "" if there is none */
	double bytes;      /* what all paths with this verdict hold */
	double per_hour, error;
	const char *words; /* the verdict as `cairn leaks` words it, borrowed */
};

/* The control group, if the process and its children are all that is in it. */
struct cairn_cause_group {
	bool known;
	uint64_t usage, limit, file, shmem, slab, sockets;
};

/* Who keeps free memory from being returned. */
struct cairn_cause_pin {
	const char *name;  /* of the function that allocated; borrowed */
	const char *stack; /* names, each with a line end; borrowed */
	double bytes, low, high; /* with a 95 % confidence interval */
	double objects;
};

struct cairn_cause_facts {
	const struct cairn_bill *bill;
	const struct cairn_bill_facts *bill_facts;
	const struct cairn_walk *walk; /* without heaps if none could be read */
	const struct cairn_huge *huge;
	double drift; /* of what can be returned, between two walks */
	struct cairn_cause_growth growth;
	struct cairn_cause_group group;
	const struct cairn_cause_pin *pins; /* the largest first */
	size_t pin_count;
	const char *mapper; /* who made the largest mappings: names, each with a line end; "" if unknown */
	double mapper_bytes, mapped_bytes; /* of them; of all mappings that the program is known to have made */
	bool sampled; /* the profile knows call paths */
	int pid;      /* 0 for a dump */
};

enum { CAIRN_CAUSE_TEXT = 600, CAIRN_CAUSE_ADVICE = 12 };

/* The effects of advice are those of a remedy; 0 if unknown. */
struct cairn_cause_advice {
	char what[CAIRN_CAUSE_TEXT]; /* what to do, and what that changes */
	char how[CAIRN_CAUSE_TEXT];  /* the command or setting; "" for none */
	double process, group, error;
	bool at_most;
};

struct cairn_cause_reason {
	enum cairn_cause_kind kind;
	double bytes, whole; /* of how much it is a part: of what is resident, or of the charge of the control group */
	bool of_group;
	char text[CAIRN_CAUSE_TEXT];
};

struct cairn_causes {
	enum cairn_cause_kind cause;
	char sentence[CAIRN_CAUSE_TEXT];
	struct cairn_cause_reason reasons[CAIRN_CAUSE_KINDS]; /* largest first, without what hardly matters */
	size_t reason_count;
	struct cairn_cause_advice advice[CAIRN_CAUSE_ADVICE]; /* in the order of effect */
	size_t advice_count;
	/* In bytes. Free memory that is resident is returnable, pinned, reserved by the allocator, or in caches. */
	double resident, live, free, returnable, returnable_group, returnable_error, pinned, reserved, cached, outside;
	bool knows_free; /* the last numbers come from a walk of the heap, or from the allocator */
};

void cairn_causes_find(struct cairn_causes *causes, const struct cairn_cause_facts *facts);

/* "retention": its name in JSON. */
const char *cairn_cause_name(enum cairn_cause_kind kind);

#endif
