/* known.h - every object that a stack has passed through, told from all others, and remembered after it is unloaded.
 *
 * Libraries come and go, and one may be loaded where another lay before: the same addresses, often the same size. An object
 * is known by its place together with its build-id or, where it has none, by its name and its ELF headers. Each gets a number of its own,
 * the *tag*, which the unwinder's cached rules are kept under: rules of one object are never applied to another. The
 * numbers are never given out again.
 *
 * Entries are only ever added, and do not change once they can be found: any thread may ask at any instant, also in a signal
 * handler, without a lock. An object must not be unloaded while it is asked about; one whose frames are on the stack is not.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_KNOWN_H
#define CAIRN_AGENT_UNWIND_KNOWN_H

#include "base/bytes.h"

enum { CAIRN_KNOWN_MOST = 512, CAIRN_KNOWN_SEGMENTS = 2 };

/* Where an object lies, as the loader says. */
struct cairn_place {
	uintptr_t start, end;    /* all of it */
	uintptr_t unwind_header; /* .eh_frame_hdr; 0 for none */
	uintptr_t bias;
	const char *name; /* as the loader has it; "" for the program */
};

struct cairn_known {
	uintptr_t start, end, unwind_header;
	uint64_t mark[2];      /* the first words of the unwind header */
	uintptr_t id_at;       /* where the build-id lies; 0 where there is none */
	unsigned char id[32];  /* the build-id */
	unsigned id_size;
	bool has_headers;      /* it begins with its ELF headers, as linkers make it */
	uint64_t headers;      /* a hash of its name and of those headers */
	char path[200];        /* absolute where that can be told; cut short if longer */
	struct cairn_known_segment {
		uintptr_t start, end;
		uint64_t offset;
	} segments[CAIRN_KNOWN_SEGMENTS]; /* executable ones */
	unsigned segment_count;
	uintptr_t code_at; /* the first byte of the first of them */
};

/* The tag of the object at PLACE, never 0. When the table is full, a hash takes its place. */
uint16_t cairn_known_tag(const struct cairn_place *place);

/* Whether the object with TAG still lies where it did. It may have been unloaded. */
bool cairn_known_is_there(uint16_t tag);

/* To be called now and then: objects without a build-id that the loader no longer lists get another tag when they come back, since they
 * may have been rebuilt meanwhile. Asks the loader only if such an object is known. */
void cairn_known_retire(void);

/* Calls VISIT for each object that stacks have passed through and that is not loaded any more. */
void cairn_known_unloaded(void (*visit)(void *context, const struct cairn_known *known), void *context);

#endif
