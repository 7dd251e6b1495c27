/* disasm.c - `cairn disasm`: machine code with what each instruction holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/disasm.h"

static const struct cairn_option_refusal refusals[] = {
	{"nodecount", NULL}, {"rows", NULL}, {"cum", NULL}, {"nodefraction", NULL}, {"edgefraction", NULL},
	{"functions", NULL}, {"files", NULL}, {"lines", NULL}, CAIRN_UNFOLDED_REFUSALS,
	{0},
};

static void prepare(void *options)
{
	struct cairn_view_setup *setup = options;
	setup->view.granularity = CAIRN_BY_ADDRESS;
	setup->view.no_inlines = true;
}

static bool show(const void *options, struct cairn_report *report, struct cairn_error *error)
{
	const struct cairn_view_setup *setup = options;
	struct cairn_disasm disasm;
	struct cairn_find_options find = cairn_source_find(&setup->source);
	bool good = cairn_disasm_make(&disasm, report->view, setup->pattern, true, &find, error) && cairn_disasm_write(&disasm, report, error);
	cairn_disasm_free(&disasm);
	return good;
}

const struct cairn_command cairn_command_disasm = {
	.name = "disasm",
	.summary = "show machine code with the memory allocated at each instruction",
	.arguments = "REGEX SOURCE...",
	.detail = "Runs objdump on the module's file. Values appear beside the calls that allocated memory or led to an allocation.",
	.groups = cairn_report_groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.takes_pattern = true, .prepare = prepare, .show = show},
};
