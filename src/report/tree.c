/* tree.c - makes the call tree by dividing the samples: those of one node by their next entry, and so on down.
 *
 * The samples of a node are contiguous in one array. Dividing them makes the samples of each child contiguous within that range, in the
 * order of the children, so no table of nodes is needed to find a path again.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tree.h"

#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* More than can be looked at. A stack of a million frames has as many nodes, and is no program's. */
enum { nodes_most = 1 << 20 };

/* Samples of one node that have not been divided yet; the first LEVEL entries of their stacks are the same. */
struct group {
	uint32_t node;
	uint32_t level;
	size_t first, count; /* range in `order` */
};

/* Facts about each entry that comes next in a group. Indexed by entry; all zero between groups. */
struct next {
	uint32_t count;
	bool has_end; /* a sample ends there */
	double size;
};

struct making {
	struct cairn_tree *tree;
	struct cairn_view *view;
	const struct cairn_tree_options *options;
	/* Stacks of entries in the direction of the tree, one after another; sample i of the tree has stacks[start[i]] up to stacks[start[i
	 * + 1]]. */
	uint32_t *stacks;
	size_t stack_count, stack_capacity;
	size_t *start;
	uint32_t *samples; /* of the view, those with a value other than 0 */
	size_t sample_count;
	uint32_t *order, *scratch; /* the samples, as divided so far */
	struct next *next;
	uint32_t *found; /* the entries that come next in a group */
	uint32_t *ranks; /* ranks of each entry's name: followed by a callee, and at the end of a stack */
	struct group *groups;
	size_t group_count, group_capacity;
	double least;
};

static uint32_t add_node(struct cairn_tree *tree, uint32_t parent, uint32_t entry)
{
	cairn_array_room(tree->nodes, tree->count, tree->capacity);
	uint32_t node = (uint32_t)tree->count++;
	tree->nodes[node] =
		(struct cairn_tree_node){.entry = entry, .parent = parent, .first_child = CAIRN_NONE, .next_sibling = CAIRN_NONE};
	return node;
}

/* The size of one stack with VALUE and BASE. */
static double size_of(enum cairn_tree_sizes sizes, double value, double base)
{
	if (sizes == CAIRN_SIZE_VALUE)
		return fabs(value);
	double now = value + base;
	if (now <= 0 && sizes == CAIRN_SIZE_AFTER)
		return fabs(base);
	return now > 0 ? now : 0;
}

static double sample_size(const struct making *making, uint32_t sample)
{
	uint32_t of_view = making->samples[sample];
	return size_of(making->options->sizes, cairn_view_value(making->view, of_view), cairn_view_base(making->view, of_view));
}

/* The weight of a sample for deciding which nodes are kept. */
static double sample_weight(const struct making *making, uint32_t sample)
{
	return making->options->weights ? making->options->weights[making->samples[sample]] : sample_size(making, sample);
}

static bool is_nothing(const struct making *making, size_t of_view)
{
	const struct cairn_view *view = making->view;
	return making->options->weights ? making->options->weights[of_view] == 0
					: cairn_view_value(view, of_view) == 0 && cairn_view_objects(view, of_view) == 0 &&
						  cairn_view_base(view, of_view) == 0;
}

static void add_self(const struct making *making, struct cairn_tree_node *node, uint32_t sample)
{
	uint32_t of_view = making->samples[sample];
	node->value.self += cairn_view_value(making->view, of_view);
	node->objects.self += cairn_view_objects(making->view, of_view);
	node->base.self += cairn_view_base(making->view, of_view);
	if (making->tree->has_errors)
		cairn_spread_add(&node->self_spread, cairn_view_spread(making->view, of_view));
	if (making->tree->ends)
		making->tree->ends[of_view] = (uint32_t)(node - making->tree->nodes);
}

static void take_stacks(struct making *making)
{
	struct cairn_view *view = making->view;
	making->start = cairn_array_new(view->sample_count + 1, sizeof *making->start);
	making->samples = cairn_array_new(view->sample_count + 1, sizeof *making->samples);
	for (size_t i = 0; i < view->sample_count; i++) {
		if (is_nothing(making, i))
			continue;
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		making->stacks =
			cairn_array_reserve(making->stacks, &making->stack_capacity, making->stack_count + depth + 1, sizeof *stack);
		uint32_t *to = making->stacks + making->stack_count;
		for (size_t d = 0; d < depth; d++)
			to[d] = stack[making->options->reversed ? d : depth - 1 - d];
		making->start[making->sample_count] = making->stack_count;
		making->samples[making->sample_count++] = (uint32_t)i;
		making->stack_count += depth;
	}
	making->start[making->sample_count] = making->stack_count;
}

/* Ranks. Lines of folded text are sorted by name and the character after it: ";" if there is a callee, a space if there is none. */

