/* spread.h - how far one sample of a profile may be off, alone or against a base: the one place that error bars come from.
 *
 * Two dumps of different processes were sampled each for itself, so their variances add up. Two dumps of one process share their samples:
 * what was sampled in the first and still lives is in the second, with the same weight, and cancels out of the change. Only what came and
 * went in between is random. A line says by how much it changed, not how much came and went; but all lines together do: a net change of d
 * samples has the mean square of the number that came and went. So the *turnover* of a profile, the share of samples that were replaced,
 * is estimated over all its lines, without those that changed by more than it explains. Objects of some lines live longer than those of
 * others; where the lines show that, each has a turnover of its own, which its own change says a little of. Where the dumps have
 * accumulated counts, no more can have come than was allocated.
 *
 * A line of objects of several sizes does not say which. Its bytes have at most the variance that any mixture with that mean can have;
 * how far its count may be off is not known, since one sample of the smallest may stand for any number of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_SPREAD_H
#define CAIRN_PROFILE_SPREAD_H

#include "profile/profile.h"

/* How much of a profile was replaced since its base. */
struct cairn_turnover {
	double share;  /* of the samples, from 0 to 1; 1 if the base is of another process, or scaled */
	double varies; /* from line to line, as the standard deviation of its logarithm; 0 where the lines do not show that it does */
};

/* That of VALUE, from all lines together. */
struct cairn_turnover cairn_profile_turnover(const struct cairn_profile *profile, uint32_t value);

/* The spread of VALUE of SAMPLE, or of its change if there is a base. PARTNER is the corresponding value of the other kind, or
 * CAIRN_NONE; TURNOVER is the result of the function above. */
struct cairn_spread cairn_profile_spread(const struct cairn_profile *profile, size_t sample, uint32_t value, uint32_t partner,
					 struct cairn_turnover turnover);

/* The total ever allocated that goes with a VALUE of what lives, "alloc_space" with "inuse_space"; CAIRN_NONE where the dump has none. */
uint32_t cairn_profile_accumulated(const struct cairn_profile *profile, uint32_t value);

/* The spread of AMOUNT of VALUE in a line that has PARTNER of the value that goes with it. */
struct cairn_spread cairn_profile_line_spread(const struct cairn_profile *profile, uint32_t value, double amount, double partner);

#endif
