/* flame.c - two sweeps over the tree: weights from the leaves up, places from the root down.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flame.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

/* Past this, doubles are not whole numbers one by one, and sums of a few could overflow. */
static const double largest = 0x1p53;

static int64_t whole(double value)
{
	return isnan(value) ? 0 : (int64_t)(value > largest ? largest : value < -largest ? -largest : value);
}

/* What a stack that ends at NODE weighs. */
static int64_t stack_weight(const struct cairn_tree *tree, const struct cairn_tree_node *node, int widths)
{
	if (!tree->has_base || widths == CAIRN_WIDTHS_CHANGE)
		return llabs(whole(node->value.self));
	int64_t after = whole(node->value.self + node->base.self);
	if (after <= 0 && widths == CAIRN_WIDTHS_AFTER)
		return llabs(whole(node->base.self));
	return after > 0 ? after : 0;
}

struct place {
	int64_t weight;
	int64_t start; /* -1 until the caller was placed, and for ever if it was left out */
	uint32_t depth;
};

static struct place *weigh(const struct cairn_tree *tree, struct cairn_flame *flame, int widths)
{
	struct place *places = cairn_array_reserve(NULL, &(size_t){0}, tree->count, sizeof *places);
	for (size_t n = 0; n < tree->count; n++) {
		const struct cairn_tree_node *node = &tree->nodes[n];
		int64_t change = whole(node->value.self);
		places[n] = (struct place){stack_weight(tree, node, widths), -1, 0};
		flame->is_change |= change < 0;
		*(change < 0 ? &flame->shrunk : &flame->grown) += llabs(change);
	}
	for (size_t n = tree->count; n-- > 1;)
		places[tree->nodes[n].parent].weight += places[n].weight;
	return places;
}

static void add_frame(struct cairn_flame *flame, uint32_t node, const struct place *place)
{
	cairn_array_room(flame->frames, flame->count, flame->capacity);
	flame->frames[flame->count++] = (struct cairn_flame_frame){node, place->depth, place->start, place->weight};
	if (place->depth > flame->depth)
		flame->depth = place->depth;
}

static void place_callees(const struct cairn_tree *tree, struct place *places, uint32_t caller, int widths)
{
	int64_t at = places[caller].start + stack_weight(tree, &tree->nodes[caller], widths);
	for (uint32_t child = tree->nodes[caller].first_child; child != CAIRN_NONE; child = tree->nodes[child].next_sibling) {
		places[child].start = at;
		places[child].depth = places[caller].depth + 1;
		at += places[child].weight;
	}
}

void cairn_flame_make(struct cairn_flame *flame, const struct cairn_tree *tree, const struct cairn_flame_options *options)
{
	*flame = (struct cairn_flame){.tree = tree, .is_change = tree->has_base};
	struct place *places = weigh(tree, flame, options->widths);
	if (!flame->is_change)
		flame->grown = flame->shrunk = 0;
	flame->total = options->total > places[0].weight ? options->total : places[0].weight;
	double least = fmax(options->least_weight, options->least_part * (double)flame->total);
	places[0].start = 0;
	for (uint32_t n = 0; n < tree->count; n++) {
		if (places[n].start < 0 || (n > 0 && (places[n].weight == 0 || (double)places[n].weight < least)))
			continue;
		/* In a tree in the order of time, a node without an entry is what its caller held itself for a while. */
		if (n == 0 || tree->nodes[n].entry != CAIRN_NONE)
			add_frame(flame, n, &places[n]);
		place_callees(tree, places, n, options->widths);
	}
	flame->frames[0].weight = flame->total;
	free(places);
}

void cairn_flame_free(struct cairn_flame *flame)
{
	free(flame->frames);
	*flame = (struct cairn_flame){0};
}
