/* walked.h - a snapshot of a process with what a walk of its heaps adds: what each live object keeps from being given back.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WALKED_H
#define CAIRN_LIVE_WALKED_H

#include "heap/huge.h"
#include "heap/walk.h"
#include "live/target.h"
#include "series/cause.h"

/* Adds to TEXT, a snapshot that the agent of process PID has just written, the sums of WALK, of the same process, and if Cairn's engine took it
 * the share of pinned memory of each live sample: the samples are read anew from the process's ledger, which has their addresses. Returns
 * false if these shares are missing: with a message, and with the sums in TEXT. */
bool cairn_walked_add(struct cairn_buffer *text, int pid, const struct cairn_walk *walk, struct cairn_error *error);

/* Reads what cairn_walked_add has written beside the walk: huge pages, and the control group. */
void cairn_walked_read(const struct cairn_trailer *trailer, struct cairn_huge *huge, struct cairn_cause_group *group);

/* Walks the heaps of the process of TARGET and adds what it finds to TEXT, its snapshot. Returns false with a message, and TEXT as it was or
 * with the sums alone, if that cannot be done: it runs elsewhere, is another user's, has no heap that can be read. */
bool cairn_walked_snapshot(const struct cairn_target *target, struct cairn_buffer *text, struct cairn_error *error);

#endif
