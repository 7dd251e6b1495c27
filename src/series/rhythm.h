/* rhythm.h - what repeats, a day or an hour long, taken out, so that what grows under it is seen.
 *
 * A line, a wave and its overtone are fitted for each period that the dumps show twice. Chance rarely repeats: a walk or a queue that
 * wanders leaves most of its variance beside any wave of that kind, so only a wave that explains nearly all of what is left beside the
 * line is taken out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_RHYTHM_H
#define CAIRN_SERIES_RHYTHM_H

#include <stdbool.h>
#include <stddef.h>

/* How many periods are tried, at most: so many times likelier is it that one of them fits by chance. */
enum { CAIRN_RHYTHM_PERIODS = 64 };

/* Writes VALUES without their rhythm to OUT, and its period; false where there is none. */
bool cairn_rhythm_remove(const double *hours, const double *values, size_t count, double *out, double *period_hours);

#endif
