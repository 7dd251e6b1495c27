/* thin_test.c - the points that a picture needs, and the window that moves over all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/thin.h"

#include "tap.h"

#include <math.h>
#include <stdlib.h>

enum { points = 10000, width = 50 };

struct strokes {
	double low[width], high[width], first[width], last[width];
};

/* What is drawn in each column, by the COUNT points of ORDER (all of them, if it is NULL). */
static void draw(struct strokes *strokes, const uint32_t *columns, const double *values, const size_t *order, size_t count)
{
	for (size_t c = 0; c < width; c++)
		strokes->low[c] = INFINITY, strokes->high[c] = strokes->first[c] = -INFINITY;
	for (size_t i = 0; i < count; i++) {
		size_t point = order ? order[i] : i;
		uint32_t c = columns[point];
		strokes->first[c] = strokes->first[c] == -INFINITY ? values[point] : strokes->first[c];
		strokes->last[c] = values[point];
		strokes->low[c] = fmin(strokes->low[c], values[point]);
		strokes->high[c] = fmax(strokes->high[c], values[point]);
	}
}

static void test_thin(void)
{
	static uint32_t columns[points];
	static double values[points];
	static size_t kept[points];
	static struct strokes all, few;
	for (size_t i = 0; i < points; i++) {
		columns[i] = (uint32_t)(i * width / points);
		values[i] = (double)(i * 7919 % 997);
	}
	values[4321] = 5000; /* a peak of one dump */
	size_t count = cairn_thin(columns, values, 0, points, kept);
	ok(count <= 4 * width, "at most four points in a column");
	bool ordered = true;
	for (size_t i = 1; i < count; i++)
		ordered &= kept[i] > kept[i - 1];
	ok(ordered, "in order, each once");
	draw(&all, columns, values, NULL, points);
	draw(&few, columns, values, kept, count);
	ok(memcmp(&all, &few, sizeof all) == 0, "every column has the stroke that all points give");
	for (size_t i = 0; i < points; i++)
		columns[i] = (uint32_t)i;
	is_int((int64_t)cairn_thin(columns, values, 0, 100, kept), 100, "points with a column of their own all stay");
	is_int((int64_t)cairn_thin(columns, values, 5, 5, kept), 0, "none of none");
}

static void test_stretches(void)
{
	static const uint32_t columns[] = {0, 0, 0, 0, 1, 1, 2, 2, 2};
	static const double values[] = {1, 2, 9, 3, 1, 8, 4, 7, 6};
	struct cairn_stretch stretches[9], given[] = {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 5, 0}, {5, 7, 0}, {7, 8, 0}, {8, 9, 0}};
	size_t count = 0;
	for (size_t i = 0; i < sizeof given / sizeof *given; i++)
		count = cairn_thin_stretch(stretches, count, given[i], columns, values);
	is_int((int64_t)count, 4, "one of those within a column stays, and all that are wider");
	ok(stretches[0].start == 2 && stretches[1].start == 3 && stretches[2].start == 5 && stretches[3].start == 7, "the highest");
}

static void test_window(void)
{
	enum { few = 300 };
	static double x[few], values[few], most[few], least[few];
	static size_t queue[few];
	for (size_t i = 0; i < few; i++) {
		x[i] = (double)(i + i * i % 7);
		values[i] = (double)(i * 31 % 101);
	}
	for (size_t i = 1; i < few; i++)
		x[i] = fmax(x[i], x[i - 1]);
	struct cairn_stretch all = {.start = 10, .end = few};
	bool right = true;
	cairn_thin_window(x, values, 1, 6, all, queue, most);
	cairn_thin_window(x, values, -1, 6, all, queue, least);
	for (size_t i = all.start; i < all.end; i++) {
		double high = -INFINITY, low = INFINITY;
		for (size_t j = all.start; j < all.end; j++)
			if (fabs(x[j] - x[i]) <= 6) {
				high = fmax(high, values[j]);
				low = fmin(low, values[j]);
			}
		right &= most[i] == high && least[i] == low;
	}
	ok(right, "the largest and the smallest value around each point, as looking at every pair finds them");
}

int main(void)
{
	test_thin();
	test_stretches();
	test_window();
	return tap_done();
}
