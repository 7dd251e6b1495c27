/* filter.h - removes the samples of other threads, and samples without values.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_FILTER_H
#define CAIRN_PROFILE_FILTER_H

#include "profile/profile.h"

/* Keeps the samples of one thread, given by the number that jemalloc assigned or by name; none if the profile has none of that thread, as
 * one dump of several may not have it. Values that are known by call path only are dropped. The profile must have been read with
 * split_threads. */
void cairn_filter_thread(struct cairn_profile *profile, const char *thread);

/* Fails with a message that lists the threads of PROFILE, of which THREAD is none. */
bool cairn_filter_no_thread(const struct cairn_profile *profile, const char *thread, struct cairn_error *error);

/* Removes samples with no value other than 0, and then locations that no stack uses. Call it before symbolizing, and not on a profile with
 * `freed`, which is indexed by sample. If no sample has a value, all are kept: other code reports an empty profile, and takes one without
 * samples for one that never had any. */
void cairn_filter_empty(struct cairn_profile *profile);

#endif
