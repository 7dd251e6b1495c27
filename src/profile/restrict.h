/* restrict.h - an untrusted profile may name only permitted files.
 *
 * The paths and build-ids of a profile's modules decide which files are opened to name its addresses. For a profile from a stranger, a
 * list decides instead: listed modules are read from the path in the list, and no others are searched for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_RESTRICT_H
#define CAIRN_PROFILE_RESTRICT_H

#include "profile/profile.h"

/* LIST is a memory map as in /proc/PID/maps, followed by a trailer with the build-ids (doc/trailer.md). Gives each module of PROFILE the
 * path and build-id of the module in LIST with the same build-id or, if the profile has none, with the same path. All others lose both,
 * so that only the last part of their path is left to show, and the profile loses its process. */
void cairn_profile_restrict(struct cairn_profile *profile, struct cairn_bytes list);

#endif
