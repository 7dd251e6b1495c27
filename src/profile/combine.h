/* combine.h - adds profiles, and subtracts one from another.
 *
 * Two locations are the same if they are at the same place and have the same frames. A place is an offset in a file, wherever that file was
 * mapped: a file is identified by its build-id, or by its path if it has none. If only one of two locations at a place has frames, they are
 * the same as well, and the sum has the frames: addresses of one file are named alike. Locations without an address have only their
 * frames. Two samples are the same if their stacks and labels are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_COMBINE_H
#define CAIRN_PROFILE_COMBINE_H

#include "profile/profile.h"

/* A sum in progress. */
struct cairn_combine {
	struct cairn_profile *sum;
	struct cairn_index samples;
	struct cairn_index locations;
	struct cairn_index mappings;
	struct cairn_index modules;
	uint32_t *places; /* for each sample of the last part added, its index in the sum */
	size_t place_capacity;
};

/* Starts a sum in SUM, an initialized and empty profile that must outlive COMBINE. */
void cairn_combine_start(struct cairn_combine *combine, struct cairn_profile *sum);

/* Adds FACTOR times PART: 1 to add, -1 to subtract a base. The first part determines the values; later parts must share at least one of
 * them, and only shared values are kept. Fails with a message for profiles of different kinds. */
bool cairn_combine_add(struct cairn_combine *combine, const struct cairn_profile *part, double factor, struct cairn_error *error);

void cairn_combine_finish(struct cairn_combine *combine);

/* Scales the subtracted base so that the total of each value equals the current total; the remaining difference is the change in shares. */
void cairn_combine_normalize(struct cairn_profile *sum);

#endif
