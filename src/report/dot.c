/* dot.c - writes the graph (the DOT language: graphviz.org/doc/info/lang.html).
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/dot.h"

#include "base/array.h"
#include "base/utf8.h"
#include "report/graph_svg.h"
#include "report/head.h"
#include "report/number.h"

#include <math.h>
#include <stdlib.h>

enum { name_most = 240, tooltip_most = 2000 };

struct drawing {
	struct cairn_view *view;
	const struct cairn_dot_options *options;
	const struct cairn_graph *graph;
	struct cairn_buffer *out;
	double whole; /* what percentages are of */
	double most;  /* what a box or an arrow of full size and colour stands for */
	double edge_cutoff;
	bool is_change;
};

static char *number(const struct drawing *drawing, double value, char *out)
{
	const struct cairn_dot_options *options = drawing->options;
	if (options->number)
		return options->number(options->number_context, value, out);
	return cairn_head_number(drawing->view, &options->shape, value, out);
}

/* Writes the confidence interval of VALUE on a separate line, if the graph shows errors. */
static void write_interval(const struct drawing *drawing, double value, struct cairn_spread spread)
{
	char text[CAIRN_INTERVAL_TEXT];
	if (drawing->view->options.errors)
		cairn_buffer_format(drawing->out, "\\n[%s]",
				    cairn_head_interval(drawing->view, &drawing->options->shape, value, spread, text));
}

static double part(const struct drawing *drawing, double value)
{
	return drawing->most != 0 ? fmin(1, fabs(value / drawing->most)) : 0;
}

/* Writes the first character of TEXT inside quotes. Returns its length. Backslashes and ampersands are escaped, because Graphviz would
 * expand what they begin. */
static size_t write_character(struct cairn_buffer *out, struct cairn_bytes text)
{
	size_t length = cairn_utf8_length(text), printable = cairn_utf8_printable(text);
	if (*text.data == '"' || *text.data == '\\')
		cairn_buffer_byte(out, '\\');
	if (*text.data == '&')
		cairn_buffer_text(out, "&amp;");
	else if (*text.data == '\t' || *text.data == '\n')
		cairn_buffer_byte(out, ' ');
	else if (printable == 0)
		cairn_buffer_text(out, "\xef\xbf\xbd");
	else
		cairn_buffer_append(out, text.data, printable);
	return length ? length : 1;
}

/* Writes at most MOST bytes of TEXT inside quotes. With BREAKS, breaks the line at each "::", and in a plain graph at each space. */
static void write_text(const struct drawing *drawing, struct cairn_bytes text, size_t most, bool breaks)
{
	struct cairn_buffer *out = drawing->out;
	size_t start = out->length;
	while (text.length > 0 && out->length - start < most) {
		size_t length;
		if (breaks && cairn_bytes_start_with(text, "::") && out->length > start) {
			cairn_buffer_text(out, drawing->options->plain ? "\\n" : "::\\n");
			length = 2;
		} else if (breaks && drawing->options->plain && *text.data == ' ') {
			cairn_buffer_text(out, "\\n");
			length = 1;
		} else {
			length = write_character(out, text);
		}
		text = cairn_bytes_skip(text, length);
	}
	if (text.length > 0)
		cairn_buffer_text(out, "…");
}

static void write_literal(const struct drawing *drawing, const char *text)
{
	write_text(drawing, cairn_bytes_of(text), name_most, false);
}

/* Writes a warm colour, stronger for a larger share; for a change, red if it grew and blue if it shrank. */
static void write_color(const struct drawing *drawing, const char *attribute, double value, double lightest, double strongest,
			double brightness)
{
	double hue = !drawing->is_change ? 0.08 : value < 0 ? 0.6 : 0.0;
	double strength = lightest + (strongest - lightest) * sqrt(part(drawing, value));
	cairn_buffer_format(drawing->out, ", %s=\"%.3f %.3f %.3f\"", attribute, hue, strength, brightness);
}

