/* peek.c - writes each entry with its callers above and its callees below.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/peek.h"

#include "report/head.h"
#include "report/number.h"

#include <math.h>

/* The line between entries is as long as the columns are wide. */
static void write_rule(const struct cairn_view *view, struct cairn_buffer *out)
{
	int width = 72 + (view->options.errors ? 3 * (CAIRN_INTERVAL_WIDTH + 1) : 0);
	for (int i = 0; i < width; i++)
		cairn_buffer_byte(out, '-');
	cairn_buffer_text(out, "+------------------------\n");
}

struct table {
	const struct cairn_graph *graph;
	const struct cairn_view *view;
	const struct cairn_shape *shape;
	struct cairn_buffer *out;
};

static bool wanted(const struct cairn_view *view, const struct cairn_pattern *pattern, const struct cairn_graph_node *node)
{
	return !pattern || cairn_pattern_match(pattern, cairn_view_name(view, node->entry));
}

static void write_name(const struct table *table, uint32_t entry, const char *after)
{
	struct cairn_bytes name = cairn_view_name(table->view, entry);
	cairn_buffer_append(table->out, name.data, name.length);
	cairn_buffer_text(table->out, after);
}

/* Writes the node at the other end of EDGE. Calls of a node to itself are left out. */
static void write_edge(const struct table *table, const struct cairn_graph_edge *edge, uint32_t other, double cum)
{
	char number[32], errors[CAIRN_INTERVAL_TEXT];
	if (edge->from == edge->to)
		return;
	int width = 63 + (table->view->options.errors ? 2 * (CAIRN_INTERVAL_WIDTH + 1) : 0);
	cairn_buffer_format(table->out, "%*s%s %6.2f%% |   ", width, cairn_head_number(table->view, table->shape, edge->value, number),
			    cairn_head_interval_column(table->view, table->shape, edge->value, edge->spread, errors),
			    cairn_number_percent(edge->value, cum));
	write_name(table, table->graph->nodes[other].entry, edge->inlined ? " (inline)\n" : "\n");
}

static void write_node(const struct table *table, const struct cairn_graph_node *node, double *sum)
{
	const struct cairn_graph *graph = table->graph;
	double whole = table->view->whole;
	char flat[32], cum[32], flat_errors[CAIRN_INTERVAL_TEXT], cum_errors[CAIRN_INTERVAL_TEXT];
	write_rule(table->view, table->out);
	for (uint32_t i = 0; i < node->in_count; i++) {
		const struct cairn_graph_edge *edge = &graph->edges[graph->in_edges[node->first_in + i]];
		write_edge(table, edge, edge->from, node->cum);
	}
	*sum += node->flat;
	int room = 21 + (table->view->options.errors ? CAIRN_INTERVAL_WIDTH + 1 : 0);
	cairn_buffer_format(table->out, "%12s%s %6.2f%% %6.2f%% %12s%s %6.2f%% %*s | ",
			    cairn_head_number(table->view, table->shape, node->flat, flat),
			    cairn_head_interval_column(table->view, table->shape, node->flat, node->flat_spread, flat_errors),
			    cairn_number_percent(node->flat, whole), cairn_number_percent(*sum, whole),
			    cairn_head_number(table->view, table->shape, node->cum, cum),
			    cairn_head_interval_column(table->view, table->shape, node->cum, node->cum_spread, cum_errors),
			    cairn_number_percent(node->cum, whole), room, "");
	write_name(table, node->entry, "\n");
	for (uint32_t i = 0; i < node->out_count; i++) {
		const struct cairn_graph_edge *edge = &graph->edges[graph->out_edges[node->first_out + i]];
		write_edge(table, edge, edge->to, node->cum);
	}
}

bool cairn_peek_text(const struct cairn_graph *graph, const struct cairn_view *view, const struct cairn_pattern *pattern,
		     const struct cairn_shape *shape, struct cairn_buffer *out)
{
	struct table table = {graph, view, shape, out};
	double sum = 0;
	bool any = false;
	const char *errors = cairn_head_interval_title(view);
	cairn_buffer_format(out, "%12s%s %7s %7s %12s%s %7s %13s%s %7s |\n", "Self", errors, "Self%", "Sum%", "Total", errors, "Total%",
			    "Calls", errors, "Calls%");
	for (size_t n = 0; n < graph->count; n++)
		if (wanted(view, pattern, &graph->nodes[n])) {
			write_node(&table, &graph->nodes[n], &sum);
			any = true;
		}
	write_rule(view, out);
	if (graph->count < graph->all_count)
		cairn_buffer_format(out, "%12s and %zu more; -n 0%s shows all\n", "…", graph->all_count - graph->count,
				    shape->node_fraction > 0 ? " --nodefraction 0" : "");
	return any;
}

static void edges_json(const struct cairn_graph *graph, const struct cairn_view *view, const uint32_t *edges, uint32_t count, bool callers,
		       struct cairn_json *json)
{
	cairn_json_open(json, callers ? "callers" : "callees", '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct cairn_graph_edge *edge = &graph->edges[edges[i]];
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", cairn_view_name(view, graph->nodes[callers ? edge->from : edge->to].entry));
		cairn_json_number(json, "value", round(edge->value));
		cairn_head_interval_json(view, json, "value", edge->value, edge->spread);
		cairn_json_bool(json, "inlined", edge->inlined);
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

bool cairn_peek_json(const struct cairn_graph *graph, const struct cairn_view *view, const struct cairn_pattern *pattern,
		     struct cairn_json *json)
{
	bool any = false;
	cairn_json_open(json, "rows", '[');
	for (size_t n = 0; n < graph->count; n++) {
		const struct cairn_graph_node *node = &graph->nodes[n];
		if (!wanted(view, pattern, node))
			continue;
		any = true;
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", cairn_view_name(view, node->entry));
		cairn_json_number(json, "flat", round(node->flat));
		cairn_json_number(json, "cum", round(node->cum));
		cairn_head_interval_json(view, json, "flat", node->flat, node->flat_spread);
		cairn_head_interval_json(view, json, "cum", node->cum, node->cum_spread);
		edges_json(graph, view, graph->in_edges + node->first_in, node->in_count, true, json);
		edges_json(graph, view, graph->out_edges + node->first_out, node->out_count, false, json);
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
	return any;
}
