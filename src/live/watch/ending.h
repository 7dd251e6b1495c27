/* ending.h - how a process that is not our child came to its end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WATCH_ENDING_H
#define CAIRN_LIVE_WATCH_ENDING_H

#include "dump/ledger_dump.h"

struct cairn_ending {
	bool known;           /* `status` is */
	int status;           /* as wait(2) gives it */
	bool short_of_memory; /* the OOM killer killed a process in its group */
	bool reused;          /* another process has its number by now */
};

/* What is to be known about process LIFE, which has ended; PIDFD was opened while it ran, or is -1. `short_of_memory` is the
 * caller's to know. */
void cairn_ending_read(const struct cairn_life *life, int pidfd, struct cairn_ending *ending);

/* The words for it, to come after the name of the process: "exited with code 3", "was killed by signal 9 (Killed)", … */
void cairn_ending_tell(const struct cairn_ending *ending, char *out, size_t size);

/* The words of cairn_end_say, which dumps carry. */
void cairn_ending_say(const struct cairn_ending *ending, char *out, size_t size);

/* The same for the dump of its ledger, HOW being what cairn_ending_say gave; borrows it. */
struct cairn_ledger_end cairn_ending_for_ledger(const struct cairn_ending *ending, const char *how);

#endif
