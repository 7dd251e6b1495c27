/* contrast.c - sums over two groups, and Welch's test.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/contrast.h"

#include "base/array.h"
#include "series/law.h"

#include <math.h>
#include <stdlib.h>

static const double false_alarms = 0.05; /* over all rows together, as a 95 % interval has for one */

static void add_value(struct cairn_contrast_row *row, int group, double value)
{
	row->sums[group] += value;
	row->squares[group] += value * value;
}

void cairn_contrast_instance(struct cairn_contrast *contrast, int group, double total)
{
	contrast->instances[group]++;
	add_value(&contrast->total, group, total);
}

void cairn_contrast_add(struct cairn_contrast *contrast, int group, struct cairn_bytes name, double value)
{
	uint32_t id = cairn_strings_add(&contrast->names, name), *at = cairn_map_at(&contrast->index, id);
	if (*at == CAIRN_NONE) {
		*at = (uint32_t)contrast->count;
		cairn_array_room(contrast->rows, contrast->count, contrast->capacity);
		contrast->rows[contrast->count++] = (struct cairn_contrast_row){.name = id};
	}
	add_value(&contrast->rows[*at], group, value);
}

static void judge(const struct cairn_contrast *contrast, struct cairn_contrast_row *row, double comparisons)
{
	double means[2], variances[2] = {0}, freedom = 0;
	bool known = true;
	for (int group = 0; group < 2; group++) {
		double count = (double)contrast->instances[group];
		means[group] = count > 0 ? row->sums[group] / count : 0;
		known &= count >= 2;
		if (count >= 2)
			variances[group] = fmax(0, row->squares[group] - count * means[group] * means[group]) / (count - 1) / count;
	}
	double variance = variances[0] + variances[1];
	row->before = means[0];
	row->after = means[1];
	row->change = means[1] - means[0];
	row->low = row->high = NAN;
	row->chance = 1;
	if (!known)
		return;
	for (int group = 0; group < 2; group++)
		freedom += variances[group] * variances[group] / ((double)contrast->instances[group] - 1);
	/* All values within each group are equal, so the change is exact. */
	if (!(variance > 0) || !(freedom > 0)) {
		row->low = row->high = row->change;
		row->chance = row->change == 0 ? 1 : 0;
		return;
	}
	freedom = variance * variance / freedom;
	double reach = cairn_law_student_quantile(0.025, freedom) * sqrt(variance);
	row->low = row->change - reach;
	row->high = row->change + reach;
	row->chance = fmin(1, 2 * comparisons * cairn_law_student_above(fabs(row->change) / sqrt(variance), freedom));
}

bool cairn_contrast_differs(const struct cairn_contrast_row *row)
{
	return row->chance <= false_alarms;
}

static int compare_rows(const void *a, const void *b)
{
	const struct cairn_contrast_row *one = a, *other = b;
	bool differs = cairn_contrast_differs(one), also = cairn_contrast_differs(other);
	double change = fabs(one->change), against = fabs(other->change);
	if (differs != also)
		return also - differs;
	if (change != against)
		return change < against ? 1 : -1;
	return (one->name > other->name) - (one->name < other->name);
}

void cairn_contrast_finish(struct cairn_contrast *contrast)
{
	for (size_t i = 0; i < contrast->count; i++)
		judge(contrast, &contrast->rows[i], (double)contrast->count);
	judge(contrast, &contrast->total, 1);
	if (contrast->count > 0)
		qsort(contrast->rows, contrast->count, sizeof *contrast->rows, compare_rows);
}

void cairn_contrast_free(struct cairn_contrast *contrast)
{
	cairn_strings_free(&contrast->names);
	cairn_map_free(&contrast->index);
	free(contrast->rows);
}
