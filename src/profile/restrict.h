/* restrict.h - a profile that came from anybody names no files but those it is allowed to.
 *
 * What a profile says about its modules, paths and build-ids, decides which files are opened to name its addresses. For one that a
 * stranger sent, somebody else decides: modules that are on a list are taken from where the list has them, and no other is looked for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_RESTRICT_H
#define CAIRN_PROFILE_RESTRICT_H

#include "profile/profile.h"

/* LIST is a memory map as in /proc/PID/maps, with a trailer behind it that has the build-ids (doc/trailer.md). Gives each module of
 * PROFILE the path and the build-id of the one in LIST with the same build-id, or, where the profile has none, with the same path. All
 * others lose both, so that only the last part of their path is left to show, and the profile its process. */
void cairn_profile_restrict(struct cairn_profile *profile, struct cairn_bytes list);

#endif
