/* combine.h - adding profiles up, and taking one from another.
 *
 * Two locations are one when they lie at the same offset of the same file, wherever that file was mapped: a file is
 * known by its build-id, or by its path where there is none. Two samples are one when their stacks and labels are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_COMBINE_H
#define CAIRN_PROFILE_COMBINE_H

#include "profile/profile.h"

/* A sum under way. */
struct cairn_combine {
	struct cairn_profile *sum;
	struct cairn_index samples;
	struct cairn_index locations;
	struct cairn_index mappings;
	struct cairn_index modules;
	uint32_t *places; /* for each sample of the part added last, its sample in the sum */
	size_t place_capacity;
};

/* Starts a sum in SUM, an initialised and empty profile that outlives the combine. */
void cairn_combine_start(struct cairn_combine *combine, struct cairn_profile *sum);

/* Adds FACTOR times PART: 1 to sum, -1 to subtract a base. The first part decides which values there are; later ones must
 * share at least one with it, and only those are kept. Fails, with a sentence, for profiles of different kinds. */
bool cairn_combine_add(struct cairn_combine *combine, const struct cairn_profile *part, double factor, struct cairn_error *error);

void cairn_combine_finish(struct cairn_combine *combine);

/* Scales the base that was subtracted so that each value's total equals that of what there is now: what is left is how the
 * shares changed. */
void cairn_combine_normalize(struct cairn_profile *sum);

#endif
