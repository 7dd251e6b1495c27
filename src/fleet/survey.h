/* survey.h - the verdict over so many instances that not every call path of each of them can be looked at.
 *
 * The store adds up what each call path holds at two times that are far apart, over the instances of a release, and says how far the
 * instance lies above the others that holds most of it for its size. The call paths that rose most by one of these measures, and the
 * largest, are then looked at on every instance, hour by hour. What is not looked at counts as a comparison all the same, so that the
 * verdict is no surer for having chosen.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SURVEY_H
#define CAIRN_FLEET_SURVEY_H

#include "series/fleet.h"
#include "store/store.h"

/* Adds what a choice of call paths of PROCESSES, which are of one service, did to FLEET. *DONE is false, and nothing is added, where they
 * are so few that all of it can be looked at, or the store does not have what it takes for long enough. */
bool cairn_fleet_survey(struct cairn_store *store, const struct cairn_store_processes *processes, struct cairn_fleet *fleet, bool *done,
			struct cairn_error *error);

#endif
