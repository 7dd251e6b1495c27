/* tree.c - `cairn tree` and `cairn peek`: each function between its callers and its callees.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/pattern.h"
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/peek.h"

static const struct cairn_option_refusal refusals[] = {CAIRN_UNFOLDED_REFUSALS, {0}};

static bool show_peek(const void *options, struct cairn_report *report, struct cairn_error *error)
{
	const struct cairn_view_setup *setup = options;
	struct cairn_graph graph;
	struct cairn_pattern *pattern = cairn_pattern_compile(setup->pattern, error);
	if (!pattern)
		return false;
	cairn_graph_make_around(&graph, report->view, &report->shape, pattern);
	bool any = cairn_peek_write(report, &graph, pattern);
	cairn_graph_free(&graph);
	cairn_pattern_free(pattern);
	return any || cairn_fail(error, "no function matches '%s'; 'cairn top' lists the names", setup->pattern);
}

const struct cairn_command cairn_command_tree = {
	.name = "tree",
	.summary = "show each function between its callers and callees",
	.arguments = "SOURCE...",
	.detail = "Shows 80 rows by default, without functions below 0.005 of the total and calls below 0.001.",
	.groups = cairn_report_groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.rows = 80, .node_fraction = 0.005, .edge_fraction = 0.001, .write = cairn_tree_report},
};

const struct cairn_command cairn_command_peek = {
	.name = "peek",
	.summary = "show the callers and callees of matching functions",
	.arguments = "REGEX SOURCE...",
	.groups = cairn_report_groups,
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.takes_pattern = true, .show = show_peek},
};
