/* flamebearer.c - arranges boxes in rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flamebearer.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

/* The integers of one node: for the base, and for now. */
struct box {
	int64_t self[2], total[2];
	int64_t other[2]; /* of children too small to be shown */
	int64_t start[2], other_start[2];
	bool shown;
	uint32_t depth;
};

static int64_t whole(double value)
{
	static const double most = 4e18;
	return value > 0 ? (int64_t)llround(fmin(value, most)) : 0;
}

static int compare_totals(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
	return (one < other) - (one > other);
}

static int64_t larger(const int64_t values[2])
{
	return values[0] > values[1] ? values[0] : values[1];
}

/* The smallest total of a box that is shown, and how many of just that total are. */
static int64_t least_shown(const struct box *boxes, size_t count, size_t node_most, size_t *equals)
{
	*equals = count;
	if (node_most == 0 || count <= node_most)
		return 1;
	int64_t *totals = cairn_array_new(count, sizeof *totals);
	for (size_t i = 0; i < count; i++)
		totals[i] = larger(boxes[i].total);
	qsort(totals, count, sizeof *totals, compare_totals);
	int64_t least = totals[node_most - 1];
	for (*equals = 0; *equals < node_most && totals[node_most - 1 - *equals] == least;)
		++*equals;
	free(totals);
	return least > 1 ? least : 1;
}

static void put_box(struct cairn_flamebearer *flame, size_t row, int64_t (*ends)[2], const int64_t start[2], const int64_t total[2],
		    const int64_t self[2], uint32_t name)
{
	while (flame->row_count <= row) {
		cairn_array_room(flame->rows, flame->row_count, flame->row_capacity);
		flame->rows[flame->row_count++] = (struct cairn_flamebearer_row){0};
	}
	struct cairn_flamebearer_row *out = &flame->rows[row];
	out->values = cairn_array_reserve(out->values, &out->capacity, out->count + 7, sizeof *out->values);
	for (int side = flame->compares ? 0 : 1; side < 2; side++) {
		out->values[out->count++] = start[side] - ends[row][side];
		out->values[out->count++] = total[side];
		out->values[out->count++] = self[side];
		ends[row][side] = start[side] + total[side];
	}
	out->values[out->count++] = (int64_t)name - 1; /* string 0 of the table is the empty string */
	flame->most_self = larger(self) > flame->most_self ? larger(self) : flame->most_self;
}

/* A box in a row: a node, or the sum of children too small to be shown. */
struct place {
	uint32_t node;
	bool other;
};

/* Finds where the children of NODE begin, and appends them to ROW. Returns their number. */
static size_t place_children(const struct cairn_tree *tree, struct box *boxes, uint32_t node, struct place *row)
{
	struct box *box = &boxes[node];
	size_t count = 0;
	int64_t at[2] = {box->start[0] + box->self[0], box->start[1] + box->self[1]};
	for (uint32_t child = tree->nodes[node].first_child; child != CAIRN_NONE; child = tree->nodes[child].next_sibling) {
		if (!boxes[child].shown)
			continue;
		for (int side = 0; side < 2; side++) {
			boxes[child].start[side] = at[side];
			at[side] += boxes[child].total[side];
		}
		row[count++] = (struct place){child, false};
	}
	box->other_start[0] = at[0];
	box->other_start[1] = at[1];
	if (larger(box->other) > 0)
		row[count++] = (struct place){node, true};
	return count;
}

static void make_boxes(const struct cairn_tree *tree, struct box *boxes)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct cairn_tree_node *node = &tree->nodes[i];
		boxes[i] = (struct box){.depth = node->parent == CAIRN_NONE ? 0 : boxes[node->parent].depth + 1};
		boxes[i].self[0] = boxes[i].total[0] = whole(node->base.self);
		boxes[i].self[1] = boxes[i].total[1] = whole(node->value.self + node->base.self);
	}
	/* A child has a higher number than its parent. */
	for (size_t i = tree->count; i-- > 1;)
		for (int side = 0; side < 2; side++)
			boxes[tree->nodes[i].parent].total[side] += boxes[i].total[side];
}

void cairn_flamebearer_make(struct cairn_flamebearer *flame, const struct cairn_tree *tree, size_t node_most, bool compares)
{
	*flame = (struct cairn_flamebearer){.compares = compares};
	uint32_t deepest = 0, total_name = cairn_strings_add_text(&flame->names, "total");
	struct box *boxes = cairn_array_new(tree->count + 1, sizeof *boxes);
	make_boxes(tree, boxes);
	size_t equals;
	int64_t least = least_shown(boxes, tree->count, node_most, &equals);
	for (size_t i = 0; i < tree->count; i++) {
		uint32_t parent = tree->nodes[i].parent;
		int64_t size = larger(boxes[i].total);
		boxes[i].shown = parent == CAIRN_NONE || (boxes[parent].shown && size >= least && (size > least || equals > 0));
		equals -= boxes[i].shown && size == least && equals > 0;
		deepest = boxes[i].depth > deepest ? boxes[i].depth : deepest;
		for (int side = 0; side < 2 && parent != CAIRN_NONE && boxes[parent].shown && !boxes[i].shown; side++)
			boxes[parent].other[side] += boxes[i].total[side];
	}
	flame->totals[0] = boxes[0].total[0];
	flame->totals[1] = boxes[0].total[1];
	/* Row by row, each in the order of the parents: a box is placed after its parent. */
	int64_t(*ends)[2] = cairn_array_zero(deepest + 3, sizeof *ends);
	struct place *row = cairn_array_new(2 * tree->count + 2, sizeof *row), *next = cairn_array_new(2 * tree->count + 2, sizeof *next);
	size_t count = 1;
	row[0] = (struct place){0, false};
	for (size_t depth = 0; count > 0; depth++) {
		size_t below = 0;
		for (size_t i = 0; i < count; i++) {
			struct box *box = &boxes[row[i].node];
			if (row[i].other) {
				put_box(flame, depth, ends, box->other_start, box->other, box->other,
					cairn_strings_add_text(&flame->names, "other"));
				continue;
			}
			uint32_t name =
				row[i].node == 0 ? total_name : cairn_strings_add(&flame->names, cairn_tree_name(tree, row[i].node));
			put_box(flame, depth, ends, box->start, box->total, box->self, name);
			below += place_children(tree, boxes, row[i].node, next + below);
		}
		struct place *swap = row;
		row = next;
		next = swap;
		count = below;
	}
	free(row);
	free(next);
	free(ends);
	free(boxes);
}

void cairn_flamebearer_free(struct cairn_flamebearer *flame)
{
	for (size_t i = 0; i < flame->row_count; i++)
		free(flame->rows[i].values);
	free(flame->rows);
	cairn_strings_free(&flame->names);
}