/* The same as a class, for dark mode: report/graph_svg.c has the colours. */
static void write_class(const struct drawing *drawing, double value)
{
	const char *kind = !drawing->is_change ? "heat" : value < 0 ? "shrank" : "grew";
	double shade = fmin(CAIRN_GRAPH_SHADES - 1, CAIRN_GRAPH_SHADES * sqrt(part(drawing, value)));
	cairn_buffer_format(drawing->out, ", class=\"%s%d\"", kind, (int)shade);
}

static void write_node(const struct drawing *drawing, size_t n)
{
	const struct cairn_graph_node *node = &drawing->graph->nodes[n];
	struct cairn_bytes name = cairn_view_name(drawing->view, node->entry);
	bool plain = drawing->options->plain;
	char flat[32], cum[32];
	cairn_buffer_format(drawing->out, "N%zu [label=\"", n + 1);
	write_text(drawing, name, name_most, true);
	if (plain || node->flat != 0)
		cairn_buffer_format(drawing->out, "\\n%s%s (%.1f%%)", plain ? "" : "Self ", number(drawing, node->flat, flat),
				    cairn_number_percent(node->flat, drawing->whole));
	if (node->flat != 0)
		write_interval(drawing, node->flat, node->flat_spread);
	if (node->flat != node->cum) {
		cairn_buffer_format(drawing->out, "%s %s (%.1f%%)", plain ? "\\rof" : "\\nTotal", number(drawing, node->cum, cum),
				    cairn_number_percent(node->cum, drawing->whole));
		write_interval(drawing, node->cum, node->cum_spread);
	}
	if (plain) {
		cairn_buffer_format(drawing->out, "\\r\",shape=box,fontsize=%.1f", 8 + 50 * sqrt(part(drawing, node->flat)));
	} else {
		cairn_buffer_format(drawing->out, "\", shape=box, fontsize=%.1f", 9 + 20 * sqrt(part(drawing, node->flat)));
		write_color(drawing, "fillcolor", node->cum, 0.03, 0.5, 1);
		write_color(drawing, "color", node->cum, 0.25, 0.9, 0.7);
		write_class(drawing, node->cum);
		cairn_buffer_text(drawing->out, ", tooltip=\"");
		write_text(drawing, name, tooltip_most, false);
		cairn_buffer_format(drawing->out, " (%s)\"", number(drawing, node->cum, cum));
	}
	cairn_buffer_text(drawing->out, "];\n");
}

static void write_edge_tooltip(const struct drawing *drawing, const struct cairn_graph_edge *edge)
{
	const struct cairn_graph_node *nodes = drawing->graph->nodes;
	for (int end = 0; end < 2; end++) {
		cairn_buffer_text(drawing->out, end ? "\", labeltooltip=\"" : ", tooltip=\"");
		write_text(drawing, cairn_view_name(drawing->view, nodes[edge->from].entry), name_most, false);
		cairn_buffer_text(drawing->out, edge->residual ? " … " : " → ");
		write_text(drawing, cairn_view_name(drawing->view, nodes[edge->to].entry), name_most, false);
	}
	cairn_buffer_byte(drawing->out, '"');
}

static void write_edge(const struct drawing *drawing, const struct cairn_graph_edge *edge)
{
	static const double weight_most = 100000; /* Graphviz fails on larger ones */
	char value[32];
	double share = part(drawing, edge->value);
	cairn_buffer_format(drawing->out, "N%u -> N%u [label=", edge->from + 1, edge->to + 1);
	if (drawing->options->plain) {
		cairn_buffer_format(drawing->out, "%s, weight=%.0f, style=\"setlinewidth(%f)%s\"];\n", number(drawing, edge->value, value),
				    floor(fmin(pow(fabs(edge->value), 0.7), weight_most)), 2 * fmin(1, 3 * share),
				    edge->inlined ? ",dashed" : "");
		return;
	}
	cairn_buffer_format(drawing->out, "\" %s", number(drawing, edge->value, value));
	write_interval(drawing, edge->value, edge->spread);
	cairn_buffer_format(drawing->out, "\", weight=%.0f, penwidth=%.2f", 1 + 100 * share, 1 + 4 * share);
	if (edge->residual)
		cairn_buffer_text(drawing->out, ", style=dashed");
	else if (edge->inlined)
		cairn_buffer_text(drawing->out, ", arrowhead=empty");
	write_color(drawing, "color", edge->value, 0.08, 0.9, 0.72);
	write_class(drawing, edge->value);
	write_edge_tooltip(drawing, edge);
	cairn_buffer_text(drawing->out, "];\n");
}

