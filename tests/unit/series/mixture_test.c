/* mixture_test.c - the weights of a mixture against what expectation-maximization finds in the long run, and against the truth.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/mixture.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { laws = 11, never = laws - 1, mixtures = 120 };
static double chances[CAIRN_MIXTURE_CELLS][laws];

/* Survivors of some ages, and dead of some lifetimes, under exponential distributions with means of 1/256 to 2; the last never dies. */
static void make_cells(struct cairn_mixture *mixture, size_t cells)
{
	*mixture = (struct cairn_mixture){.cells = cells, .laws = laws};
	for (size_t cell = 0; cell < cells; cell++) {
		double age = exp(-8 + 8 * drand48());
		bool dead = cell % 2;
		for (int law = 0; law < laws; law++) {
			double mean = ldexp(1, 1 - law);
			chances[cell][law] = dead ? exp(-age / mean) - exp(-2 * age / mean) : exp(-age / mean);
		}
		chances[cell][never] = !dead;
		mixture->chances[cell] = chances[cell];
	}
}

/* Few counts, many, some huge, or all in one cell and one in each other. */
static double count_of(int kind, size_t cell, size_t cells)
{
	switch (kind) {
	case 0:
		return (double)(lrand48() % 5);
	case 1:
		return lrand48() % 7 == 0 ? 1 + (double)(lrand48() % 3000) : 0;
	case 2:
		return floor(exp(12 * drand48()));
	default:
		return cell == cells - 1 ? 3000 : (double)(lrand48() % 2);
	}
}

static double climb(const struct cairn_mixture *mixture, double *weights, int steps)
{
	double likelihood = 0;
	for (int step = 0; step < steps; step++) {
		double next[laws] = {0}, all = 0;
		likelihood = 0;
		for (size_t cell = 0; cell < mixture->cells; cell++) {
			double sum = 0;
			for (int law = 0; law < laws; law++)
				sum += weights[law] * chances[cell][law];
			if (!(mixture->count[cell] > 0) || !(sum > 0))
				continue;
			likelihood += mixture->count[cell] * log(sum);
			all += mixture->count[cell];
			for (int law = 0; law < laws; law++)
				next[law] += mixture->count[cell] * weights[law] * chances[cell][law] / sum;
		}
		for (int law = 0; law < laws && all > 0; law++)
			weights[law] = next[law] / all;
	}
	return likelihood;
}

static void test_maximum(void)
{
	double worst = 0;
	int below = 0;
	for (int i = 0; i < mixtures; i++) {
		struct cairn_mixture mixture;
		double weights[laws] = {0}, first[laws], climbed[laws];
		make_cells(&mixture, 20 + (size_t)lrand48() % 70);
		for (size_t cell = 0; cell < mixture.cells; cell++)
			mixture.count[cell] = count_of(i % 4, cell, mixture.cells);
		for (int law = i % 3 ? 0 : 4; law < laws; law++) /* some are left out */
			weights[law] = 1;
		memcpy(first, weights, sizeof first);
		memcpy(climbed, weights, sizeof climbed);
		double likelihood = cairn_mixture_fit(&mixture, weights), highest = climb(&mixture, climbed, 5000), sum = 0;
		worst = fmax(worst, highest - likelihood);
		for (int law = 0; law < laws; law++) {
			sum += weights[law];
			below += weights[law] < 0 || (first[law] == 0 && weights[law] != 0);
		}
		below += fabs(sum - 1) > 1e-9;
	}
	ok(worst < 0.011, "of %d mixtures none is better after 5,000 steps of expectation-maximization, but by %.4f", mixtures, worst);
	is_int(below, 0, "weights add up to 1, none is negative, and what was left out stays out");
}

static void test_truth(void)
{
	/* Lifetimes in classes, each twice as long as the one before; the last cell is what outlives them all. */
	enum { classes = 14 };
	static const double truth[laws] = {[2] = 0.3, [6] = 0.6, [never] = 0.1};
	struct cairn_mixture mixture = {.cells = classes + 1, .laws = laws};
	double weights[laws];
	for (size_t cell = 0; cell <= classes; cell++) {
		double from = cell ? ldexp(1, (int)cell - classes) : 0, to = cell < classes ? ldexp(1, (int)cell + 1 - classes) : INFINITY;
		for (int law = 0; law < laws; law++) {
			double mean = ldexp(1, 1 - law);
			chances[cell][law] = law == never ? cell == classes : exp(-from / mean) - exp(-to / mean);
			mixture.count[cell] += 1e6 * truth[law] * chances[cell][law];
		}
		mixture.chances[cell] = chances[cell];
	}
	for (int law = 0; law < laws; law++)
		weights[law] = 1;
	cairn_mixture_fit(&mixture, weights);
	ok(fabs(weights[never] - 0.1) < 0.01 && fabs(weights[6] - 0.6) < 0.05, "a million observations give the weights: %.3f never die",
	   weights[never]);
}

static void test_edges(void)
{
	struct cairn_mixture mixture;
	double weights[laws] = {0.5, 0.5};
	make_cells(&mixture, 0);
	ok(cairn_mixture_fit(&mixture, weights) == 0 && weights[0] == 0.5, "no cell leaves the weights as they are");
	make_cells(&mixture, 2);
	mixture.count[1] = 7; /* dead, but only what never dies takes part */
	memset(weights, 0, sizeof weights);
	weights[never] = 1;
	ok(cairn_mixture_fit(&mixture, weights) == 0 && weights[never] == 1, "what is impossible does not count");
	mixture.count[0] = 1e18;
	mixture.count[1] = 1;
	for (int law = 0; law < laws; law++)
		weights[law] = 1;
	ok(!isnan(cairn_mixture_fit(&mixture, weights)) && !isnan(weights[0]), "and huge counts end in numbers");
	memset(weights, 0, sizeof weights);
	ok(cairn_mixture_fit(&mixture, weights) == 0, "as do no weights at all");
}

int main(void)
{
	srand48(20261116);
	test_maximum();
	test_truth();
	test_edges();
	return tap_done();
}
