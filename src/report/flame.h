/* flame.h - the layout of a flame graph: every frame's place in whole units of weight, before anything is drawn.
 *
 * A stack weighs its value with the fraction dropped, as it does in folded text; a frame weighs what its own stack and its
 * callees weigh together. It starts where its caller does, after what the caller holds itself and after its elder siblings.
 * So starts and weights are integers that add up, and a picture drawn from folded text and one drawn from the dump behind it
 * hold the same tree.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FLAME_H
#define CAIRN_REPORT_FLAME_H

#include "report/tree.h"

/* What the weight of a stack is when a base was subtracted. */
enum cairn_flame_widths {
	CAIRN_WIDTHS_CHANGE, /* how much it changed, in either direction */
	CAIRN_WIDTHS_AFTER,  /* what it holds now; one that has vanished weighs what it held before */
	CAIRN_WIDTHS_NOW,    /* what it holds now; one that has vanished is not shown */
};

struct cairn_flame_options {
	int widths;
	int64_t total;       /* the whole, where it is more than the sum of the stacks; 0 for the sum */
	double least_weight; /* frames that weigh less are left out, and so are their callees */
	double least_part;   /* the same, as a part of the whole */
};

struct cairn_flame_frame {
	uint32_t node;
	uint32_t depth; /* 0 for the root */
	int64_t start;
	int64_t weight;
};

struct cairn_flame {
	const struct cairn_tree *tree; /* borrowed */
	struct cairn_flame_frame *frames; /* callers before their callees; the root is the first */
	size_t count, capacity;
	uint32_t depth;  /* of the deepest frame */
	int64_t total;   /* what the width of the picture stands for */
	int64_t grown;   /* the sum of the stacks that grew, of those that shrank: 0 unless something is negative or there is a base */
	int64_t shrunk;
	bool is_change; /* weights or colours are of changes */
};

/* Lays out TREE, which outlives the layout. Without any weight there is the root alone, with a total of 0. */
void cairn_flame_make(struct cairn_flame *flame, const struct cairn_tree *tree, const struct cairn_flame_options *options);
void cairn_flame_free(struct cairn_flame *flame);

#endif