static int compare_edges(const void *a, const void *b, void *context)
{
	const struct cairn_graph_edge *edges = context, *left = &edges[*(const uint32_t *)a], *right = &edges[*(const uint32_t *)b];
	if (fabs(left->value) != fabs(right->value))
		return fabs(left->value) > fabs(right->value) ? -1 : 1;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return left->to < right->to ? -1 : left->to > right->to;
}

/* Largest first, so that each node keeps its largest caller, however small, and stays connected. */
static void write_edges(const struct drawing *drawing)
{
	const struct cairn_graph *graph = drawing->graph;
	uint64_t most = drawing->options->max_degree ? drawing->options->max_degree : UINT64_MAX;
	uint32_t *order = cairn_array_zero(graph->edge_count, sizeof *order);
	uint64_t *in = cairn_array_zero(graph->count, sizeof *in), *outward = cairn_array_zero(graph->count, sizeof *outward);
	for (uint32_t e = 0; e < graph->edge_count; e++)
		order[e] = e;
	qsort_r(order, graph->edge_count, sizeof *order, compare_edges, graph->edges);
	for (size_t i = 0; i < graph->edge_count; i++) {
		const struct cairn_graph_edge *edge = &graph->edges[order[i]];
		bool fits = fabs(edge->value) > drawing->edge_cutoff && in[edge->to] < most && outward[edge->from] < most;
		if (!fits && in[edge->to] > 0)
			continue;
		in[edge->to]++;
		outward[edge->from]++;
		write_edge(drawing, edge);
	}
	free(order);
	free(in);
	free(outward);
}

static void end_line(const struct drawing *drawing)
{
	cairn_buffer_text(drawing->out, "\\l");
}

static void write_plain_legend(const struct drawing *drawing, const char *program)
{
	const struct cairn_dot_options *options = drawing->options;
	char text[32], focus[32];
	cairn_buffer_text(drawing->out, "node [width=0.375,height=0.25];\nLegend [shape=box,fontsize=24,shape=plaintext,label=\"");
	write_literal(drawing, program);
	cairn_buffer_format(drawing->out, "\\lTotal %s: %s\\lFocusing on: %s\\l", options->unit, number(drawing, options->total, text),
			    number(drawing, drawing->graph->total, focus));
	double cutoff = fabs(drawing->graph->total * options->shape.node_fraction);
	cairn_buffer_format(drawing->out, "Dropped nodes with <= %s abs(%s)\\l", number(drawing, cutoff, text), options->unit);
	cairn_buffer_format(drawing->out, "Dropped edges with <= %s %s\\l\"];\n", number(drawing, drawing->edge_cutoff, text),
			    options->unit);
}

