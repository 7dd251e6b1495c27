/* contrast_test.c - two groups of instances, against numbers worked out by hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/contrast.h"

#include "tap.h"

#include <math.h>

static bool near(double value, double wanted)
{
	return fabs(value - wanted) <= 1e-3 * fmax(1, fabs(wanted));
}

static void add(struct cairn_contrast *contrast, int group, double f, double g)
{
	cairn_contrast_instance(contrast, group, f + g);
	cairn_contrast_add(contrast, group, cairn_bytes_of("f"), f);
	if (g > 0)
		cairn_contrast_add(contrast, group, cairn_bytes_of("g"), g);
}

int main(void)
{
	/* f: 10, 12, 14 before (mean 12, variance 4), 20, 24, 28 after (mean 24, variance 16). Welch: the error is sqrt(4/3 + 16/3) =
	 * 2.58199, with (20/3)^2 / ((4/3)^2/2 + (16/3)^2/2) = 2.94118 degrees of freedom; Student's 97.5 % point of that is 3.21876. */
	struct cairn_contrast contrast = {0};
	for (int i = 0; i < 3; i++) {
		add(&contrast, 0, 10 + 2 * i, 5);
		add(&contrast, 1, 20 + 4 * i, i == 0 ? 0 : 5);
	}
	cairn_contrast_finish(&contrast);
	is_int(contrast.count, 2, "two rows");
	const struct cairn_contrast_row *f = &contrast.rows[0], *g = &contrast.rows[1];
	is_text(cairn_strings_text(&contrast.names, f->name), "f", "the larger change first");
	ok(near(f->before, 12) && near(f->after, 24) && near(f->change, 12), "its means");
	ok(near(f->low, 12 - 3.21876 * 2.58199) && near(f->high, 12 + 3.21876 * 2.58199), "and its interval: %g to %g", f->low, f->high);
	ok(near(g->before, 5) && near(g->after, 10.0 / 3), "an instance that lacks a row has nothing of it");
	ok(near(contrast.total.before, 17) && near(contrast.total.after, 24 + 10.0 / 3), "the total");
	ok(g->low < 0 && g->high > 0 && !cairn_contrast_differs(g), "what one of three lacks is no difference");
	cairn_contrast_free(&contrast);

	contrast = (struct cairn_contrast){0};
	add(&contrast, 0, 10, 0);
	add(&contrast, 1, 30, 0);
	add(&contrast, 1, 32, 0);
	cairn_contrast_finish(&contrast);
	ok(isnan(contrast.rows[0].low) && !cairn_contrast_differs(&contrast.rows[0]), "one instance says nothing about scatter");
	cairn_contrast_free(&contrast);

	contrast = (struct cairn_contrast){0};
	for (int i = 0; i < 40; i++) {
		add(&contrast, i % 2, 100 + i % 5 + (i % 2 ? 20 : 0), 1000 + 300 * ((i / 2) % 3) + (i % 2 ? 40 : 0));
	}
	cairn_contrast_finish(&contrast);
	is_text(cairn_strings_text(&contrast.names, contrast.rows[0].name), "f", "what differs stands before what only may");
	is_int(cairn_contrast_differs(&contrast.rows[0]) && !cairn_contrast_differs(&contrast.rows[1]), 1,
	       "20 of 100 +- 2 differ, 40 of 1300 +- 250 may not");
	cairn_contrast_free(&contrast);

	contrast = (struct cairn_contrast){0};
	cairn_contrast_finish(&contrast);
	is_int(contrast.count, 0, "nothing in, nothing out");
	cairn_contrast_free(&contrast);
	return tap_done();
}
