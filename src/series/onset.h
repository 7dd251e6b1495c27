/* onset.h - what grows, and what only comes into view, where sampling began late.
 *
 * After `cairn attach`, a reset or a late activation, only new objects are sampled. As they take the place of older ones, each call path
 * whose objects live longer than that rises in a line, although the service holds a constant amount. No number of samples tells that from a
 * leak. The kernel does: it counts the memory of the process, sampled or not, and what takes the place of older objects adds nothing to it.
 *
 * So the growth that all paths claim together is compared with the growth of the process. The excess may be what came into view, and nobody
 * knows of which paths. A path grows if at least half of its own claim would be left even if all of the excess were its, and the other
 * paths grew faster than they claim by as much as their errors allow. The verdict on the others is held back: it is too early to tell.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_ONSET_H
#define CAIRN_SERIES_ONSET_H

#include "report/head.h"
#include "series/leaks.h"

/* How much of the live bytes the dump at POINT has; all zeroes if it counts something else. */
struct cairn_coverage cairn_onset_coverage(const struct cairn_series_point *point);

/* Holds back the verdicts of rows that may only have come into view, and that of REST, what is left at the root. */
void cairn_onset_hold_back(struct cairn_leaks *leaks, const struct cairn_series *series, struct cairn_trend *rest);

/* Whether sampling of SERIES began late. *RISE is how fast the memory of the process grows, in bytes an hour; 0 if that is unknown. */
bool cairn_onset_is_late(const struct cairn_series *series, double *rise);

/* Whether EXCESS may be a good part of the growth by RATE. */
bool cairn_onset_explains(double excess, double rate);

#endif
