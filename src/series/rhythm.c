/* rhythm.c - fits a line and a wave by least squares.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/rhythm.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* A line has two terms, a wave with its overtone four. */
enum { line_terms = 2, terms = 6 };
/* The minimum number of moments, of moments in a period, and of periods. */
enum { moments_least = 16, moments_in_period = 5, periods_least = 2 };
/* Points closer together than this share of a period are one moment: they show the same part of it. If 64 points are evenly spaced, those
 * of two periods are no closer. */
static const double moment_share = 1 / 32.0;
/* A wave must explain this share of the variance that a line leaves. Of random walks with 24 to 64 steps, hardly one in a thousand reaches
 * it. */
static const double explained_least = 0.85;
/* The ratio of neighbouring periods: if the whole time has two periods, they differ by less than a tenth of a turn at its ends. */
static const double period_step = 0.97;

/* The moments of a period: points that are close together, as their mean. */
struct moments {
	double hours[CAIRN_RHYTHM_POINTS]; /* after the first point */
	double values[CAIRN_RHYTHM_POINTS];
	size_t count;
};

static void set_terms(double hours, double span, double period, double *row)
{
	double turn = 2 * M_PI * hours / period;
	const double all[terms] = {1, hours / span - 0.5, cos(turn), sin(turn), cos(2 * turn), sin(2 * turn)};
	memcpy(row, all, sizeof all);
}

/* Finds the first COUNT coefficients that fit best. Returns the remaining sum of squares, or infinity if there is no unique solution. */
static double fit(const struct moments *moments, double span, double period, int count, double *coefficients)
{
	double matrix[terms][terms + 1] = {0}, row[terms], left = 0;
	for (size_t i = 0; i < moments->count; i++) {
		set_terms(moments->hours[i], span, period, row);
		for (int r = 0; r < count; r++) {
			for (int c = 0; c < count; c++)
				matrix[r][c] += row[r] * row[c];
			matrix[r][count] += row[r] * moments->values[i];
		}
	}
	for (int pivot = 0; pivot < count; pivot++) {
		if (!(matrix[pivot][pivot] > 1e-9 * (double)moments->count))
			return INFINITY;
		for (int r = 0; r < count; r++) {
			double factor = r == pivot ? 0 : matrix[r][pivot] / matrix[pivot][pivot];
			for (int c = pivot; c <= count && factor != 0; c++)
				matrix[r][c] -= factor * matrix[pivot][c];
		}
	}
	for (int r = 0; r < count; r++)
		coefficients[r] = matrix[r][count] / matrix[r][r];
	for (size_t i = 0; i < moments->count; i++) {
		double residue = moments->values[i];
		set_terms(moments->hours[i], span, period, row);
		for (int r = 0; r < count; r++)
			residue -= coefficients[r] * row[r];
		left += residue * residue;
	}
	return left;
}

static void find_moments(const double *hours, const double *values, size_t count, double period, struct moments *moments)
{
	moments->count = 0;
	for (size_t start = 0, end; start < count; start = end) {
		double hours_sum = 0, values_sum = 0;
		for (end = start; end < count && hours[end] - hours[start] <= moment_share * period; end++) {
			hours_sum += hours[end] - hours[0];
			values_sum += values[end];
		}
		moments->hours[moments->count] = hours_sum / (double)(end - start);
		moments->values[moments->count++] = values_sum / (double)(end - start);
	}
}

/* Whether no part of PERIOD is unseen: where no dump was taken, a wave can be bent at will. */
static bool covers(const struct moments *moments, double period)
{
	double longest = 0;
	for (size_t i = 1; i < moments->count; i++)
		longest = fmax(longest, moments->hours[i] - moments->hours[i - 1]);
	return moments->count >= moments_least && period >= moments_in_period * longest;
}

bool cairn_rhythm_remove(const double *hours, const double *values, size_t count, double *out, double *period_hours)
{
	double best = 1 - explained_least, coefficients[terms], best_coefficients[terms] = {0};
	struct moments moments;
	assert(count <= CAIRN_RHYTHM_POINTS);
	if (count < moments_least || !(hours[count - 1] > hours[0]))
		return false;
	double span = hours[count - 1] - hours[0], period = span / periods_least;
	*period_hours = 0;
	for (int tried = 0; tried < CAIRN_RHYTHM_PERIODS; tried++, period *= period_step) {
		find_moments(hours, values, count, period, &moments);
		if (!covers(&moments, period))
			continue;
		double line = fit(&moments, span, period, line_terms, coefficients);
		double wave = fit(&moments, span, period, terms, coefficients);
		double left = wave / (double)(moments.count - terms) / (line / (double)(moments.count - line_terms));
		if (left <= best) {
			best = left;
			*period_hours = period;
			memcpy(best_coefficients, coefficients, sizeof coefficients);
		}
	}
	if (*period_hours == 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		double row[terms];
		set_terms(hours[i] - hours[0], span, *period_hours, row);
		out[i] = values[i];
		for (int r = line_terms; r < terms; r++)
			out[i] -= best_coefficients[r] * row[r];
	}
	return true;
}