static int compare_ends(const void *a, const void *b, void *context)
{
	uint32_t left_key = *(const uint32_t *)a, right_key = *(const uint32_t *)b;
	struct cairn_bytes left = cairn_view_name(context, left_key / 2), right = cairn_view_name(context, right_key / 2);
	size_t shorter = left.length < right.length ? left.length : right.length;
	int order = shorter ? memcmp(left.data, right.data, shorter) : 0;
	if (order)
		return order;
	unsigned char left_next = left.length > shorter ? (unsigned char)left.data[shorter] : left_key % 2 ? ' ' : ';';
	unsigned char right_next = right.length > shorter ? (unsigned char)right.data[shorter] : right_key % 2 ? ' ' : ';';
	if (left_next != right_next)
		return left_next < right_next ? -1 : 1;
	return left.length < right.length ? -1 : left.length > right.length;
}

static uint32_t *rank_names(struct cairn_view *view)
{
	size_t count = view->entry_count * 2;
	uint32_t *keys = cairn_array_new(count + 1, sizeof *keys);
	uint32_t *ranks = cairn_array_new(count + 1, sizeof *ranks);
	for (size_t k = 0; k < count; k++)
		keys[k] = (uint32_t)k;
	qsort_r(keys, count, sizeof *keys, compare_ends, view);
	for (size_t i = 0; i < count; i++)
		ranks[keys[i]] = (uint32_t)i;
	free(keys);
	return ranks;
}

static int compare_found(const void *a, const void *b, void *context)
{
	const struct making *making = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	return making->ranks[left * 2 + making->next[left].has_end] < making->ranks[right * 2 + making->next[right].has_end] ? -1 : 1;
}

/* Dividing. */

/* Counts the entries that come next. Samples that end at the group's node are added to it and leave the group. */
static size_t find_next(struct making *making, struct group *group)
{
	uint32_t *order = making->order + group->first;
	size_t found = 0, left = 0;
	for (size_t i = 0; i < group->count; i++) {
		uint32_t sample = order[i];
		size_t at = making->start[sample] + group->level, end = making->start[sample + 1];
		if (at == end) {
			add_self(making, &making->tree->nodes[group->node], sample);
			continue;
		}
		uint32_t entry = making->stacks[at];
		struct next *next = &making->next[entry];
		if (next->count++ == 0)
			making->found[found++] = entry;
		next->has_end |= at + 1 == end;
		next->size += sample_weight(making, sample);
		order[left++] = sample;
	}
	group->count = left;
	return found;
}

static void scatter(struct making *making, const struct group *group, size_t found)
{
	uint32_t *order = making->order + group->first, place = 0;
	for (size_t i = 0; i < found; i++) {
		struct next *next = &making->next[making->found[i]];
		uint32_t count = next->count;
		next->count = place; /* where its next sample goes; afterwards, the end of its range */
		place += count;
	}
	for (size_t i = 0; i < group->count; i++)
		making->scratch[making->next[making->stacks[making->start[order[i]] + group->level]].count++] = order[i];
	memcpy(order, making->scratch, group->count * sizeof *order);
}

/* A node whose samples are not divided further. */
static void close_node(const struct making *making, const struct group *group)
{
	struct cairn_tree_node *node = &making->tree->nodes[group->node];
	for (size_t i = 0; i < group->count; i++) {
		uint32_t sample = making->order[group->first + i];
		add_self(making, node, sample);
		node->size.total += sample_size(making, sample);
	}
	node->value.total = node->value.self;
	node->objects.total = node->objects.self;
	node->base.total = node->base.self;
	node->total_spread = node->self_spread;
	node->self_spread = (struct cairn_spread){0};
	node->value.self = node->objects.self = node->base.self = 0;
}

static void part(struct making *making, struct group group)
{
	struct cairn_tree *tree = making->tree;
	size_t found = find_next(making, &group);
	if (found > 1) {
		qsort_r(making->found, found, sizeof *making->found, compare_found, making);
		scatter(making, &group, found);
	}
	size_t first = group.first;
	uint32_t elder = CAIRN_NONE;
	for (size_t i = 0; i < found; i++) {
		uint32_t entry = making->found[i], node = add_node(tree, group.node, entry);
		size_t end = found > 1 ? group.first + making->next[entry].count : group.first + group.count;
		struct group child = {node, group.level + 1, first, end - first};
		*(elder == CAIRN_NONE ? &tree->nodes[group.node].first_child : &tree->nodes[elder].next_sibling) = node;
		if (making->next[entry].size < making->least || tree->count >= nodes_most) {
			close_node(making, &child);
		} else {
			cairn_array_room(making->groups, making->group_count, making->group_capacity);
			making->groups[making->group_count++] = child;
		}
		making->next[entry] = (struct next){0};
		elder = node;
		first = end;
	}
}

