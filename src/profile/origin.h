/* origin.h - where a profile comes from: the process, its memory and its modules, as the dump's trailer describes them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_ORIGIN_H
#define CAIRN_PROFILE_ORIGIN_H

#include "base/time.h"
#include "dump/trailer.h"
#include "profile/profile.h"

/* Gives the modules of PROFILE, whose map has been read, the build-ids that TRAILER has for their addresses. They are not matched by path:
 * the loader's name for a module differs from the kernel's if there are links in it. */
void cairn_profile_take_build_ids(struct cairn_profile *profile, const struct cairn_trailer *trailer);

/* Copies into PROFILE what the trailer knows better than the dump: the process and its memory, the time, the build-ids of modules. */
void cairn_profile_apply_trailer(struct cairn_profile *profile, const struct cairn_trailer *trailer);

/* Whether sampling, which began at SINCE_NS, began when the process had been running for a while. If it began earlier, the memory that
 * the process had by then says what is missing (`before_bytes`). Unknown times are 0. */
static inline bool cairn_sampled_late(int64_t start_ns, int64_t since_ns)
{
	return start_ns > 0 && since_ns > 0 && since_ns - start_ns > CAIRN_SECOND_NS;
}

/* For how many seconds before it was taken PROFILE was sampled; 0 if unknown. */
double cairn_profile_sampled_seconds(const struct cairn_profile *profile);

#endif
