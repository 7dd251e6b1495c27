/* empty_profile.h - profiles without samples, for what scrapers ask of every service and Cairn has none of.
 *
 * Parca, Grafana Alloy and Coroot ask for five or six pages, and log an error at every interval for each that is not there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_EMPTY_PROFILE_H
#define CAIRN_PROTOCOL_EMPTY_PROFILE_H

#include "base/buffer.h"

/* Appends a pprof profile, taken now and without samples, with the values that Go's profile NAME has: "heap", "allocs", "profile",
 * "goroutine", "mutex" or "block". False for any other name. */
bool cairn_empty_profile(struct cairn_bytes name, struct cairn_buffer *out);

#endif
