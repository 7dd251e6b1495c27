/* peek.c - writes each entry with its callers above and its callees below.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/peek.h"

#include "report/top.h"

struct peek {
	struct cairn_report *report;
	const struct cairn_graph *graph;
	double sum;
};

/* The line between entries is as long as the columns are wide. */
static void write_rule(const struct cairn_report *report)
{
	int width = 72 + (report->view->options.errors ? 3 * (CAIRN_INTERVAL_WIDTH + 1) : 0);
	for (int i = 0; i < width; i++)
		cairn_buffer_byte(report->out, '-');
	cairn_buffer_text(report->out, "+------------------------\n");
}

/* The calls of one of NODE's callers or callees, which is OTHER. */
static void write_edge(const struct peek *peek, const struct cairn_graph_edge *edge, uint32_t other, double cum)
{
	struct cairn_report *report = peek->report;
	struct cairn_bytes name = cairn_view_name(report->view, peek->graph->nodes[other].entry);
	if (report->json) {
		cairn_json_open(report->json, NULL, '{');
		cairn_json_text(report->json, "name", name);
		cairn_report_value(report, "value", NULL, 0, edge->value, edge->spread);
		cairn_json_bool(report->json, "inlined", edge->inlined);
		cairn_json_close(report->json, '}');
	} else if (edge->from != edge->to) { /* calls of a node to itself are left out */
		report->table.start = report->out->length;
		cairn_buffer_format(report->out, "%*s", report->view->options.errors ? 49 + 2 * (CAIRN_INTERVAL_WIDTH + 1) : 49, "");
		cairn_report_value(report, NULL, "", 13, edge->value, edge->spread);
		cairn_report_percent(report, "", edge->value, cum);
		cairn_buffer_format(report->out, " |   %.*s%s\n", (int)name.length, name.data, edge->inlined ? " (inline)" : "");
	}
}

/* Both sides of NODE are written by one function: its callers in JSON and above it in text, then its callees. */
static void write_edges(const struct peek *peek, const struct cairn_graph_node *node, bool callers)
{
	const struct cairn_graph *graph = peek->graph;
	const uint32_t *edges = callers ? graph->in_edges + node->first_in : graph->out_edges + node->first_out;
	cairn_table_open(&peek->report->table, callers ? "callers" : "callees", '[');
	for (uint32_t i = 0; i < (callers ? node->in_count : node->out_count); i++)
		write_edge(peek, &graph->edges[edges[i]], callers ? graph->edges[edges[i]].from : graph->edges[edges[i]].to, node->cum);
	cairn_table_close(&peek->report->table, ']');
}

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct cairn_graph_node *node = item;
	struct peek *peek = context;
	struct cairn_report *report = peek->report;
	peek->sum += node->flat;
	if (table->json)
		cairn_json_text(table->json, "name", cairn_view_name(report->view, node->entry));
	cairn_top_columns(report, &(struct cairn_top_row){node->entry, node->flat, node->cum, node->flat_spread, node->cum_spread}, peek->sum);
	if (table->head) {
		cairn_report_value(report, NULL, "Calls", 13, 0, (struct cairn_spread){0});
		cairn_report_percent(report, "Calls%", 0, 1);
		cairn_buffer_text(table->out, " |");
	} else if (table->json) {
		write_edges(peek, node, true);
		write_edges(peek, node, false);
	} else {
		struct cairn_bytes name = cairn_view_name(report->view, node->entry);
		cairn_buffer_format(table->out, " %*s | %.*s", report->view->options.errors ? 21 + CAIRN_INTERVAL_WIDTH + 1 : 21, "",
				    (int)name.length, name.data);
	}
}

bool cairn_peek_write(struct cairn_report *report, const struct cairn_graph *graph, const struct cairn_pattern *pattern)
{
	struct peek peek = {.report = report, .graph = graph};
	bool any = false;
	cairn_table_head(&report->table, columns, &peek, sizeof *graph->nodes);
	cairn_table_open(&report->table, "rows", '[');
	for (size_t n = 0; n < graph->count; n++) {
		const struct cairn_graph_node *node = &graph->nodes[n];
		if (pattern && !cairn_pattern_match(pattern, cairn_view_name(report->view, node->entry)))
			continue;
		any = true;
		if (!report->json) {
			write_rule(report);
			write_edges(&peek, node, true);
		}
		cairn_table_row(&report->table, columns, &peek, node);
		if (!report->json)
			write_edges(&peek, node, false);
	}
	if (report->json)
		cairn_json_close(report->json, ']');
	else
		write_rule(report);
	cairn_table_more(&report->table, graph->all_count - graph->count, cairn_report_all(report));
	return any;
}

void cairn_tree_report(struct cairn_report *report)
{
	struct cairn_graph graph;
	cairn_graph_make(&graph, report->view, &report->shape);
	cairn_peek_write(report, &graph, NULL);
	cairn_graph_free(&graph);
}
