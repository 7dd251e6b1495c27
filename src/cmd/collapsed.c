/* collapsed.c - `cairn collapsed`: folded text for flame graph tools.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/collapsed.h"

struct options {
	struct cairn_view_setup setup;
	bool two_columns;
};

static const struct cairn_option table[] = {
	{0, "two-columns", NULL, "with --base: print the base's and the profile's value on each line instead of the change",
	 CAIRN_OPTION_FLAG, offsetof(struct options, two_columns), 0},
	{0, "errors", NULL, NULL, CAIRN_OPTION_FLAG, offsetof(struct options, setup.view.errors), 0}, /* which is refused */
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"lines", table, 0},
	CAIRN_FORMAT_GROUPS,
	{0},
};

static const struct cairn_option_refusal refusals[] = {CAIRN_UNFOLDED_REFUSALS, {0}};

static void prepare(void *values)
{
	struct options *options = values;
	options->setup.source.columns_compare = options->two_columns;
}

static bool show(const void *values, struct cairn_report *report, struct cairn_error *error)
{
	const struct options *options = values;
	if (options->two_columns && !report->view->profile->base)
		return cairn_fail(error, "--two-columns needs a --base to compare with");
	cairn_collapsed_text(report->view, options->two_columns ? CAIRN_COLLAPSED_BEFORE_AFTER : CAIRN_COLLAPSED_VALUE, report->out);
	return true;
}

const struct cairn_command cairn_command_collapsed = {
	.name = "collapsed",
	.summary = "print folded stacks, one per line, for flame graph tools",
	.arguments = "SOURCE...",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){.bare = true,
						   .suffixes = (const char *const[]){".folded", NULL},
						   .without_errors = "folded text",
						   .prepare = prepare,
						   .show = show},
};
