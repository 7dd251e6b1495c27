/* diff.c - `cairn diff`: what grew, shrank, came and went between two dumps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/diff.h"

enum { default_rows = 10 };

static const struct cairn_option table[] = {
	{0, "cum", NULL, "compare cumulative sizes (Total)", CAIRN_OPTION_FLAG, offsetof(struct cairn_view_setup, shape.by_cum), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, cairn_report_option_table, 0},
	{NULL, table, 0},
	CAIRN_VIEW_GROUPS,
	{"output", cairn_output_option_table, 0},
	{0},
};

static const struct cairn_option_refusal refusals[] = {{"edgefraction", NULL}, CAIRN_UNFOLDED_REFUSALS, {0}};

static bool show(const void *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json, struct cairn_error *error)
{
	(void)error;
	struct cairn_shape shape = cairn_view_shape(options, default_rows, 0, 0);
	struct cairn_diff diff;
	cairn_diff_make(&diff, view, &shape);
	if (json)
		cairn_diff_json(&diff, view, &shape, json);
	else
		cairn_diff_text(&diff, view, &shape, out);
	cairn_diff_free(&diff);
	return true;
}

const struct cairn_command cairn_command_diff = {
	.name = "diff",
	.summary = "compare two dumps: what grew, shrank, appeared and disappeared",
	.arguments = "BEFORE AFTER",
	.detail = "Compares the Self of each function, or with --cum its Total. Shows 10 rows per section by default.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.compares = true, .show = show},
};
