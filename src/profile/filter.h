/* filter.h - leaving out the samples of other threads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_FILTER_H
#define CAIRN_PROFILE_FILTER_H

#include "profile/profile.h"

/* Keeps the samples of one thread: its number as jemalloc gives it, or its name. Fails, and names the threads there are,
 * when no sample is of that thread; the profile must have been read with split_threads. */
bool cairn_filter_thread(struct cairn_profile *profile, const char *thread, struct cairn_error *error);

#endif
