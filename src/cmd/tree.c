/* tree.c - `cairn tree` and `cairn peek`: each function between its callers and its callees.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/pattern.h"
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/peek.h"

enum { default_rows = 80 };
static const double default_node_fraction = 0.005, default_edge_fraction = 0.001;

static const struct cairn_option_refusal refusals[] = {CAIRN_UNFOLDED_REFUSALS, {0}};

static bool show_tree(const void *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json,
		      struct cairn_error *error)
{
	(void)error;
	struct cairn_shape shape = cairn_view_shape(options, default_rows, default_node_fraction, default_edge_fraction);
	struct cairn_graph graph;
	cairn_graph_make(&graph, view, &shape);
	if (json)
		cairn_peek_json(&graph, view, NULL, json);
	else
		cairn_peek_text(&graph, view, NULL, &shape, out);
	cairn_graph_free(&graph);
	return true;
}

static bool show_peek(const void *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json,
		      struct cairn_error *error)
{
	const struct cairn_view_setup *setup = options;
	struct cairn_shape shape = cairn_view_shape(setup, 0, 0, 0);
	struct cairn_graph graph;
	struct cairn_pattern *pattern = cairn_pattern_compile(setup->pattern, error);
	if (!pattern)
		return false;
	cairn_graph_make_around(&graph, view, &shape, pattern);
	bool any = json ? cairn_peek_json(&graph, view, pattern, json) : cairn_peek_text(&graph, view, pattern, &shape, out);
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
	.view = &(const struct cairn_view_command){.show = show_tree},
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
