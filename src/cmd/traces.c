/* traces.c - `cairn traces`: every stack.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/traces.h"

static const struct cairn_option_refusal refusals[] = {{"cum", NULL}, {"edgefraction", NULL}, CAIRN_UNFOLDED_REFUSALS, {0}};

const struct cairn_command cairn_command_traces = {
	.name = "traces",
	.summary = "print every stack with its value and labels",
	.arguments = "SOURCE...",
	.detail = "Prints the largest stack first, each from the allocating function to the outermost caller.",
	.groups = cairn_report_groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.write = cairn_traces_write},
};
