/* live.h - parses the section of a dump in which Cairn's sampler lists its samples one by one (doc/ledger.md).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_LIVE_H
#define CAIRN_PROFILE_LIVE_H

#include "base/bytes.h"

enum { CAIRN_LIFETIMES = 32, CAIRN_LIFETIME_FIRST = 14 };

/* One live sample. STACK is the number of its stack, counted from 0 in the order of the dump. */
struct cairn_live {
	uint64_t stack;
	uint64_t size;   /* as requested */
	uint64_t slack;  /* usable beyond that */
	uint64_t period; /* the sampling period in effect; never 0 */
	uint64_t thread;
	uint64_t age_us;
	uint64_t heap; /* 0 is malloc */
	uint64_t slab_free, slab_regions, slab_bytes; /* the slab that contains it; no regions if unknown */
};

/* The age of one live sample, and what it stands for. SAMPLE is the index of the profile's sample with its stack. */
struct cairn_aged {
	uint32_t sample;
	uint64_t age_us;
	double objects, bytes;
};

/* What was freed from one stack. */
struct cairn_freed {
	uint64_t stack;
	uint64_t samples, objects, bytes;     /* the latter two are estimates */
	uint64_t elsewhere;                   /* samples that another thread freed */
	uint64_t lifetimes[CAIRN_LIFETIMES];  /* samples that lived less than 2^14 ns, then twice as long for each class */
};

/* What was live from one stack at the peak. */
struct cairn_peak {
	uint64_t stack;
	uint64_t samples, objects, bytes; /* the latter two are estimates */
};

/* A range that the service mapped itself. */
enum cairn_mapped_kind {
	CAIRN_MAPPED_ANONYMOUS, /* private memory */
	CAIRN_MAPPED_SHARED,
	CAIRN_MAPPED_FILE,
	CAIRN_MAPPED_RESERVED,  /* addresses without access */
	CAIRN_MAPPED_BRK,
	CAIRN_MAPPED_KINDS,
};

struct cairn_mapped {
	uint64_t stack, bytes, age_us;
	enum cairn_mapped_kind kind;
	bool has_resident;
	uint64_t resident; /* the resident part of BYTES */
};

/* "anonymous", "shared", "file", "reserved" or "brk". */
const char *cairn_mapped_kind_name(enum cairn_mapped_kind kind);

/* Memory at one moment, in bytes. */
struct cairn_history_row {
	int64_t time_ns; /* since 1970 */
	uint64_t resident;
	uint64_t usage, limit;    /* of the control group; without a usage, the limit is the machine's memory */
	uint64_t live, allocated; /* estimates; the latter since sampling began */
};

/* Age classes, youngest first: the class of AGE_US, and its name. */
enum { CAIRN_AGES = 8 };
unsigned cairn_age_class(uint64_t age_us);
const char *cairn_age_name(unsigned number);

/* Finds the section in TEXT, which is everything after a dump's stacks. Returns false if there is none; one without samples is empty. */
bool cairn_live_section(struct cairn_bytes text, struct cairn_bytes *section);

/* Removes the next line of its kind from REST, which starts as the section. Returns false after the last. Invalid lines are skipped. */
bool cairn_live_next(struct cairn_bytes *rest, struct cairn_live *live);
bool cairn_freed_next(struct cairn_bytes *rest, struct cairn_freed *freed);
bool cairn_peak_next(struct cairn_bytes *rest, struct cairn_peak *peak);
bool cairn_mapped_next(struct cairn_bytes *rest, struct cairn_mapped *mapped);
bool cairn_history_next(struct cairn_bytes *rest, struct cairn_history_row *row);

#endif
