/* graph.c - makes nodes from the rows of the flat table, and edges in another pass over the samples.
 *
 * The values of a node do not depend on which other nodes are shown, so nodes are chosen before edges are counted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/graph.h"

#include "base/array.h"
#include "report/top.h"

#include <stdlib.h>

static void make_nodes(struct cairn_graph *graph, struct cairn_view *view, const struct cairn_shape *shape)
{
	struct cairn_top top;
	cairn_top_make(&top, view, shape);
	graph->nodes = cairn_array_zero(top.shown, sizeof *graph->nodes);
	graph->count = top.shown;
	graph->all_count = top.count;
	for (size_t n = 0; n < top.shown; n++)
		graph->nodes[n] = (struct cairn_graph_node){
			.entry = top.rows[n].entry,
			.flat = top.rows[n].flat,
			.cum = top.rows[n].cum,
			.flat_spread = top.rows[n].flat_spread,
			.cum_spread = top.rows[n].cum_spread,
		};
	cairn_top_free(&top);
}

/* The state while edges are counted. */
struct build {
	struct cairn_graph *graph;
	struct cairn_view *view;
	uint32_t *node_of;    /* each entry's node; CAIRN_NONE for those left out */
	const bool *wanted;   /* by node, whether its edges are wanted; NULL for all */
	bool direct;
	struct cairn_map map; /* by caller and callee */
	uint32_t *seen;       /* for each edge, the last sample (plus one) that was counted, so that each counts once */
	size_t seen_capacity;
};

/* What one sample adds to each edge on its stack. */
struct passing {
	uint32_t stamp;
	double value;
	struct cairn_spread spread;
};

static void add_edge(struct build *build, uint32_t from, uint32_t to, const struct passing *passing, bool residual, bool inlined)
{
	struct cairn_graph *graph = build->graph;
	uint32_t *found = cairn_map_at(&build->map, (uint64_t)from << 32 | to);
	if (*found == CAIRN_NONE) {
		*found = (uint32_t)graph->edge_count;
		cairn_array_room(graph->edges, graph->edge_count, graph->edge_capacity);
		cairn_array_room(build->seen, graph->edge_count, build->seen_capacity);
		build->seen[graph->edge_count] = 0;
		graph->edges[graph->edge_count++] = (struct cairn_graph_edge){.from = from, .to = to, .inlined = true};
	}
	struct cairn_graph_edge *edge = &graph->edges[*found];
	if (build->seen[*found] == passing->stamp)
		return;
	build->seen[*found] = passing->stamp;
	edge->value += passing->value;
	cairn_spread_add(&edge->spread, passing->spread);
	edge->residual |= residual;
	edge->inlined &= inlined;
}

static void add_sample(struct build *build, size_t sample)
{
	size_t depth;
	const uint32_t *stack = cairn_view_stack(build->view, sample, &depth);
	const bool *inlined = cairn_view_inlined(build->view);
	struct passing passing = {.stamp = (uint32_t)sample + 1, .value = cairn_view_value(build->view, sample)};
	uint32_t caller = CAIRN_NONE;
	bool residual = false;
	if (build->view->options.errors)
		passing.spread = cairn_view_spread(build->view, sample);
	build->graph->total += passing.value;
	build->graph->moved += fabs(passing.value);
	for (size_t d = depth; d-- > 0 && passing.value != 0;) {
		uint32_t node = build->node_of[stack[d]];
		if (node == CAIRN_NONE) {
			residual = true;
			continue;
		}
		if (caller != CAIRN_NONE && !(residual && build->direct) &&
		    (!build->wanted || build->wanted[caller] || build->wanted[node]))
			add_edge(build, caller, node, &passing, residual, inlined[d]);
		caller = node;
		residual = false;
	}
}

/* Drops edges below CUTOFF, and those with the value 0. */
static void drop_edges(struct cairn_graph *graph, const struct cairn_view *view, double cutoff)
{
	size_t kept = 0;
	for (size_t e = 0; e < graph->edge_count; e++)
		if (fabs(graph->edges[e].value) >= cutoff && !cairn_view_is_nothing(view, graph->edges[e].value))
			graph->edges[kept++] = graph->edges[e];
	graph->edge_count = kept;
}

struct order {
	const struct cairn_view *view;
	const struct cairn_graph *graph;
	bool by_caller;
};

static int compare_edges(const void *a, const void *b, void *context)
{
	const struct order *order = context;
	const struct cairn_graph_node *nodes = order->graph->nodes;
	const struct cairn_graph_edge *left = &order->graph->edges[*(const uint32_t *)a],
				      *right = &order->graph->edges[*(const uint32_t *)b];
	if (fabs(left->value) != fabs(right->value))
		return fabs(left->value) > fabs(right->value) ? -1 : 1;
	uint32_t l = nodes[order->by_caller ? left->from : left->to].entry, r = nodes[order->by_caller ? right->from : right->to].entry;
	return strcmp(cairn_view_name(order->view, l).data, cairn_view_name(order->view, r).data);
}

/* Groups the edges by node, largest first. */
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
		qsort_r(graph->in_edges + node->first_in, node->in_count, sizeof(uint32_t), compare_edges,
			&(struct order){view, graph, true});
		qsort_r(graph->out_edges + node->first_out, node->out_count, sizeof(uint32_t), compare_edges,
			&(struct order){view, graph, false});
	}
}

static bool *match_nodes(const struct cairn_graph *graph, const struct cairn_view *view, const struct cairn_pattern *pattern)
{
	if (!pattern)
		return NULL;
	bool *wanted = cairn_array_zero(graph->count, sizeof *wanted);
	for (size_t n = 0; n < graph->count; n++)
		wanted[n] = cairn_pattern_match(pattern, cairn_view_name(view, graph->nodes[n].entry));
	return wanted;
}

void cairn_graph_make_around(struct cairn_graph *graph, struct cairn_view *view, const struct cairn_shape *shape,
			     const struct cairn_pattern *pattern)
{
	*graph = (struct cairn_graph){0};
	make_nodes(graph, view, shape);
	bool *wanted = match_nodes(graph, view, pattern);
	struct build build = {.graph = graph, .view = view, .wanted = wanted, .direct = shape->direct};
	build.node_of = cairn_array_none(view->entry_count);
	for (uint32_t n = 0; n < graph->count; n++)
		build.node_of[graph->nodes[n].entry] = n;
	for (size_t i = 0; i < view->sample_count; i++)
		add_sample(&build, i);
	free(build.node_of);
	free(build.seen);
	free(wanted);
	cairn_map_free(&build.map);
	drop_edges(graph, view, fabs(view->shown * shape->edge_fraction));
	link_edges(graph, view);
}

void cairn_graph_make(struct cairn_graph *graph, struct cairn_view *view, const struct cairn_shape *shape)
{
	cairn_graph_make_around(graph, view, shape, NULL);
}

void cairn_graph_free(struct cairn_graph *graph)
{
	free(graph->nodes);
	free(graph->edges);
	free(graph->in_edges);
	free(graph->out_edges);
	*graph = (struct cairn_graph){0};
}
