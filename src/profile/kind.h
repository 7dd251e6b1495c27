/* kind.h - what the values of a profile are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_KIND_H
#define CAIRN_PROFILE_KIND_H

#include "profile/profile.h"

/* Whether the values are all that is live, not the highest point, slack, fragmentation or mappings instead. */
static inline bool cairn_profile_is_live(const struct cairn_profile *profile)
{
	return !profile->at_peak && !profile->as_slack && !profile->as_fragmentation && !profile->as_mapped;
}

#endif
