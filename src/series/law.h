/* law.h - the probability distributions that verdicts are based on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_LAW_H
#define CAIRN_SERIES_LAW_H

/* The probability that a normal variable lies above AT standard deviations. */
double cairn_law_normal_above(double at);

/* The probability that a variable with Student's distribution with FREEDOM degrees of freedom (possibly a fraction) lies above AT. */
double cairn_law_student_above(double at, double freedom);

/* The value that such a variable exceeds with probability CHANCE, from 0 to a half. */
double cairn_law_student_quantile(double chance, double freedom);

/* The probability of HITS or more heads in TOSSES of a fair coin; both may be fractions. */
double cairn_law_coin_above(double tosses, double hits);

/* For qsort: sorts doubles, the smallest first. */
int cairn_law_compare(const void *a, const void *b);

#endif
