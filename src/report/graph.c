/* graph.c - adding up nodes and edges, and leaving out the small ones.
 *
 * Leaving nodes out changes the edges and the flat values of those that stay, so the samples are gone through again each time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/graph.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

/* A graph under way: nodes are numbered as entries until the end. */
struct build {
	struct cairn_graph *graph;
	struct cairn_view *view;
	const bool *kept; /* by entry; NULL for all */
	bool direct;
	struct cairn_graph_node *nodes;
	uint32_t *node_seen; /* the sample (plus one) that counted last, so that each counts once */
	struct cairn_map edges;
	uint32_t *edge_seen;
	size_t edge_seen_capacity;
};

static void add_edge(struct build *build, uint32_t from, uint32_t to, uint32_t stamp, double value, bool residual, bool inlined)
{
	struct cairn_graph *graph = build->graph;
	uint32_t *found = cairn_map_at(&build->edges, (uint64_t)from << 32 | to);
	if (*found == CAIRN_NONE) {
		*found = (uint32_t)graph->edge_count;
		cairn_array_room(graph->edges, graph->edge_count, graph->edge_capacity);
		cairn_array_room(build->edge_seen, graph->edge_count, build->edge_seen_capacity);
		build->edge_seen[graph->edge_count] = 0;
		graph->edges[graph->edge_count++] = (struct cairn_graph_edge){.from = from, .to = to, .inlined = true};
	}
	struct cairn_graph_edge *edge = &graph->edges[*found];
	if (build->edge_seen[*found] == stamp)
		return;
	build->edge_seen[*found] = stamp;
	edge->value += value;
	edge->residual |= residual;
	edge->inlined &= inlined;
}

static void add_sample(struct build *build, size_t sample)
{
	size_t depth;
	const uint32_t *stack = cairn_view_stack(build->view, sample, &depth);
	const bool *inlined = cairn_view_inlined(build->view);
	double value = cairn_view_value(build->view, sample);
	if (value == 0)
		return;
	build->graph->total += value;
	uint32_t stamp = (uint32_t)sample + 1, caller = CAIRN_NONE;
	bool residual = false;
	for (size_t d = depth; d-- > 0;) {
		uint32_t entry = stack[d];
		if (build->kept && !build->kept[entry]) {
			residual = true;
			continue;
		}
		if (build->node_seen[entry] != stamp) {
			build->node_seen[entry] = stamp;
			build->nodes[entry].cum += value;
		}
		if (caller != CAIRN_NONE && !(residual && build->direct))
			add_edge(build, caller, entry, stamp, value, residual, inlined[d]);
		caller = entry;
		residual = false;
	}
	if (caller != CAIRN_NONE && !residual)
		build->nodes[caller].flat += value;
}

struct order {
	const struct cairn_view *view;
	const struct cairn_graph *graph;
	bool by_cum;
	bool by_caller;
};

static int compare_text(const struct cairn_view *view, uint32_t left, uint32_t right)
{
	return strcmp(cairn_view_name(view, left).data, cairn_view_name(view, right).data);
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct cairn_graph_node *left = a, *right = b;
	const struct order *order = context;
	double l = fabs(order->by_cum ? left->cum : left->flat), r = fabs(order->by_cum ? right->cum : right->flat);
	if (l != r)
		return l > r ? -1 : 1;
	l = fabs(order->by_cum ? left->flat : left->cum);
	r = fabs(order->by_cum ? right->flat : right->cum);
	if (l != r)
		return l > r ? -1 : 1;
	return compare_text(order->view, left->entry, right->entry);
}

static int compare_edges(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct cairn_graph_node *nodes = order->graph->nodes;
	const struct cairn_graph_edge *left = &order->graph->edges[*(const uint32_t *)a], *right = &order->graph->edges[*(const uint32_t *)b];
	if (fabs(left->value) != fabs(right->value))
		return fabs(left->value) > fabs(right->value) ? -1 : 1;
	return order->by_caller ? compare_text(order->view, nodes[left->from].entry, nodes[right->from].entry)
				: compare_text(order->view, nodes[left->to].entry, nodes[right->to].entry);
}

