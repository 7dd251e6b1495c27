/* maps.h - the memory map at the end of a dump: which address belongs to which file.
 *
 * Accepts /proc/PID/maps lines, "start-end: path" lines (gperftools, macOS) and FreeBSD's. Only executable ranges are
 * kept, with the first range of each file, from which the place of pathless text (remapped to huge pages) is inferred.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_MAPS_H
#define CAIRN_PROFILE_MAPS_H

#include "profile/profile.h"

/* Adds the mappings in TEXT to PROFILE. Lines that are not map lines are ignored. False when TEXT ends in the middle of a line,
 * as in a file that was cut short; what could be read is there all the same. */
bool cairn_maps_read(struct cairn_profile *profile, struct cairn_bytes text);

/* Points every location at its mapping. Call once, after all locations and mappings are there. */
void cairn_maps_attach(struct cairn_profile *profile);

/* What a reader does with the map at the end of the dump NAME, once it has the locations: reads it, warns of one that was cut
 * short, and attaches it. TEXT may be empty. */
void cairn_maps_apply(struct cairn_profile *profile, struct cairn_bytes text, const char *name);

#endif