static void write_legend(const struct drawing *drawing)
{
	const struct cairn_graph *graph = drawing->graph;
	const struct cairn_profile *profile = drawing->view->profile;
	char text[32];
	cairn_buffer_text(drawing->out, "Legend [shape=note, fontsize=13, fillcolor=\"#f6f6f4\", color=\"#b8b8b4\", margin=0.15, "
					"tooltip=\"legend\", label=\"");
	write_literal(drawing, profile->facts.process ? cairn_profile_string(profile, profile->facts.process) : "unknown process");
	if (profile->facts.process_id)
		cairn_buffer_format(drawing->out, ", process %llu", (unsigned long long)profile->facts.process_id);
	end_line(drawing);
	cairn_buffer_format(drawing->out, "%s", profile->base ? "change of " : "");
	write_literal(drawing, cairn_head_title(drawing->view));
	cairn_buffer_format(drawing->out, ": %s in total", number(drawing, drawing->view->total, text));
	if (graph->total != drawing->view->total)
		cairn_buffer_format(drawing->out, ", %s of it shown", number(drawing, graph->total, text));
	end_line(drawing);
	char coverage[CAIRN_COVERAGE_TEXT];
	if (cairn_head_coverage(drawing->view, coverage, sizeof coverage)) {
		write_literal(drawing, coverage);
		end_line(drawing);
	}
	cairn_buffer_format(drawing->out, "%zu of %zu functions; calls of %s and more\\l", graph->count, graph->all_count,
			    number(drawing, drawing->edge_cutoff, text));
	if (drawing->view->options.errors)
		cairn_buffer_text(drawing->out, drawing->view->knows_errors ? "in brackets: 95 % confidence intervals\\l"
									    : "no confidence intervals\\l");
	cairn_buffer_text(drawing->out, "letters grow with Self, colour and arrows with Total\\ldashed: functions between are left out\\l");
	if (drawing->is_change)
		cairn_buffer_text(drawing->out, "red: grew; blue: shrank\\l");
	cairn_buffer_text(drawing->out, "\"];\n");
}

static void write_graph(const struct drawing *drawing)
{
	const struct cairn_dot_options *options = drawing->options;
	const char *program = options->program ? options->program : "unknown program";
	char text[32];
	cairn_buffer_text(drawing->out, "digraph \"");
	if (options->plain) {
		write_literal(drawing, program);
		cairn_buffer_format(drawing->out, "; %s %s\" {\n", number(drawing, options->total, text), options->unit);
		write_plain_legend(drawing, program);
	} else {
		cairn_buffer_text(drawing->out,
				  "cairn\" {\nfontname=\"Helvetica,Arial,sans-serif\";\nbgcolor=white;\nranksep=0.5;\nnodesep=0.3;\n"
				  "node [style=\"filled,rounded\", fontname=\"Helvetica,Arial,sans-serif\", width=0.4, height=0.3];\n"
				  "edge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, arrowsize=0.7];\n");
		write_legend(drawing);
	}
	for (size_t n = 0; n < drawing->graph->count; n++)
		write_node(drawing, n);
	write_edges(drawing);
	cairn_buffer_text(drawing->out, "}\n");
}

static bool has_negative(const struct cairn_graph *graph)
{
	for (size_t n = 0; n < graph->count; n++)
		if (graph->nodes[n].cum < 0)
			return true;
	return false;
}

bool cairn_dot_text(struct cairn_view *view, const struct cairn_dot_options *options, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_graph graph;
	struct cairn_shape shape = options->shape;
	shape.by_cum = true;
	shape.direct = options->plain;
	shape.edge_fraction = 0; /* edges are chosen later, when it is known which nodes would lose their last one */
	cairn_graph_make(&graph, view, &shape);
	struct drawing drawing = {
		.view = view,
		.options = options,
		.graph = &graph,
		.out = out,
		/* jeprof's are of the net sum that is left; ours are those of the other views. */
		.whole = options->plain ? graph.total : view->whole,
		.most = options->plain ? graph.total : graph.moved,
		.edge_cutoff = fabs(graph.total * options->shape.edge_fraction),
		.is_change = view->profile->base || has_negative(&graph),
	};
	bool any = graph.count > 0;
	if (any)
		write_graph(&drawing);
	cairn_graph_free(&graph);
	if (!any && view->whole == 0)
		return cairn_fail(error, "nothing to draw: all values are 0");
	return any || cairn_fail(error, "no function is large enough to be drawn; try --nodefraction=0");
}
