/* mixture.h - finds the shares of known distributions that explain counts best.
 *
 * Each cell has a count, and for each distribution a chance: how likely one observation of that distribution falls into the cell. The
 * log-likelihood, the sum of count * log(sum of weight * chance), is concave in the weights, so there is one maximum. Newton's method finds
 * it in a few steps, where expectation-maximization takes thousands if distributions are alike; and the gradient says how far it still
 * is from the maximum: by no more than its largest component exceeds the sum of all counts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_MIXTURE_H
#define CAIRN_SERIES_MIXTURE_H

#include <stddef.h>

enum { CAIRN_MIXTURE_CELLS = 128, CAIRN_MIXTURE_LAWS = 12 };

struct cairn_mixture {
	size_t cells, laws;
	double count[CAIRN_MIXTURE_CELLS];
	const double *chances[CAIRN_MIXTURE_CELLS]; /* borrowed; for each distribution */
};

/* Sets WEIGHTS, which add up to 1, to those that fit best. Distributions whose weight is zero at first are left out. Cells that are
 * impossible under all others do not count. Returns the log-likelihood; it is less than 0.01 below the maximum. */
double cairn_mixture_fit(const struct cairn_mixture *mixture, double *weights);

#endif
