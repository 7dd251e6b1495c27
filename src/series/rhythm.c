/* rhythm.c - fits a line and a wave by least squares.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/rhythm.h"

#include <math.h>
#include <string.h>

/* A line has two terms, a wave with its overtone four. */
enum { line_terms = 2, terms = 6 };
/* The minimum number of points, of points in a period, and of periods. */
enum { points_least = 16, points_in_period = 5, periods_least = 2 };
/* A wave must explain this share of the variance that a line leaves. Of random walks with 24 to 64 steps, hardly one in a thousand reaches
 * it. */
static const double explained_least = 0.85;
/* The ratio of neighbouring periods: if the whole time has two periods, they differ by less than a tenth of a turn at its ends. */
static const double period_step = 0.97;

static void set_terms(double hours, double span, double period, double *row)
{
	double turn = 2 * M_PI * hours / period;
	const double all[terms] = {1, hours / span - 0.5, cos(turn), sin(turn), cos(2 * turn), sin(2 * turn)};
	memcpy(row, all, sizeof all);
}

/* Finds the first COUNT coefficients that fit best. Returns the remaining sum of squares, or infinity if there is no unique solution. */
static double fit(const double *hours, const double *values, size_t points, double period, int count, double *coefficients)
{
	double matrix[terms][terms + 1] = {0}, row[terms], left = 0, span = hours[points - 1] - hours[0];
	for (size_t i = 0; i < points; i++) {
		set_terms(hours[i] - hours[0], span, period, row);
		for (int r = 0; r < count; r++) {
			for (int c = 0; c < count; c++)
				matrix[r][c] += row[r] * row[c];
			matrix[r][count] += row[r] * values[i];
		}
	}
	for (int pivot = 0; pivot < count; pivot++) {
		if (!(matrix[pivot][pivot] > 1e-9 * (double)points))
			return INFINITY;
		for (int r = 0; r < count; r++) {
			double factor = r == pivot ? 0 : matrix[r][pivot] / matrix[pivot][pivot];
			for (int c = pivot; c <= count && factor != 0; c++)
				matrix[r][c] -= factor * matrix[pivot][c];
		}
	}
	for (int r = 0; r < count; r++)
		coefficients[r] = matrix[r][count] / matrix[r][r];
	for (size_t i = 0; i < points; i++) {
		double residue = values[i];
		set_terms(hours[i] - hours[0], span, period, row);
		for (int r = 0; r < count; r++)
			residue -= coefficients[r] * row[r];
		left += residue * residue;
	}
	return left;
}

bool cairn_rhythm_remove(const double *hours, const double *values, size_t count, double *out, double *period_hours)
{
	double best = INFINITY, coefficients[terms], best_coefficients[terms] = {0};
	if (count < points_least || !(hours[count - 1] > hours[0]))
		return false;
	double span = hours[count - 1] - hours[0], period = span / periods_least, shortest = points_in_period * span / (double)(count - 1);
	double line = fit(hours, values, count, period, line_terms, coefficients);
	for (int tried = 0; tried < CAIRN_RHYTHM_PERIODS && period >= shortest; tried++, period *= period_step) {
		double left = fit(hours, values, count, period, terms, coefficients);
		if (left < best) {
			best = left;
			*period_hours = period;
			memcpy(best_coefficients, coefficients, sizeof coefficients);
		}
	}
	double of_line = line / (double)(count - line_terms), of_wave = best / (double)(count - terms);
	if (!(of_wave <= (1 - explained_least) * of_line))
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
