/* unsample.h - from what a sampling profiler saw to an estimate of what was there.
 *
 * Must be applied to each line of a dump before anything is added up: the factor depends on the line's mean size.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_UNSAMPLE_H
#define CAIRN_PROFILE_UNSAMPLE_H

enum cairn_unsampling {
	CAIRN_UNSAMPLE_NONE,    /* everything was recorded */
	CAIRN_UNSAMPLE_POISSON, /* "v2": a byte is a sample with probability 1 / period */
	CAIRN_UNSAMPLE_RATIO,   /* "v1": very old tcmalloc; objects smaller than the period are scaled up to it */
};

/* Scales OBJECTS and BYTES of one line in place. A line with no objects or no bytes stays as it is. */
void cairn_unsample(enum cairn_unsampling method, double period, double *objects, double *bytes);

#endif
