/* law.h - the few probability laws that verdicts rest on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_LAW_H
#define CAIRN_SERIES_LAW_H

/* The chance that a normal variable lies above AT standard deviations. */
double cairn_law_normal_above(double at);

/* The chance that a variable after Student, of so many degrees of FREEDOM (fractions are allowed), lies above AT. */
double cairn_law_student_above(double at, double freedom);

/* The value that such a variable exceeds with the chance CHANCE, from 0 to a half. */
double cairn_law_student_quantile(double chance, double freedom);

/* The chance of HITS or more heads in TOSSES of a fair coin; both may be fractions. */
double cairn_law_coin_above(double tosses, double hits);

#endif
