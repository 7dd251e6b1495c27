/* tree.c - growing the call tree, summing it up and putting its branches in order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tree.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

/* A tree that grows, with what is needed to find a child by its entry. */
struct growth {
	struct cairn_tree *tree;
	struct cairn_map children; /* by parent and entry */
	/* The path of the stack before: neighbours share much of theirs, and what is shared need not be looked up. */
	uint32_t *path_entries, *path_nodes;
	size_t path_depth, path_entry_capacity, path_node_capacity;
};

static uint32_t add_node(struct cairn_tree *tree, uint32_t parent, uint32_t entry)
{
	cairn_array_room(tree->nodes, tree->count, tree->capacity);
	uint32_t node = (uint32_t)tree->count++;
	tree->nodes[node] = (struct cairn_tree_node){entry, parent, CAIRN_NONE, CAIRN_NONE, {0}, {0}, {0}};
	if (parent != CAIRN_NONE) {
		tree->nodes[node].next_sibling = tree->nodes[parent].first_child;
		tree->nodes[parent].first_child = node;
	}
	return node;
}

static uint32_t find_child(struct growth *growth, uint32_t parent, uint32_t entry)
{
	uint32_t *child = cairn_map_at(&growth->children, (uint64_t)parent << 32 | entry);
	if (*child == CAIRN_NONE)
		*child = add_node(growth->tree, parent, entry);
	return *child;
}

/* The node at the end of STACK, whose entry for level L below the root is at stack[REVERSED ? L : DEPTH - 1 - L]. */
static uint32_t find_path(struct growth *growth, const uint32_t *stack, size_t depth, bool reversed)
{
	growth->path_entries = cairn_array_reserve(growth->path_entries, &growth->path_entry_capacity, depth + 1, sizeof *stack);
	growth->path_nodes = cairn_array_reserve(growth->path_nodes, &growth->path_node_capacity, depth + 1, sizeof *stack);
	uint32_t node = 0;
	bool shared = true;
	for (size_t level = 0; level < depth; level++) {
		uint32_t entry = stack[reversed ? level : depth - 1 - level];
		shared = shared && level < growth->path_depth && growth->path_entries[level] == entry;
		node = shared ? growth->path_nodes[level] : find_child(growth, node, entry);
		growth->path_entries[level] = entry;
		growth->path_nodes[level] = node;
	}
	growth->path_depth = depth;
	if (depth > growth->tree->depth)
		growth->tree->depth = depth;
	return node;
}

/* From what ends at each node to what passes through it. */
static void sum_up(struct cairn_tree *tree)
{
	for (size_t n = tree->count; n-- > 0;) {
		struct cairn_tree_node *node = &tree->nodes[n];
		node->value.total += node->value.self;
		node->objects.total += node->objects.self;
		node->base.total += node->base.self;
		if (n > 0) {
			struct cairn_tree_node *parent = &tree->nodes[node->parent];
			parent->value.total += node->value.total;
			parent->objects.total += node->objects.total;
			parent->base.total += node->base.total;
		}
	}
}

struct ranks {
	const struct cairn_view *view;
	const struct cairn_tree *tree;
	uint32_t *rank; /* of each entry among all, by name */
	enum cairn_tree_order order;
};

static int compare_names(const void *a, const void *b, void *context)
{
	const struct ranks *ranks = context;
	struct cairn_bytes left = cairn_view_name(ranks->view, *(const uint32_t *)a), right = cairn_view_name(ranks->view, *(const uint32_t *)b);
	size_t shorter = left.length < right.length ? left.length : right.length;
	int order = shorter ? memcmp(left.data, right.data, shorter) : 0;
	return order ? order : left.length < right.length ? -1 : left.length > right.length;
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct ranks *ranks = context;
	const struct cairn_tree_node *left = &ranks->tree->nodes[*(const uint32_t *)a], *right = &ranks->tree->nodes[*(const uint32_t *)b];
	double l = fabs(left->value.total), r = fabs(right->value.total);
	if (ranks->order == CAIRN_TREE_BY_VALUE && l != r)
		return l > r ? -1 : 1;
	return ranks->rank[left->entry] < ranks->rank[right->entry] ? -1 : 1;
}

static uint32_t *rank_names(const struct cairn_view *view)
{
	size_t count = view->entry_count;
	uint32_t *order = cairn_array_reserve(NULL, &(size_t){0}, count + 1, sizeof *order);
	uint32_t *rank = cairn_array_reserve(NULL, &(size_t){0}, count + 1, sizeof *rank);
	for (size_t e = 0; e < count; e++)
		order[e] = (uint32_t)e;
	qsort_r(order, count, sizeof *order, compare_names, &(struct ranks){.view = view});
	for (size_t i = 0; i < count; i++)
		rank[order[i]] = (uint32_t)i;
	free(order);
	return rank;
}

static void sort_children(struct cairn_tree *tree, const struct cairn_view *view, enum cairn_tree_order order)
{
	struct ranks ranks = {view, tree, rank_names(view), order};
	uint32_t *children = NULL;
	size_t capacity = 0;
	for (size_t n = 0; n < tree->count; n++) {
		size_t count = 0;
		for (uint32_t child = tree->nodes[n].first_child; child != CAIRN_NONE; child = tree->nodes[child].next_sibling) {
			cairn_array_room(children, count, capacity);
			children[count++] = child;
		}
		if (count < 2)
			continue;
		qsort_r(children, count, sizeof *children, compare_nodes, &ranks);
		tree->nodes[n].first_child = children[0];
		for (size_t i = 0; i < count; i++)
			tree->nodes[children[i]].next_sibling = i + 1 < count ? children[i + 1] : CAIRN_NONE;
	}
	free(children);
	free(ranks.rank);
}

void cairn_tree_make(struct cairn_tree *tree, struct cairn_view *view, const struct cairn_tree_options *options)
{
	static const struct cairn_tree_options plain;
	if (!options)
		options = &plain;
	*tree = (struct cairn_tree){.view = view, .has_objects = view->objects != CAIRN_NONE, .has_base = view->profile->base != NULL};
	struct growth growth = {.tree = tree};
	add_node(tree, CAIRN_NONE, CAIRN_NONE);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		uint32_t end = find_path(&growth, stack, depth, options->reversed);
		struct cairn_tree_node *node = &tree->nodes[end];
		node->value.self += cairn_view_value(view, i);
		node->objects.self += cairn_view_objects(view, i);
		node->base.self += cairn_view_base(view, i);
	}
	cairn_map_free(&growth.children);
	free(growth.path_entries);
	free(growth.path_nodes);
	sum_up(tree);
	sort_children(tree, view, options->order);
}

void cairn_tree_free(struct cairn_tree *tree)
{
	free(tree->nodes);
	*tree = (struct cairn_tree){0};
}

struct cairn_bytes cairn_tree_name(const struct cairn_tree *tree, uint32_t node)
{
	uint32_t entry = tree->nodes[node].entry;
	return entry == CAIRN_NONE ? cairn_bytes_of("root") : cairn_view_name(tree->view, entry);
}
