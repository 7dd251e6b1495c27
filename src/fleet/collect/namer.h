/* namer.h - a process that names addresses for the collector.
 *
 * Names come from files that senders upload and at addresses that they choose, and whoever reads them may run out of memory or time, or
 * crash. So a child reads them: `cairn collect -`, which answers one question (names.h) after the other on its standard output. Its memory
 * and the time for each answer are limited. If it does not answer, it is killed, the snapshot has no names, and the builds whose files it
 * was reading become suspects (suspects.h); the next question gets a new child.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_NAMER_H
#define CAIRN_FLEET_COLLECT_NAMER_H

#include "fleet/collect/uploads.h"
#include "live/source.h"

#include <stdatomic.h>

/* The names of a profile may take as many times what the profile itself may (--unpacked-bytes). */
enum { CAIRN_NAMES_SHARE = 4 };

/* Set the first members; all zeroes otherwise. Belongs to one thread, except for the counts. */
struct cairn_namer {
	const struct cairn_source_options *source; /* where to look besides uploads; borrowed */
	struct cairn_uploads *uploads;             /* borrowed */
	uint64_t memory;   /* bytes that the child may allocate */
	int64_t time_ns;   /* for an answer */
	size_t names_most; /* bytes that all names of a question may take when they are written out at each address */
	_Atomic uint64_t deaths; /* children that did not answer */
	pid_t child; /* 0 for none */
	int input, output; /* pipes to its standard input and from its standard output */
};

/* Names the locations of PROFILE with the help of what TENANT has uploaded. Returns false if the child died: then they have no names. */
bool cairn_namer_name(struct cairn_namer *namer, struct cairn_bytes tenant, struct cairn_profile *profile);

/* Ends the child. */
void cairn_namer_close(struct cairn_namer *namer);

/* The child: answers until its standard input ends. It needs `source`, `memory` and `names_most` of NAMER. Returns false if a question is
 * invalid. */
bool cairn_namer_run(const struct cairn_namer *namer);

#endif