/* The edges of each node beside each other, largest first. */
static void link_edges(struct cairn_graph *graph, const struct cairn_view *view)
{
	graph->in_edges = cairn_array_zero(graph->edge_count, sizeof *graph->in_edges);
	graph->out_edges = cairn_array_zero(graph->edge_count, sizeof *graph->out_edges);
	for (size_t e = 0; e < graph->edge_count; e++) {
		graph->nodes[graph->edges[e].to].in_count++;
		graph->nodes[graph->edges[e].from].out_count++;
	}
	uint32_t in = 0, out = 0;
	for (size_t n = 0; n < graph->count; n++) {
		struct cairn_graph_node *node = &graph->nodes[n];
		node->first_in = in;
		node->first_out = out;
		in += node->in_count;
		out += node->out_count;
		node->in_count = node->out_count = 0;
	}
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		struct cairn_graph_node *to = &graph->nodes[graph->edges[e].to], *from = &graph->nodes[graph->edges[e].from];
		graph->in_edges[to->first_in + to->in_count++] = e;
		graph->out_edges[from->first_out + from->out_count++] = e;
	}
	for (size_t n = 0; n < graph->count; n++) {
		const struct cairn_graph_node *node = &graph->nodes[n];
		qsort_r(graph->in_edges + node->first_in, node->in_count, sizeof(uint32_t), compare_edges, &(struct order){view, graph, false, true});
		qsort_r(graph->out_edges + node->first_out, node->out_count, sizeof(uint32_t), compare_edges, &(struct order){view, graph, false, false});
	}
}

/* Makes the graph of the entries in KEPT, without order among its edges. */
static void build_graph(struct cairn_graph *graph, struct cairn_view *view, const bool *kept, const struct cairn_shape *shape)
{
	*graph = (struct cairn_graph){0};
	struct build build = {.graph = graph, .view = view, .kept = kept, .direct = shape->direct};
	build.nodes = cairn_array_zero(view->entry_count, sizeof *build.nodes);
	build.node_seen = cairn_array_zero(view->entry_count, sizeof *build.node_seen);
	for (size_t i = 0; i < view->sample_count; i++)
		add_sample(&build, i);
	for (uint32_t e = 0; e < view->entry_count; e++)
		if (build.node_seen[e] && (build.nodes[e].flat != 0 || build.nodes[e].cum != 0)) {
			build.nodes[graph->count] = build.nodes[e];
			build.nodes[graph->count++].entry = e;
		}
	graph->nodes = build.nodes;
	qsort_r(graph->nodes, graph->count, sizeof *graph->nodes, compare_nodes, &(struct order){.view = view, .by_cum = shape->by_cum});
	free(build.node_seen);
	free(build.edge_seen);
	cairn_map_free(&build.edges);
}

/* From entries to nodes; drops the edges below CUTOFF and those whose nodes have gone. */
static void settle_edges(struct cairn_graph *graph, const struct cairn_view *view, double cutoff)
{
	uint32_t *node_of = cairn_array_zero(view->entry_count, sizeof *node_of);
	for (uint32_t n = 0; n < graph->count; n++)
		node_of[graph->nodes[n].entry] = n + 1;
	size_t kept = 0;
	for (size_t e = 0; e < graph->edge_count; e++) {
		struct cairn_graph_edge edge = graph->edges[e];
		if (fabs(edge.value) < cutoff || edge.value == 0 || !node_of[edge.from] || !node_of[edge.to])
			continue;
		edge.from = node_of[edge.from] - 1;
		edge.to = node_of[edge.to] - 1;
		graph->edges[kept++] = edge;
	}
	graph->edge_count = kept;
	free(node_of);
}

/* Makes the graph again of its first nodes that have at least CUTOFF passing through, LIMIT of them at most. */
static void keep_nodes(struct cairn_graph *graph, struct cairn_view *view, double cutoff, size_t limit, const struct cairn_shape *shape)
{
	bool *kept = cairn_array_zero(view->entry_count, sizeof *kept);
	size_t count = 0, all_count = graph->all_count;
	for (size_t n = 0; n < graph->count && count < limit; n++)
		if (fabs(graph->nodes[n].cum) >= cutoff) {
			kept[graph->nodes[n].entry] = true;
			count++;
		}
	if (count < graph->count) {
		cairn_graph_free(graph);
		build_graph(graph, view, kept, shape);
		graph->all_count = all_count;
	}
	free(kept);
}

void cairn_graph_make(struct cairn_graph *graph, struct cairn_view *view, const struct cairn_shape *shape)
{
	build_graph(graph, view, NULL, shape);
	graph->all_count = graph->count;
	keep_nodes(graph, view, fabs(graph->total * shape->node_fraction), SIZE_MAX, shape);
	if (shape->node_count)
		keep_nodes(graph, view, 0, (size_t)shape->node_count, shape);
	settle_edges(graph, view, fabs(graph->total * shape->edge_fraction));
	link_edges(graph, view);
}

void cairn_graph_free(struct cairn_graph *graph)
{
	free(graph->nodes);
	free(graph->edges);
	free(graph->in_edges);
	free(graph->out_edges);
	*graph = (struct cairn_graph){0};
}
