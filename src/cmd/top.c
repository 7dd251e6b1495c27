/* top.c - `cairn top`: who holds the memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/tags.h"
#include "report/top.h"

static const struct cairn_option_refusal refusals[] = {{"edgefraction", NULL}, {0}};

static bool show(const void *options, struct cairn_report *report, struct cairn_error *error)
{
	(void)error;
	cairn_top_write(report);
	if (((const struct cairn_view_setup *)options)->source.tree) {
		if (!report->json)
			cairn_buffer_byte(report->out, '\n');
		cairn_tags_write(report);
	}
	return true;
}

const struct cairn_command cairn_command_top = {
	.name = "top",
	.summary = "show which functions hold the memory",
	.arguments = "SOURCE...",
	.detail = "Shows 30 rows by default.",
	.groups = cairn_report_groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.folds = true, .rows = 30, .show = show},
};
