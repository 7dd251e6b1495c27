/* unsample.c - the two formulas jeprof applies, without its division by zero.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/unsample.h"

#include <math.h>

void cairn_unsample(enum cairn_unsampling method, double period, double *objects, double *bytes)
{
	if (!(*objects > 0) || !(*bytes > 0) || !(period > 0))
		return;
	double mean = *bytes / *objects, factor = 1;
	if (method == CAIRN_UNSAMPLE_POISSON)
		factor = -1 / expm1(-mean / period);
	else if (method == CAIRN_UNSAMPLE_RATIO && mean < period)
		factor = period / mean;
	*objects *= factor;
	*bytes *= factor;
}
