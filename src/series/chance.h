/* chance.h - how likely noise alone is to look like growth.
 *
 * The test of trend.h: Student's t of the rate that a course has now, under each noise that the dumps do not rule out. Two kinds of noise
 * are tested apart, because they are not equally common. Any path may be a population, of which a deviation by chance returns, and whose
 * size is about known from its samples; its probability is multiplied by the number of paths. Only few paths of a service wander; the
 * probability of a walk is multiplied by their number, which is one at least.
 *
 * Three checks protect the test where its assumptions end. Few samples: each comes or goes independently, so that number of heads from a
 * fair coin must be unlikely. Correlated steps: blocks of dumps must agree as well as single ones. A path that is new, or was smaller
 * before: the noise is taken from the part that is judged.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_CHANCE_H
#define CAIRN_SERIES_CHANCE_H

#include "series/course.h"

/* One path being judged. */
struct cairn_judged {
	const struct cairn_courses *courses;
	const struct cairn_evidence *evidence;
	const double *values;
	double unit;
	struct cairn_unit_size events; /* what came and went, if known for all points */
};

/* The probability that noise alone makes any of COMPARISONS paths move as PATH does now, up for a SIGN of 1 and down for -1. */
double cairn_chance_moving(const struct cairn_judged *path, double sign, double comparisons);

#endif
