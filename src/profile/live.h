/* live.h - the section of a dump in which Cairn's sampler lists its samples one by one (doc/ledger.md): pure text in, numbers out.
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
	uint64_t period; /* with which it was drawn; never 0 */
	uint64_t thread;
	uint64_t age_us;
	uint64_t heap; /* 0 is malloc */
};

/* What was freed of one stack. */
struct cairn_freed {
	uint64_t stack;
	uint64_t samples, objects, bytes;     /* the latter two are estimates */
	uint64_t elsewhere;                   /* samples that another thread freed */
	uint64_t lifetimes[CAIRN_LIFETIMES];  /* samples that lived less than 2^14 ns, then each time twice as long */
};

/* Ages in classes, the youngest first: the class of AGE_US, and its name. */
enum { CAIRN_AGES = 8 };
unsigned cairn_age_class(uint64_t age_us);
const char *cairn_age_name(unsigned number);

/* The section in TEXT, what follows a dump's stacks; empty where there is none. */
struct cairn_bytes cairn_live_section(struct cairn_bytes text);

/* Takes the next line of its kind off REST, which starts as the section. False after the last. Lines that make no sense are passed over. */
bool cairn_live_next(struct cairn_bytes *rest, struct cairn_live *live);
bool cairn_freed_next(struct cairn_bytes *rest, struct cairn_freed *freed);

#endif
