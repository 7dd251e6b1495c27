/* graph.h - who calls whom: one node for each entry, one edge for each pair of caller and callee.
 *
 * A stack counts once for a node and once for an edge, however often it passes there. An entry that calls itself has an edge to
 * itself. Where entries are left out, the edges of their stacks lead over them and are called residual.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_GRAPH_H
#define CAIRN_REPORT_GRAPH_H

#include "report/shape.h"
#include "report/view.h"

struct cairn_graph_edge {
	uint32_t from, to; /* nodes: the caller and the callee */
	double value;
	struct cairn_spread spread; /* all zero unless the view is to show errors */
	bool residual; /* at least one stack went over entries that were left out */
	bool inlined;  /* in every stack the callee was inlined into the caller */
};

struct cairn_graph_node {
	uint32_t entry;
	double flat;
	double cum;
	struct cairn_spread flat_spread, cum_spread; /* all zero unless the view is to show errors */
	uint32_t first_in, in_count;   /* of in_edges: its callers, largest first */
	uint32_t first_out, out_count; /* of out_edges: its callees, largest first */
};

struct cairn_graph {
	struct cairn_graph_node *nodes; /* sorted as the shape asks for */
	size_t count;
	size_t all_count; /* before any was left out */
	double total; /* of all stacks */
	struct cairn_graph_edge *edges;
	size_t edge_count, edge_capacity;
	uint32_t *in_edges, *out_edges; /* numbers of edges */
};

/* Makes the graph of VIEW with the nodes and edges that SHAPE leaves. Nodes that come to nothing are not in it. */
void cairn_graph_make(struct cairn_graph *graph, struct cairn_view *view, const struct cairn_shape *shape);
/* The same with only those edges that begin or end at a node whose name PATTERN matches. */
void cairn_graph_make_around(struct cairn_graph *graph, struct cairn_view *view, const struct cairn_shape *shape,
			     const struct cairn_pattern *pattern);
void cairn_graph_free(struct cairn_graph *graph);

#endif
