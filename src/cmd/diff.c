/* diff.c - `cairn diff`: what grew, shrank, came and went between two dumps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/diff.h"

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

static const struct cairn_option_refusal refusals[] = {{"edgefraction", NULL}, {0}};

const struct cairn_command cairn_command_diff = {
	.name = "diff",
	.summary = "compare two dumps: what grew, shrank, appeared and disappeared",
	.arguments = "BEFORE AFTER",
	.detail = "Compares the Self of each function, or with --cum its Total. Shows 10 rows per section by default.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.compares = true, .fits = true, .folds = true, .rows = 10, .write = cairn_diff_report},
};
