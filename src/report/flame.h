/* flame.h - the layout of a flame graph: every frame's position in whole units, before anything is drawn.
 *
 * A frame starts where its caller does, after the caller's own value and after the preceding siblings. Starts and ends are rounded to
 * whole units; the width of a frame is the difference. So starts and widths are integers that nest and add up, exactly if the values are
 * integers, as in folded text, and within one unit if they are estimates.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FLAME_H
#define CAIRN_REPORT_FLAME_H

#include "report/tree.h"

struct cairn_flame_options {
	int64_t total;     /* the total width, if it is more than the sum of the stacks; 0 for the sum */
	double least_part; /* frames smaller than this fraction of the total are left out, with their callees */
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
	uint32_t depth; /* of the deepest frame */
	int64_t total;  /* the value of the picture's whole width */
	bool is_change; /* something is negative, or a base was subtracted */
	double grown;   /* the sum of the stacks that grew, and of those that shrank; 0 unless is_change */
	double shrunk;
};

/* Lays out TREE, which outlives the layout. If nothing has a value, there is only the root, with a total of 0. */
void cairn_flame_make(struct cairn_flame *flame, const struct cairn_tree *tree, const struct cairn_flame_options *options);
void cairn_flame_free(struct cairn_flame *flame);

#endif
