/* exponential.h - the logarithm and the exponential that Poisson sampling needs, for code without libm.
 *
 * Accurate to about 1e-14; no table, no errno, no locale: it may run inside malloc and in a signal handler.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_EXPONENTIAL_H
#define CAIRN_BASE_EXPONENTIAL_H

/* The natural logarithm of VALUE, which must be positive and finite. */
double cairn_exponential_log(double value);

/* 1 - exp(-VALUE) for VALUE of 0 or more: the chance that a Poisson process of mean VALUE has at least one event. */
double cairn_exponential_chance(double value);

#endif
