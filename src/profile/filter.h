/* filter.h - leaving samples out: by thread, by size, or by what their stacks pass through.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_FILTER_H
#define CAIRN_PROFILE_FILTER_H

#include "base/pattern.h"
#include "profile/profile.h"

/* Keeps the samples of one thread: its number as jemalloc gives it, or its name. Fails, and names the threads there are,
 * when no sample is of that thread; the profile must have been read with split_threads. */
bool cairn_filter_thread(struct cairn_profile *profile, const char *thread, struct cairn_error *error);

/* Whether PATTERN matches a function, file or module of each location. MATCHES has room for location_count. */
void cairn_filter_locations(const struct cairn_profile *profile, const struct cairn_pattern *pattern, bool *matches);

/* Keeps the samples with at least one matching location, or with WANTED false those without any. */
void cairn_filter_stacks(struct cairn_profile *profile, const struct cairn_pattern *pattern, bool wanted);

#endif
