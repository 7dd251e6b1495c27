/* maps.h - the memory map at the end of a dump: which address belongs to which file.
 *
 * Accepts lines of /proc/PID/maps, lines "start-end: path" (gperftools, macOS) and FreeBSD's. Keeps only executable ranges, and the first
 * range of each file, from which the offset of code without a path (moved to huge pages) is inferred.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_MAPS_H
#define CAIRN_PROFILE_MAPS_H

#include "profile/profile.h"

/* Adds the mappings in TEXT to PROFILE. Ignores lines that are not map lines. Returns false if TEXT ends in the middle of a line, as in a
 * truncated file; the mappings before that are added anyway. */
bool cairn_maps_read(struct cairn_profile *profile, struct cairn_bytes text);

/* Sets the mapping of every location. Call it once, after all locations and mappings have been added. */
void cairn_maps_attach(struct cairn_profile *profile);

/* Sets the mapping of the locations that have neither one nor a name and lie in one of the mappings from FIRST on, which were added
 * later. */
void cairn_maps_attach_rest(struct cairn_profile *profile, size_t first);

/* Reads the map at the end of the dump NAME, warns if it is truncated, and attaches it. For readers, once they have added all locations.
 * TEXT may be empty. */
void cairn_maps_apply(struct cairn_profile *profile, struct cairn_bytes text, const char *name);

#endif
