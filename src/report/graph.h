/* graph.h - the call graph: one node for each entry, one edge for each pair of caller and callee.
 *
 * A stack counts once for a node and once for an edge, however often it passes there. An entry that calls itself has an edge to itself.
 * Edges that skip omitted entries are called residual.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_GRAPH_H
#define CAIRN_REPORT_GRAPH_H

#include "report/shape.h"
#include "report/view.h"

struct cairn_graph_edge {
	uint32_t from, to; /* nodes: the caller and the callee */
	double value;
	struct cairn_spread spread; /* all zero unless the view shows errors */
	bool residual; /* at least one stack skipped omitted entries */
	bool inlined;  /* in every stack the callee was inlined into the caller */
};

struct cairn_graph_node {
	uint32_t entry;
	double flat;
	double cum;
	struct cairn_spread flat_spread, cum_spread; /* all zero unless the view shows errors */
	uint32_t first_in, in_count;   /* of in_edges: its callers, largest first */
	uint32_t first_out, out_count; /* of out_edges: its callees, largest first */
};

struct cairn_graph {
	struct cairn_graph_node *nodes; /* sorted as the shape says */
	size_t count;
	size_t all_count; /* before any were left out */
	double total; /* of all stacks */
	double moved; /* the same, but what shrank counts as what grew does */
	struct cairn_graph_edge *edges;
	size_t edge_count, edge_capacity;
	uint32_t *in_edges, *out_edges; /* numbers of edges */
};

/* Makes the graph of VIEW with the nodes and edges that SHAPE keeps. Nodes with the value 0 are left out. */
void cairn_graph_make(struct cairn_graph *graph, struct cairn_view *view, const struct cairn_shape *shape);
/* The same with only the edges that begin or end at a node whose name matches PATTERN. */
void cairn_graph_make_around(struct cairn_graph *graph, struct cairn_view *view, const struct cairn_shape *shape,
			     const struct cairn_pattern *pattern);
void cairn_graph_free(struct cairn_graph *graph);

#endif
