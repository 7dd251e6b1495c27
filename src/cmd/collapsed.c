/* collapsed.c - `cairn collapsed`: folded text for flame graph tools.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/collapsed.h"

static const struct cairn_option_group groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"what is shown", cairn_view_option_table, 0},
	{"filters", cairn_filter_option_table, 0},
	{"sources", cairn_source_option_table, offsetof(struct cairn_view_setup, source)},
	{0},
};

static bool show(const void *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json, struct cairn_error *error)
{
	(void)options, (void)json, (void)error;
	cairn_collapsed_text(view, out);
	return true;
}

const struct cairn_command cairn_command_collapsed = {
	.name = "collapsed",
	.summary = "folded text, one line for each stack, root to leaf",
	.arguments = "SOURCE...",
	.groups = groups,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.bare = true, .show = show},
};
