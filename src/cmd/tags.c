/* tags.c - `cairn tags`: memory by thread, age, size and other labels.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/tags.h"

static const struct cairn_option_refusal refusals[] = {
	{"cum", NULL}, {"nodefraction", NULL}, {"edgefraction", NULL},
	{0},
};

static void prepare(void *options)
{
	struct cairn_view_setup *setup = options;
	setup->source.split_threads = setup->source.split_ages = true;
}

static bool show(const void *options, struct cairn_report *report, struct cairn_error *error)
{
	(void)options;
	return cairn_tags_write(report) || cairn_fail(error, "the profile has no labels: it records neither threads, ages nor sizes");
}

const struct cairn_command cairn_command_tags = {
	.name = "tags",
	.summary = "show memory by thread, age, object size and other labels",
	.arguments = "SOURCE...",
	.detail = "Prints a table for each label. If the profile has no object sizes, 'bytes' is the mean size in each stack. "
		  "Shows 30 rows of each by default.",
	.groups = cairn_report_groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.prepare = prepare, .fits = true, .folds = true, .rows = 30, .show = show},
};