static void part_all(struct making *making)
{
	size_t entries = making->view->entry_count + 1, count = making->sample_count;
	making->order = cairn_array_new(count + 1, sizeof *making->order);
	making->scratch = cairn_array_new(count + 1, sizeof *making->scratch);
	making->found = cairn_array_new(entries, sizeof *making->found);
	making->next = cairn_array_zero(entries, sizeof *making->next);
	making->ranks = rank_names(making->view);
	double whole = 0;
	for (uint32_t i = 0; i < count; i++) {
		making->order[i] = i;
		whole += sample_weight(making, i);
	}
	making->least = making->options->least_part * whole;
	part(making, (struct group){.count = count});
	while (making->group_count > 0)
		part(making, making->groups[--making->group_count]);
	free(making->order);
	free(making->scratch);
	free(making->found);
	free(making->next);
	free(making->ranks);
	free(making->groups);
}

/* In order of time, a stack continues the previous one as far as they agree. PATH has the last child at each level. */
static void follow(struct making *making)
{
	struct cairn_tree *tree = making->tree;
	uint32_t *path = NULL;
	size_t known = 0, capacity = 0;
	for (uint32_t i = 0; i < making->sample_count; i++) {
		size_t depth = making->start[i + 1] - making->start[i];
		uint32_t node = 0;
		bool shared = true;
		path = cairn_array_reserve(path, &capacity, depth + 1, sizeof *path);
		if (tree->count >= nodes_most)
			depth = 0;
		else if (depth > nodes_most)
			depth = nodes_most;
		for (size_t level = 0; level <= depth; level++) {
			uint32_t entry = level < depth ? making->stacks[making->start[i] + level] : CAIRN_NONE;
			uint32_t last = shared && level < known ? path[level] : CAIRN_NONE;
			shared = last != CAIRN_NONE && tree->nodes[last].entry == entry;
			if (!shared) {
				uint32_t child = add_node(tree, node, entry);
				*(last == CAIRN_NONE ? &tree->nodes[node].first_child : &tree->nodes[last].next_sibling) = child;
				path[level] = child;
			}
			node = path[level];
		}
		known = depth + 1;
		add_self(making, &tree->nodes[node], i);
	}
	free(path);
}

/* Computes each node's Total from the Selfs. */
static void sum_up(struct cairn_tree *tree, enum cairn_tree_sizes sizes)
{
	for (size_t n = tree->count; n-- > 0;) {
		struct cairn_tree_node *node = &tree->nodes[n];
		node->size.self = size_of(sizes, node->value.self, node->base.self);
		node->value.total += node->value.self;
		node->objects.total += node->objects.self;
		node->base.total += node->base.self;
		cairn_spread_add(&node->total_spread, node->self_spread);
		node->size.total += node->size.self;
		if (n == 0)
			break;
		struct cairn_tree_node *parent = &tree->nodes[node->parent];
		parent->value.total += node->value.total;
		parent->objects.total += node->objects.total;
		parent->base.total += node->base.total;
		cairn_spread_add(&parent->total_spread, node->total_spread);
		parent->size.total += node->size.total;
	}
}

/* Siblings are numbered by name, so the number decides between equal values. */
static int compare_values(const void *a, const void *b, void *nodes)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	double l = fabs(((struct cairn_tree_node *)nodes)[left].value.total),
	       r = fabs(((struct cairn_tree_node *)nodes)[right].value.total);
	return l != r ? (l > r ? -1 : 1) : (left > right) - (left < right);
}

static void sort_by_value(struct cairn_tree *tree)
{
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
		qsort_r(children, count, sizeof *children, compare_values, tree->nodes);
		tree->nodes[n].first_child = children[0];
		for (size_t i = 0; i < count; i++)
			tree->nodes[children[i]].next_sibling = i + 1 < count ? children[i + 1] : CAIRN_NONE;
	}
	free(children);
}

void cairn_tree_make(struct cairn_tree *tree, struct cairn_view *view, const struct cairn_tree_options *options)
{
	static const struct cairn_tree_options plain;
	*tree = (struct cairn_tree){.view = view, .has_objects = view->objects != CAIRN_NONE, .has_base = view->profile->base != NULL};
	tree->has_errors = view->knows_errors && (tree->has_base || view->options.errors || (options && options->wants_errors));
	struct making making = {.tree = tree, .view = view, .options = options ? options : &plain};
	add_node(tree, CAIRN_NONE, CAIRN_NONE);
	if (making.options->wants_ends)
		tree->ends = cairn_array_none(view->sample_count);
	take_stacks(&making);
	if (making.options->order == CAIRN_TREE_BY_TIME)
		follow(&making);
	else
		part_all(&making);
	free(making.stacks);
	free(making.start);
	free(making.samples);
	sum_up(tree, making.options->sizes);
	if (making.options->order == CAIRN_TREE_BY_VALUE)
		sort_by_value(tree);
}

void cairn_tree_free(struct cairn_tree *tree)
{
	free(tree->nodes);
	free(tree->ends);
	*tree = (struct cairn_tree){0};
}

struct cairn_bytes cairn_tree_name(const struct cairn_tree *tree, uint32_t node)
{
	assert(node < tree->count);
	uint32_t entry = tree->nodes[node].entry;
	return entry == CAIRN_NONE ? cairn_bytes_of("root") : cairn_view_name(tree->view, entry);
}
