/* churn.c - `cairn churn`: what is allocated and freed again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/churn.h"

static void prepare(void *options)
{
	struct cairn_view_setup *setup = options;
	setup->source.with_freed = true;
}

static const char reason[] = "'cairn churn' takes one dump as it is: neither sums and differences (--sum, --tree, --base), parts (--thread, "
			     "--older, --younger, --tagfocus, --tagignore) nor other values (--peak, --slack, ...)";

static const struct cairn_option_refusal refusals[] = {
	{.table = cairn_combine_option_table, .why = reason}, {.table = cairn_shown_option_table, .why = reason},
	{"thread", reason}, {"older", reason}, {"younger", reason}, {"tagfocus", reason}, {"tagignore", reason},
	{.name = "errors"}, {.name = "cum"}, {.name = "nodefraction"}, {.name = "edgefraction"}, {.name = "drop-negative"},
	{0},
};

/* In the shell, options may have been set before. */
static bool check(const void *options, struct cairn_error *error)
{
	return cairn_view_is_whole(options) || cairn_fail_usage(error, "%s", reason);
}

static bool show(const void *options, struct cairn_report *report, struct cairn_error *error)
{
	(void)options;
	if (!report->view->profile->freed)
		return cairn_fail(error, "the profile does not say what was freed; dumps of Cairn's own engine do (engine:cairn)");
	cairn_churn_write(report);
	return true;
}

const struct cairn_command cairn_command_churn = {
	.name = "churn",
	.summary = "show what is allocated and freed again, how often and how soon",
	.arguments = "SOURCE",
	.detail = "SOURCE is one dump of Cairn's own engine, or a process that it samples. Shows 20 call paths by default.",
	.groups = cairn_report_groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){
		.prepare = prepare, .check = check, .fits = true, .folds = true, .rows = 20, .show = show},
};
