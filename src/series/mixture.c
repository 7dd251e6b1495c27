/* mixture.c - Newton's method for the weights of a mixture.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/mixture.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { laws_most = CAIRN_MIXTURE_LAWS };

/* The state of one fit: of the distributions that take part, the gradient and the negative second derivatives of the log-likelihood for one
 * observation. */
struct state {
	const struct cairn_mixture *mixture;
	size_t count, laws[laws_most]; /* those that take part */
	bool counts[CAIRN_MIXTURE_CELLS];
	double all; /* observations that count */
	double gradient[laws_most], curve[laws_most][laws_most];
};

static double chance_of(const struct state *state, size_t cell, const double *weights)
{
	const double *chances = state->mixture->chances[cell];
	double sum = 0;
	for (size_t i = 0; i < state->count; i++)
		sum += weights[i] * chances[state->laws[i]];
	return sum;
}

/* The log-likelihood of one observation at WEIGHTS. */
static double likelihood_at(const struct state *state, const double *weights)
{
	double sum = 0;
	for (size_t cell = 0; cell < state->mixture->cells; cell++)
		if (state->counts[cell])
			sum += state->mixture->count[cell] * log(chance_of(state, cell, weights));
	return sum / state->all;
}

static void derive(struct state *state, const double *weights)
{
	memset(state->gradient, 0, sizeof state->gradient);
	memset(state->curve, 0, sizeof state->curve);
	for (size_t cell = 0; cell < state->mixture->cells; cell++) {
		if (!state->counts[cell])
			continue;
		const double *chances = state->mixture->chances[cell];
		double share = state->mixture->count[cell] / state->all, sum = chance_of(state, cell, weights), ratio[laws_most];
		for (size_t i = 0; i < state->count; i++) {
			ratio[i] = chances[state->laws[i]] / sum;
			state->gradient[i] += share * ratio[i];
			for (size_t j = 0; j <= i; j++)
				state->curve[i][j] += share * ratio[i] * ratio[j];
		}
	}
	for (size_t i = 0; i < state->count; i++)
		for (size_t j = 0; j < i; j++)
			state->curve[j][i] = state->curve[i][j];
}

/* Solves curve * SOLUTION = RIGHT for the distributions that are FREE, by Cholesky's method. A slight ridge keeps it solvable where two
 * distributions are the same. The solution of others is zero. */
static void solve(const struct state *state, const bool *free, const double *right, double *solution)
{
	static const double ridge = 1e-10;
	double low[laws_most][laws_most];
	size_t at[laws_most], count = 0;
	for (size_t i = 0; i < state->count; i++) {
		solution[i] = 0;
		if (free[i])
			at[count++] = i;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j <= i; j++) {
			double sum = state->curve[at[i]][at[j]] * (i == j ? 1 + ridge : 1);
			for (size_t k = 0; k < j; k++)
				sum -= low[i][k] * low[j][k];
			low[i][j] = i == j ? sqrt(fmax(sum, ridge * state->curve[at[i]][at[i]] + 1e-300)) : sum / low[j][j];
		}
	for (size_t i = 0; i < count; i++) {
		double sum = right[at[i]];
		for (size_t k = 0; k < i; k++)
			sum -= low[i][k] * solution[at[k]];
		solution[at[i]] = sum / low[i][i];
	}
	for (size_t i = count; i-- > 0;) {
		double sum = solution[at[i]];
		for (size_t k = i + 1; k < count; k++)
			sum -= low[k][i] * solution[at[k]];
		solution[at[i]] = sum / low[i][i];
	}
}

/* Sets NEXT to where the parabola through WEIGHTS is highest, of all that are not negative, by the active-set method of Lawson and Hanson.
 * The parabola's slope at weights U is 2 * gradient - 1 - curve * U, since curve * WEIGHTS is the gradient. */
