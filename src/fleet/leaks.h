/* leaks.h - from the processes of a store to the verdict over instances (series/fleet.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_LEAKS_H
#define CAIRN_FLEET_LEAKS_H

#include "series/fleet.h"
#include "store/store.h"

enum { CAIRN_FLEET_LEAST_DUMPS = 3 }; /* that a process needs to be judged */

/* Judges each of PROCESSES, which are of one service, and all of them together. FLEET is all zeroes; it borrows from PROCESSES. Those
 * with too few snapshots are left out: FLEET's instance_count says how many were judged. */
bool cairn_fleet_judge_processes(struct cairn_store *store, const struct cairn_store_processes *processes, struct cairn_fleet *fleet,
				 struct cairn_error *error);

#endif
