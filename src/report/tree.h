/* tree.h - one weighted call tree, made from a view, for every table and picture that shows calls.
 *
 * Node 0 is the root: it has no entry, and its total is that of all samples. Every other node stands for one entry called along one path:
 * from the root of the stacks to their leaves or, reversed, from the leaves to their callers. A child always has a higher number than its
 * parent, so one pass over the nodes, up or down, replaces recursion (stacks may be deeper than C's own).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_TREE_H
#define CAIRN_REPORT_TREE_H

#include "report/view.h"

/* SELF is of samples that end at the node, TOTAL of those that pass through it. */
struct cairn_weight {
	double self;
	double total;
};

struct cairn_tree_node {
	uint32_t entry;        /* of the view; CAIRN_NONE for the root */
	uint32_t parent;       /* CAIRN_NONE for the root */
	uint32_t first_child;  /* CAIRN_NONE for a leaf */
	uint32_t next_sibling; /* CAIRN_NONE for the last */
	struct cairn_weight value;
	struct cairn_weight objects; /* all zero unless has_objects */
	struct cairn_weight base;    /* of the subtracted profile; value + base is the current value. All zero unless has_base */
	struct cairn_weight size;    /* its width in a picture; never negative */
	/* The errors of the values; all zero unless has_errors. */
	struct cairn_spread self_spread, total_spread;
};

/* The order of siblings. */
enum cairn_tree_order {
	CAIRN_TREE_BY_NAME,  /* in the order of sorted folded text: equal trees look equal */
	CAIRN_TREE_BY_VALUE, /* largest total first; equal totals by name */
	CAIRN_TREE_BY_TIME,  /* in the order of the samples. Only neighbours are merged, and a node's own value between its children is a
			      * child too, without an entry */
};

/* The size of a stack. */
enum cairn_tree_sizes {
	CAIRN_SIZE_VALUE, /* its absolute value: with a base, how much it changed */
	CAIRN_SIZE_AFTER, /* its current value; for a stack that has vanished, that of the base */
	CAIRN_SIZE_NOW,   /* its current value; nothing for a stack that has vanished */
};

struct cairn_tree_options {
	bool reversed; /* the leaves are the root's children */
	enum cairn_tree_order order;
	enum cairn_tree_sizes sizes;
	double least_part; /* nodes smaller than this share of the whole have a total but no children: their stacks are not divided. Most
			    * stacks of a large profile end there and cost nothing */
	bool wants_errors; /* fill the nodes' spreads even without a base and without the view's `errors` */
	const double *weights; /* NULL, or a weight for each sample of the view, used instead of its size to decide which nodes are too
			        * small; samples of weight 0 are left out */
	bool wants_ends; /* fill the tree's `ends`; not with CAIRN_TREE_BY_TIME */
};

struct cairn_tree {
	const struct cairn_view *view; /* borrowed */
	struct cairn_tree_node *nodes;
	size_t count, capacity;
	bool has_objects;
	bool has_base;
	bool has_errors; /* errors are known, and wanted by the view, by the options or because there is a base */
	uint32_t *ends; /* for each sample of the view, its last node; CAIRN_NONE if it was left out. NULL unless requested */
};

/* Makes the tree of all samples of VIEW, which outlives it; samples with the value 0 are left out. OPTIONS may be NULL. */
void cairn_tree_make(struct cairn_tree *tree, struct cairn_view *view, const struct cairn_tree_options *options);
void cairn_tree_free(struct cairn_tree *tree);

/* The display name of NODE; "root" for the root. Borrowed from the view. */
struct cairn_bytes cairn_tree_name(const struct cairn_tree *tree, uint32_t node);

#endif
