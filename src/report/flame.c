/* flame.c - lays out the tree in one pass, from the root down.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flame.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

struct place {
	double start; /* negative until the caller is placed; stays negative if the caller was left out */
	uint32_t depth;
};

/* Above this, doubles cannot represent every integer. */
static int64_t whole(double value)
{
	return (int64_t)rint(fmin(value, 0x1p53));
}

/* In a pruned tree, a node without children counts with its total. */
static void add_changes(struct cairn_flame *flame)
{
	for (size_t n = 0; n < flame->tree->count; n++) {
		const struct cairn_tree_node *node = &flame->tree->nodes[n];
		double change = node->first_child == CAIRN_NONE ? node->value.total : node->value.self;
		flame->is_change |= change < 0;
		*(change < 0 ? &flame->shrunk : &flame->grown) += fabs(change);
	}
	if (!flame->is_change)
		flame->grown = flame->shrunk = 0;
}

static void add_frame(struct cairn_flame *flame, uint32_t node, const struct place *place)
{
	cairn_array_room(flame->frames, flame->count, flame->capacity);
	int64_t start = whole(place->start), end = whole(place->start + flame->tree->nodes[node].size.total);
	flame->frames[flame->count++] = (struct cairn_flame_frame){node, place->depth, start, end - start};
	if (place->depth > flame->depth)
		flame->depth = place->depth;
}

static void place_callees(const struct cairn_tree *tree, struct place *places, uint32_t caller)
{
	double at = places[caller].start + tree->nodes[caller].size.self;
	for (uint32_t child = tree->nodes[caller].first_child; child != CAIRN_NONE; child = tree->nodes[child].next_sibling) {
		places[child] = (struct place){at, places[caller].depth + 1};
		at += tree->nodes[child].size.total;
	}
}

void cairn_flame_make(struct cairn_flame *flame, const struct cairn_tree *tree, const struct cairn_flame_options *options)
{
	*flame = (struct cairn_flame){.tree = tree, .is_change = tree->has_base};
	add_changes(flame);
	flame->total = whole(tree->nodes[0].size.total);
	if (options->total > flame->total)
		flame->total = options->total;
	double least = options->least_part * (double)flame->total;
	struct place *places = cairn_array_new(tree->count, sizeof *places);
	for (size_t n = 0; n < tree->count; n++)
		places[n] = (struct place){n ? -1 : 0, 0};
	for (uint32_t n = 0; n < tree->count; n++) {
		double size = tree->nodes[n].size.total;
		if (places[n].start < 0 || (n > 0 && (size == 0 || size < least)))
			continue;
		/* In a tree by time, a node's own value between its children is a child without an entry, and gets no frame. */
		if (n == 0 || tree->nodes[n].entry != CAIRN_NONE)
			add_frame(flame, n, &places[n]);
		place_callees(tree, places, n);
	}
	flame->frames[0].weight = flame->total;
	free(places);
}

void cairn_flame_free(struct cairn_flame *flame)
{
	free(flame->frames);
	*flame = (struct cairn_flame){0};
}
