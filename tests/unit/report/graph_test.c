/* graph_test.c - callers and callees: recursion counts once, what is left out is led over, small edges go.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/graph.h"

#include "fixture.h"

static double edge(const struct cairn_graph *graph, const struct cairn_view *view, const char *from, const char *to, bool *residual)
{
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct cairn_graph_edge *at = &graph->edges[e];
		if (strcmp(cairn_view_name(view, graph->nodes[at->from].entry).data, from) == 0 &&
		    strcmp(cairn_view_name(view, graph->nodes[at->to].entry).data, to) == 0) {
			if (residual)
				*residual = at->residual;
			return at->value;
		}
	}
	return 0;
}

static const struct cairn_graph_node *node(const struct cairn_graph *graph, const struct cairn_view *view, const char *name)
{
	for (size_t n = 0; n < graph->count; n++)
		if (strcmp(cairn_view_name(view, graph->nodes[n].entry).data, name) == 0)
			return &graph->nodes[n];
	return NULL;
}

static void test_recursion(void)
{
	struct fixture fixture;
	struct cairn_graph graph;
	fixture_make(&fixture, "main;f;g;f;g 10\nmain;f;f 1\n", NULL);
	cairn_graph_make(&graph, &fixture.view, &(struct cairn_shape){0});
	is_near(node(&graph, &fixture.view, "f")->cum, 11, 0, "a stack counts once for a node");
	is_near(node(&graph, &fixture.view, "g")->flat, 10, 0, "flat is of the leaf");
	is_near(edge(&graph, &fixture.view, "f", "g", NULL), 10, 0, "and once for an edge");
	is_near(edge(&graph, &fixture.view, "g", "f", NULL), 10, 0, "in either direction");
	is_near(edge(&graph, &fixture.view, "f", "f", NULL), 1, 0, "a call of itself is an edge to itself");
	cairn_graph_free(&graph);
	fixture_free(&fixture);
}

static void test_left_out(void)
{
	struct fixture fixture;
	struct cairn_graph graph;
	bool residual = false;
	fixture_make(&fixture, "main;a;big 100\nmain;b;big 20\nmain;small 1\n", NULL);
	cairn_graph_make(&graph, &fixture.view, &(struct cairn_shape){.node_fraction = 0.5, .by_cum = true});
	is_int(graph.count, 3, "nodes below the fraction are left out");
	is_int(graph.all_count, 5, "and counted");
	is_near(edge(&graph, &fixture.view, "main", "big", &residual), 20, 0, "an edge leads over what was left out");
	ok(residual, "and says so");
	is_near(edge(&graph, &fixture.view, "a", "big", &residual), 100, 0, "others stay");
	ok(!residual, "as they were");
	is_near(node(&graph, &fixture.view, "main")->flat, 0, 0, "a stack that ends in one left out is nobody's own");
	cairn_graph_free(&graph);
	cairn_graph_make(&graph, &fixture.view, &(struct cairn_shape){.node_count = 2, .by_cum = true});
	is_int(graph.count, 2, "a number of nodes");
	cairn_graph_free(&graph);
	cairn_graph_make(&graph, &fixture.view, &(struct cairn_shape){.edge_fraction = 0.5});
	is_int(graph.edge_count, 2, "edges below the fraction are left out");
	const struct cairn_graph_node *big = node(&graph, &fixture.view, "big");
	is_int(big->in_count, 1, "the callers of a node are beside it");
	cairn_graph_free(&graph);
	fixture_free(&fixture);
}

static void test_order(void)
{
	struct fixture fixture;
	struct cairn_graph graph;
	fixture_make(&fixture, "x;callee 1\ny;callee 5\nz;callee 3\n", NULL);
	cairn_graph_make(&graph, &fixture.view, &(struct cairn_shape){0});
	cairn_graph_free(&graph);
	struct cairn_pattern *pattern = cairn_pattern_compile("^y$", NULL);
	cairn_graph_make_around(&graph, &fixture.view, &(struct cairn_shape){0}, pattern);
	is_int(graph.count, 4, "with a pattern all nodes");
	is_int(graph.edge_count, 1, "but only its edges");
	cairn_pattern_free(pattern);
	cairn_graph_free(&graph);
	cairn_graph_make(&graph, &fixture.view, &(struct cairn_shape){0});
	const struct cairn_graph_node *callee = node(&graph, &fixture.view, "callee");
	is_int(callee->in_count, 3, "three callers");
	is_near(graph.edges[graph.in_edges[callee->first_in]].value, 5, 0, "the largest first");
	is_near(graph.edges[graph.in_edges[callee->first_in + 2]].value, 1, 0, "the smallest last");
	cairn_graph_free(&graph);
	fixture_free(&fixture);
}

int main(void)
{
	test_recursion();
	test_left_out();
	test_order();
	return tap_done();
}
