/* rhythm.h - removes daily, hourly and other rhythms, so that growth underneath becomes visible.
 *
 * A line, a wave and its overtone are fitted for each period that the dumps show twice, in all its parts: dumps that were taken in bursts
 * show few moments, however many they are. Chance rarely repeats: a random walk or a wandering
 * queue leaves most of its variance beside any such wave. So a wave is removed only if it explains nearly all that the line leaves.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_RHYTHM_H
#define CAIRN_SERIES_RHYTHM_H

#include <stdbool.h>
#include <stddef.h>

/* The largest number of points, and of periods tried: it is that many times more likely that one of them fits by chance. */
enum { CAIRN_RHYTHM_POINTS = 64, CAIRN_RHYTHM_PERIODS = 64 };

/* Writes COUNT values without their rhythm to OUT, and its period to PERIOD_HOURS. Returns false if there is none. */
bool cairn_rhythm_remove(const double *hours, const double *values, size_t count, double *out, double *period_hours);

#endif
