/* diff_test.c - grown, shrunk, new and gone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/diff.h"

#include "fixture.h"
#include "profile/combine.h"

static const char *section(const struct cairn_diff *diff, const struct cairn_view *view, enum cairn_diff_kind kind)
{
	static char text[256];
	text[0] = '\0';
	for (size_t i = 0; i < diff->sections[kind].count; i++) {
		const struct cairn_diff_row *row = &diff->sections[kind].rows[i];
		sprintf(text + strlen(text), "%s%s %.0f>%.0f", i ? " " : "", cairn_view_name(view, row->entry).data, row->before,
			row->after);
	}
	return text;
}

int main(void)
{
	struct cairn_profile before, now, sum;
	struct cairn_error error;
	struct cairn_combine combine;
	struct cairn_view view;
	struct cairn_diff diff;
	cairn_profile_init(&before);
	cairn_profile_init(&now);
	cairn_profile_init(&sum);
	cairn_profile_read(&before, cairn_bytes_of("m;grows 10\nm;shrinks 10\nm;goes 5\nm;stays 3\nm;more 1\n"), "before", NULL, &error);
	cairn_profile_read(&now, cairn_bytes_of("m;grows 15\nm;x;grows 3\nm;shrinks 4\nm;comes 2\nm;stays 3\nm;more 9\n"), "now", NULL,
			   &error);
	cairn_combine_start(&combine, &sum);
	cairn_combine_add(&combine, &now, 1, &error);
	cairn_combine_add(&combine, &before, -1, &error);
	cairn_combine_finish(&combine);
	ok(cairn_view_make(&view, &sum, &(struct cairn_view_options){0}, &error), "view");
	cairn_diff_make(&diff, &view, &(struct cairn_shape){0});
	is_text(section(&diff, &view, CAIRN_DIFF_GROWN), "grows 10>18 more 1>9", "grown, equal changes by name");
	is_text(section(&diff, &view, CAIRN_DIFF_SHRUNK), "shrinks 10>4", "shrunk");
	is_text(section(&diff, &view, CAIRN_DIFF_NEW), "comes 0>2", "new");
	is_text(section(&diff, &view, CAIRN_DIFF_GONE), "goes 5>0", "gone");
	is_near(diff.sections[CAIRN_DIFF_GROWN].total, 16, 1e-9, "the sum of a section");
	is_near(diff.before, 29, 1e-9, "before in all");
	is_near(diff.after, 36, 1e-9, "after in all");
	cairn_diff_free(&diff);
	cairn_diff_make(&diff, &view, &(struct cairn_shape){.by_cum = true});
	is_text(section(&diff, &view, CAIRN_DIFF_NEW), "x 0>3 comes 0>2", "by what passes through");
	cairn_diff_free(&diff);
	cairn_view_free(&view);
	cairn_combine_normalize(&sum);
	is_near(cairn_profile_total(&sum, 0), 0, 1e-9, "normalized, nothing is left in all");
	is_near(sum.values[0], 15 - 10 * 36.0 / 29, 1e-9, "the base is scaled to what there is now");
	cairn_profile_free(&before);
	cairn_profile_free(&now);
	cairn_profile_free(&sum);
	return tap_done();
}