static void top_of_parabola(const struct state *state, const double *weights, double *next)
{
	static const double least = 1e-9;
	bool free[laws_most];
	double right[laws_most], solution[laws_most];
	for (size_t i = 0; i < state->count; i++) {
		free[i] = weights[i] > 0;
		next[i] = weights[i];
		right[i] = 2 * state->gradient[i] - 1;
	}
	for (size_t round = 0; round < 3 * state->count; round++) {
		solve(state, free, right, solution);
		double step = 1;
		for (size_t i = 0; i < state->count; i++)
			if (free[i] && solution[i] <= 0)
				step = fmin(step, next[i] / (next[i] - solution[i]));
		for (size_t i = 0; i < state->count; i++) {
			next[i] = free[i] ? next[i] + step * (solution[i] - next[i]) : 0;
			if (free[i] && step < 1 && solution[i] <= 0 && next[i] <= least) {
				free[i] = false;
				next[i] = 0;
			}
		}
		if (step < 1)
			continue;
		size_t best = state->count;
		double most = least;
		for (size_t i = 0; i < state->count; i++) {
			double slope = right[i];
			for (size_t j = 0; j < state->count; j++)
				slope -= state->curve[i][j] * next[j];
			if (!free[i] && slope > most) {
				most = slope;
				best = i;
			}
		}
		if (best == state->count)
			return;
		free[best] = true;
	}
}

/* Moves WEIGHTS towards NEXT as far as the likelihood rises about as much as its slope promises. A weight may shrink, but never to nothing,
 * in one step: a parabola says little of the logarithm of something that is nearly impossible. */
static void step_to(const struct state *state, double *weights, const double *next)
{
	enum { halvings = 30 };
	static const double least_left = 0.05, least_rise = 0.1;
	double before = likelihood_at(state, weights), target[laws_most], tried[laws_most], sum = 0, rest = 0, slope = 0, step = 1;
	for (size_t i = 0; i < state->count; i++)
		sum += next[i];
	for (size_t i = 0; i < state->count; i++)
		rest += target[i] = fmax(sum > 0 ? next[i] / sum : 0, least_left * weights[i]);
	for (size_t i = 0; i < state->count; i++) {
		target[i] /= rest;
		slope += state->gradient[i] * (target[i] - weights[i]);
	}
	for (int half = 0; half < halvings; half++, step /= 2) {
		for (size_t i = 0; i < state->count; i++)
			tried[i] = weights[i] + step * (target[i] - weights[i]);
		if (likelihood_at(state, tried) >= before + least_rise * step * slope) {
			memcpy(weights, tried, state->count * sizeof *weights);
			return;
		}
	}
}

static void begin(struct state *state, const struct cairn_mixture *mixture, const double *weights, double *own)
{
	double sum = 0;
	*state = (struct state){.mixture = mixture};
	for (size_t law = 0; law < mixture->laws; law++)
		sum += weights[law];
	for (size_t law = 0; law < mixture->laws; law++)
		if (weights[law] > 0) {
			own[state->count] = weights[law] / sum;
			state->laws[state->count++] = law;
		}
	for (size_t cell = 0; cell < mixture->cells; cell++) {
		state->counts[cell] = mixture->count[cell] > 0 && chance_of(state, cell, own) > 0;
		state->all += state->counts[cell] ? mixture->count[cell] : 0;
	}
}

double cairn_mixture_fit(const struct cairn_mixture *mixture, double *weights)
{
	enum { steps_most = 100 };
	static const double precision = 0.01;
	struct state state;
	double own[laws_most] = {0}, next[laws_most];
	begin(&state, mixture, weights, own);
	for (int step = 0; step < steps_most && state.all > 0; step++) {
		double most = 0;
		derive(&state, own);
		for (size_t i = 0; i < state.count; i++)
			most = fmax(most, state.gradient[i] - 1);
		if (most * state.all < precision)
			break;
		top_of_parabola(&state, own, next);
		step_to(&state, own, next);
	}
	for (size_t i = 0; i < state.count; i++)
		weights[state.laws[i]] = own[i];
	return state.all > 0 ? state.all * likelihood_at(&state, own) : 0;
}
