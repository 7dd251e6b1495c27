/* spread.h - the error of one sample of a profile, alone or against a base: the only place where confidence intervals come from.
 *
 * Two dumps of different processes were sampled independently, so their variances add up. Two dumps of one process share samples: an object
 * that was sampled in the first and is still live is in the second with the same weight, and cancels out of the change. Only objects that
 * came and went in between are random. A line shows its net change, not how much came and went; but all lines together show it: the mean
 * square of a net change in samples is the number of samples that came and went. So the *turnover* of a profile, the share of samples that
 * were replaced, is estimated from all lines, without those that changed by more than it explains. In some lines, objects live longer than
 * in others. If the lines show that, each has its own turnover, on which its own change has a little influence. If the dumps have
 * accumulated counts, no more can have come than was allocated.
 *
 * A line with objects of several sizes does not show which sizes. Its bytes have at most the variance that any mixture with that mean can
 * have; the error of its count is unknown, because one sample of the smallest objects may stand for any number of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_SPREAD_H
#define CAIRN_PROFILE_SPREAD_H

#include "profile/profile.h"

/* How much of a profile was replaced since its base. */
struct cairn_turnover {
	double share;  /* of the samples, from 0 to 1; 1 if the base is from another process, or scaled */
	double varies; /* how it varies from line to line: the standard deviation of its logarithm; 0 if the lines do not show that it
		        * varies */
};

/* The turnover of VALUE, estimated from all lines. */
struct cairn_turnover cairn_profile_turnover(const struct cairn_profile *profile, uint32_t value);

/* The spread of VALUE of SAMPLE, or of its change if there is a base. PARTNER is the corresponding value of the other kind, or
 * CAIRN_NONE; TURNOVER is the result of the function above. */
struct cairn_spread cairn_profile_spread(const struct cairn_profile *profile, size_t sample, uint32_t value, uint32_t partner,
					 struct cairn_turnover turnover);

/* The total ever allocated for a live VALUE, such as "alloc_space" for "inuse_space"; CAIRN_NONE if the dump has none. */
uint32_t cairn_profile_accumulated(const struct cairn_profile *profile, uint32_t value);

/* The spread of AMOUNT of VALUE in a line with PARTNER of its counterpart. */
struct cairn_spread cairn_profile_line_spread(const struct cairn_profile *profile, uint32_t value, double amount, double partner);

#endif
