/* filter.h - leaving out the samples of other threads, and those of no value.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_FILTER_H
#define CAIRN_PROFILE_FILTER_H

#include "profile/profile.h"

/* Keeps the samples of one thread: its number as jemalloc gives it, or its name. Fails, and names the threads there are,
 * when no sample is of that thread; the profile must have been read with split_threads. */
bool cairn_filter_thread(struct cairn_profile *profile, const char *thread, struct cairn_error *error);

/* Leaves out samples all of whose values are 0, and then locations that no stack has. Before anything is named, and not where what was
 * freed is kept by sample. Where none has a value all stay: that a profile is empty is said elsewhere, of those that never had a sample. */
void cairn_filter_empty(struct cairn_profile *profile);

#endif
