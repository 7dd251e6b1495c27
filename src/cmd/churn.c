/* churn.c - `cairn churn`: what is allocated and freed again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/churn.h"

enum { default_rows = 20 };

static void prepare(void *options)
{
	struct cairn_view_setup *setup = options;
	setup->source.with_freed = true;
}

static const char reason[] = "'cairn churn' takes one dump as it is: neither --sum, --tree, --base, --thread, --older, --younger, "
			     "--peak, --slack, --fragmentation, --mappings, --tagfocus nor --tagignore";

static const struct cairn_option_refusal refusals[] = {
	{"sum", reason}, {"tree", reason}, {"base", reason}, {"normalize", reason}, {"thread", reason}, {"older", reason},
	{"younger", reason}, {"peak", reason}, {"slack", reason}, {"fragmentation", reason}, {"mappings", reason}, {"tagfocus", reason},
	{"tagignore", reason},
	{"errors", NULL}, {"cum", NULL}, {"nodefraction", NULL}, {"edgefraction", NULL}, {"drop-negative", NULL},
	CAIRN_UNFOLDED_REFUSALS,
	{0},
};

/* In the shell, options may have been set before. */
static bool check(const void *options, struct cairn_error *error)
{
	return cairn_view_is_whole(options) || cairn_fail_usage(error, "%s", reason);
}

static bool show(const void *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json, struct cairn_error *error)
{
	struct cairn_shape shape = cairn_view_shape(options, default_rows, 0, 0);
	if (!view->profile->freed)
		return cairn_fail(error, "the profile does not say what was freed; dumps of Cairn's own engine do (engine:cairn)");
	if (json)
		cairn_churn_json(view, &shape, json);
	else
		cairn_churn_text(view, &shape, out);
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
	.view = &(const struct cairn_view_command){.prepare = prepare, .check = check, .show = show},
};
