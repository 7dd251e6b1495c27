/* data.c - choosing the nodes that stay, and writing them as columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/data.h"

#include "base/array.h"
#include "base/utf8.h"
#include "report/label.h"
#include "report/tree.h"

#include <math.h>
#include <stdlib.h>

enum { name_most = 4096, thread_most = 4000 };

/* Up to so many frames in all stacks a whole tree is made; of more, only what reaches this part of the total is told apart. */
static const size_t whole_frames = 3000000;
static const double least_part = 1e-6;

/* What a node, a function or a part of one holds. */
struct weight {
	double value, objects, base;
};

struct node {
	uint32_t of_tree; /* CAIRN_NONE for smaller stacks */
	uint32_t depth;
	struct weight self;
	double sample_weight; /* profile/unsample.h */
};

struct making {
	struct cairn_page_data *data;
	struct cairn_view *view;
	struct cairn_tree tree;
	bool *kept;          /* by node of the tree */
	uint32_t *place;     /* by node of the tree: its number on the page, of smaller stacks where it is not kept */
	struct node *nodes;
	size_t count, capacity;
	uint32_t *entries;   /* of the view, by their number on the page */
	size_t entry_count, entry_capacity;
	uint32_t *entry_place; /* by entry of the view: its number on the page plus one */
	struct cairn_strings strings;
};

/* Numbers. */

/* A column of estimates as whole numbers whose sums are right: what rounding took from one is given to the next. */
struct column {
	struct cairn_buffer *out;
	bool is_signed;
	double sum, written;
};

static void put_whole(struct column *column, double whole)
{
	column->written += whole;
	cairn_buffer_uleb(column->out, column->is_signed ? (uint64_t)(whole < 0 ? -2 * whole - 1 : 2 * whole) : (uint64_t)whole);
}

static void put_rounded(struct column *column, double value)
{
	static const double most = 0x1p52;
	column->sum += value;
	double whole = fmax(-most, fmin(most, round(column->sum - column->written)));
	if (value == 0 || (whole < 0 && !column->is_signed))
		whole = 0;
	put_whole(column, whole);
}

enum part { part_value, part_objects, part_base };

static double part_of(const struct weight *weight, enum part part)
{
	return part == part_value ? weight->value : part == part_objects ? weight->objects : weight->base;
}

/* Where weights are found in an array of anything: AT points at the first, the next is STRIDE bytes on. */
static void put_weights(const struct making *making, const struct weight *at, size_t stride, size_t count, struct cairn_buffer *out)
{
	for (enum part part = part_value; part <= (making->tree.has_base ? part_base : part_objects); part++) {
		struct column column = {.out = out, .is_signed = making->data->is_change && part != part_base};
		for (size_t i = 0; i < count; i++)
			put_rounded(&column, part_of((const struct weight *)((const char *)at + i * stride), part));
	}
}

/* The nodes that stay. */

static bool is_closed(const struct cairn_tree_node *node)
{
	return node->first_child == CAIRN_NONE && node->value.self == 0 && node->objects.self == 0 && node->base.self == 0;
}

/* The least size at which no more than about MOST nodes stay. Positive floats sort as their bits do, so counting the nodes by their
 * leading bits is enough. */
static double find_cutoff(const struct cairn_tree *tree, size_t most)
{
	enum { kinds = 1 << 16 };
	if (tree->count <= most)
		return 0;
	uint32_t *counts = cairn_array_zero(kinds, sizeof *counts);
	for (size_t n = 0; n < tree->count; n++) {
		float size = (float)tree->nodes[n].size.total;
		uint32_t bits;
		memcpy(&bits, &size, sizeof bits);
		counts[bits >> 16]++;
	}
	size_t sum = 0;
	uint32_t kind = kinds - 1;
	while (kind > 0 && sum + counts[kind] <= most)
		sum += counts[kind--];
	free(counts);
	float cutoff;
	uint32_t bits = (kind + 1) << 16;
	memcpy(&cutoff, &bits, sizeof cutoff);
	return (double)cutoff;
}

static void keep_nodes(struct making *making, size_t most)
{
	const struct cairn_tree *tree = &making->tree;
	double cutoff = find_cutoff(tree, most);
	making->kept = cairn_array_zero(tree->count, sizeof *making->kept);
	making->kept[0] = true;
	for (size_t n = 1; n < tree->count; n++) {
		const struct cairn_tree_node *node = &tree->nodes[n];
		making->kept[n] = making->kept[node->parent] && !is_closed(node) && node->size.total >= cutoff;
	}
}

/* Laying them out. */

static uint32_t add_node(struct making *making, uint32_t of_tree, uint32_t depth, struct weight self, struct cairn_spread spread)
{
	cairn_array_room(making->nodes, making->count, making->capacity);
	/* What there is now and what there was before. */
	double both = self.value + 2 * self.base;
	making->nodes[making->count] = (struct node){of_tree, depth, self, both > 0 ? spread.variance / both : 0};
	return (uint32_t)making->count++;
}

/* Puts the children of NODE that do not stay, with all below them, into one node of smaller stacks. */
static void fold_children(struct making *making, uint32_t node, uint32_t depth)
{
	struct weight sum = {0};
	struct cairn_spread spread = {0};
	bool any = false;
	for (uint32_t child = making->tree.nodes[node].first_child; child != CAIRN_NONE; child = making->tree.nodes[child].next_sibling) {
		const struct cairn_tree_node *at = &making->tree.nodes[child];
		if (making->kept[child])
			continue;
		any = true;
		sum.value += at->value.total;
		sum.objects += at->objects.total;
		sum.base += at->base.total;
		cairn_spread_add(&spread, at->total_spread);
		making->data->folded += at->size.total;
		making->place[child] = (uint32_t)making->count;
	}
	if (any)
		add_node(making, CAIRN_NONE, depth + 1, sum, spread);
}

static uint32_t next_kept(const struct making *making, uint32_t node)
{
	while (node != CAIRN_NONE && !making->kept[node])
		node = making->tree.nodes[node].next_sibling;
	return node;
}

static void walk(struct making *making)
{
	const struct cairn_tree_node *nodes = making->tree.nodes;
	uint32_t node = 0, depth = 0;
	making->place = cairn_array_zero(making->tree.count, sizeof *making->place);
	while (node != CAIRN_NONE) {
		const struct cairn_tree_node *at = &nodes[node];
		making->place[node] = add_node(making, node, depth, (struct weight){at->value.self, at->objects.self, at->base.self}, at->self_spread);
		fold_children(making, node, depth);
		uint32_t next = next_kept(making, at->first_child);
		if (next != CAIRN_NONE)
			depth++;
		while (next == CAIRN_NONE && node != 0) {
			next = next_kept(making, nodes[node].next_sibling);
			if (next == CAIRN_NONE) {
				node = nodes[node].parent;
				depth--;
			}
		}
		node = next;
	}
	/* What lies below a node that does not stay is where that is. A parent has the lower number. */
	for (size_t n = 1; n < making->tree.count; n++)
		if (!making->kept[nodes[n].parent])
			making->place[n] = making->place[nodes[n].parent];
}

/* Functions and their strings. */

static uint32_t place_entry(struct making *making, uint32_t entry)
{
	if (!making->entry_place[entry]) {
		cairn_array_room(making->entries, making->entry_count, making->entry_capacity);
		making->entries[making->entry_count++] = entry;
		making->entry_place[entry] = (uint32_t)making->entry_count;
	}
	return making->entry_place[entry];
}

static uint32_t add_string(struct making *making, struct cairn_bytes text)
{
	struct cairn_buffer clean = cairn_buffer(name_most + 8);
	while (text.length > 0 && clean.length < name_most) {
		size_t length = cairn_utf8_length(text), printable = cairn_utf8_printable(text);
		if (printable)
			cairn_buffer_append(&clean, text.data, printable);
		else
			cairn_buffer_text(&clean, "\xef\xbf\xbd");
		text = cairn_bytes_skip(text, length ? length : 1);
	}
	if (text.length > 0)
		cairn_buffer_text(&clean, "…");
	uint32_t id = cairn_strings_add(&making->strings, cairn_buffer_bytes(&clean));
	cairn_buffer_free(&clean);
	return id;
}

static struct cairn_bytes entry_file(const struct making *making, const struct cairn_entry *entry)
{
	const struct cairn_profile *profile = making->view->profile;
	uint32_t file = entry->function == CAIRN_NONE ? 0 : profile->functions[entry->function].file;
	return cairn_strings_bytes(&profile->strings, file);
}

static struct cairn_bytes entry_module(const struct making *making, const struct cairn_entry *entry)
{
	const struct cairn_profile *profile = making->view->profile;
	bool placed = entry->location != CAIRN_NONE;
	const struct cairn_module *module = placed ? cairn_profile_module(profile, &profile->locations[entry->location]) : NULL;
	return cairn_strings_bytes(&profile->strings, module ? module->path : 0);
}

/* An entry of functions has the line where the function begins, if that is known; one of lines has its own. */
static uint32_t entry_line(const struct making *making, const struct cairn_entry *entry)
{
	if (making->view->options.granularity != CAIRN_BY_FUNCTION || entry->function == CAIRN_NONE)
		return entry->line;
	uint32_t start = making->view->profile->functions[entry->function].start_line;
	return start ? start : entry->line;
}

static void put_functions(struct making *making, struct cairn_buffer *out)
{
	size_t count = making->entry_count;
	uint32_t *columns = cairn_array_zero(4 * count, sizeof *columns);
	for (size_t i = 0; i < count; i++) {
		const struct cairn_entry *entry = &making->view->entries[making->entries[i]];
		columns[i] = add_string(making, cairn_view_name(making->view, making->entries[i]));
		columns[count + i] = add_string(making, entry_file(making, entry));
		columns[2 * count + i] = entry_line(making, entry);
		columns[3 * count + i] = add_string(making, entry_module(making, entry));
	}
	cairn_buffer_uleb(out, making->strings.count + 1);
	for (uint32_t s = 0; s <= making->strings.count; s++)
		cairn_buffer_uleb(out, cairn_strings_bytes(&making->strings, s).length);
	for (uint32_t s = 0; s <= making->strings.count; s++)
		cairn_buffer_append(out, cairn_strings_bytes(&making->strings, s).data, cairn_strings_bytes(&making->strings, s).length);
	cairn_buffer_uleb(out, count);
	for (size_t i = 0; i < 4 * count; i++)
		cairn_buffer_uleb(out, columns[i]);
	free(columns);
}

/* SELF and TOTAL of each function, over all stacks. */
struct sums {
	struct weight self, total;
};

static void add_weight(struct weight *to, const struct weight *more)
{
	to->value += more->value;
	to->objects += more->objects;
	to->base += more->base;
}

static struct weight sample_weight(const struct cairn_view *view, size_t sample)
{
	return (struct weight){cairn_view_value(view, sample), cairn_view_objects(view, sample), cairn_view_base(view, sample)};
}

static struct sums *sum_entries(struct cairn_view *view)
{
	struct sums *sums = cairn_array_zero(view->entry_count, sizeof *sums);
	uint32_t *seen = cairn_array_zero(view->entry_count, sizeof *seen); /* the sample, plus one, that counted last */
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		struct weight weight = sample_weight(view, i);
		for (size_t d = 0; d < depth; d++)
			if (seen[stack[d]] != i + 1) {
				seen[stack[d]] = (uint32_t)i + 1;
				add_weight(&sums[stack[d]].total, &weight);
			}
		if (depth > 0)
			add_weight(&sums[stack[0]].self, &weight);
	}
	free(seen);
	return sums;
}

/* Functions that are in smaller stacks only have their place in the table too, where they have enough. */
static void place_large(struct making *making, const struct sums *sums)
{
	double whole = 0;
	for (uint32_t e = 0; e < making->view->entry_count; e++)
		whole += fabs(sums[e].self.value) + sums[e].self.base;
	for (uint32_t e = 0; e < making->view->entry_count; e++)
		if (fabs(sums[e].self.value) + sums[e].self.base >= least_part * whole)
			place_entry(making, e);
}

static void put_sums(const struct making *making, const struct sums *sums, struct cairn_buffer *out)
{
	struct sums *placed = cairn_array_zero(making->entry_count, sizeof *placed);
	for (size_t i = 0; i < making->entry_count; i++)
		placed[i] = sums[making->entries[i]];
	put_weights(making, &placed->self, sizeof *placed, making->entry_count, out);
	put_weights(making, &placed->total, sizeof *placed, making->entry_count, out);
	free(placed);
}

static void put_nodes(const struct making *making, struct cairn_buffer *out)
{
	cairn_buffer_uleb(out, making->count);
	for (size_t i = 0; i < making->count; i++)
		cairn_buffer_uleb(out, i ? making->nodes[i - 1].depth + 1 - making->nodes[i].depth : 0);
	for (size_t i = 0; i < making->count; i++) {
		uint32_t node = making->nodes[i].of_tree;
		cairn_buffer_uleb(out, node == CAIRN_NONE || node == 0 ? 0 : making->entry_place[making->tree.nodes[node].entry]);
	}
	put_weights(making, &making->nodes->self, sizeof *making->nodes, making->count, out);
	for (size_t i = 0; making->data->has_errors && i < making->count; i++)
		cairn_buffer_uleb(out, (uint64_t)fmin(0x1p52, round(16 * making->nodes[i].sample_weight)));
}

static void put_tree(struct making *making)
{
	struct cairn_buffer *out = &making->data->tree;
	struct sums *sums = making->data->folded > 0 ? sum_entries(making->view) : NULL;
	making->entry_place = cairn_array_zero(making->view->entry_count, sizeof *making->entry_place);
	for (size_t i = 1; i < making->count; i++)
		if (making->nodes[i].of_tree != CAIRN_NONE)
			place_entry(making, making->tree.nodes[making->nodes[i].of_tree].entry);
	if (sums)
		place_large(making, sums);
	put_functions(making, out);
	put_nodes(making, out);
	if (sums)
		put_sums(making, sums, out);
	free(sums);
}

/* Threads and sizes. */

/* What one group has of one node. */
struct item {
	uint32_t node;
	uint32_t group;
	struct weight weight;
};

struct splitting {
	struct cairn_map threads; /* by label set of the profile: the thread */
	struct cairn_map groups;
	uint32_t *of_group; /* thread and size class, two for each */
	size_t group_count, group_capacity;
};

static bool same_thread(const struct cairn_page_thread *a, const struct cairn_page_thread *b)
{
	return cairn_bytes_equal(a->name, b->name) && cairn_bytes_equal(a->id, b->id);
}

static uint32_t find_thread(struct cairn_page_data *data, const struct cairn_page_thread *thread)
{
	for (size_t t = 0; t < data->thread_count; t++)
		if (same_thread(&data->threads[t], thread))
			return (uint32_t)t;
	/* So many threads that nobody would look at one of them. */
	if (data->thread_count == thread_most)
		return thread_most - 1;
	cairn_array_room(data->threads, data->thread_count, data->thread_capacity);
	const struct cairn_page_thread others = {cairn_bytes_of("other threads"), {"", 0}};
	data->threads[data->thread_count] = data->thread_count == thread_most - 1 ? others : *thread;
	return (uint32_t)data->thread_count++;
}

/* The size class of objects up to 2 to the n bytes is n + 1; 0 where the size is not known. */
static uint32_t size_class(int64_t bytes)
{
	return bytes <= 0 ? 0 : bytes == 1 ? 1 : 65 - (uint32_t)__builtin_clzll((unsigned long long)bytes - 1);
}

static uint32_t find_group(struct splitting *splitting, const struct making *making, size_t sample)
{
	const struct cairn_view *view = making->view;
	struct cairn_page_thread thread = {{"", 0}, {"", 0}};
	struct cairn_view_label label;
	uint32_t size = 0;
	for (size_t l = 0; cairn_view_label(view, sample, l, &label); l++) {
		if (!label.is_number && cairn_bytes_equal(label.key, cairn_bytes_of("thread")))
			thread.name = label.text;
		else if (!label.is_number && cairn_bytes_equal(label.key, cairn_bytes_of("thread_id")))
			thread.id = label.text;
		else if (label.is_number && cairn_bytes_equal(label.key, cairn_bytes_of("bytes")))
			size = size_class(label.number);
	}
	uint32_t *known = cairn_map_at(&splitting->threads, view->profile->samples[view->samples[sample]].labels);
	if (*known == CAIRN_NONE)
		*known = find_thread(making->data, &thread);
	uint32_t number = *known, *group = cairn_map_at(&splitting->groups, (uint64_t)number << 8 | size);
	if (*group == CAIRN_NONE) {
		*group = (uint32_t)splitting->group_count / 2;
		cairn_array_room(splitting->of_group, splitting->group_count + 1, splitting->group_capacity);
		splitting->of_group[splitting->group_count++] = number;
		splitting->of_group[splitting->group_count++] = size;
	}
	return *group;
}

static int compare_items(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	return left->group < right->group ? -1 : left->group > right->group;
}

static size_t merge_items(struct item *items, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (kept > 0 && compare_items(&items[kept - 1], &items[i]) == 0)
			add_weight(&items[kept - 1].weight, &items[i].weight);
		else
			items[kept++] = items[i];
	return kept;
}

static void put_items(const struct making *making, const struct item *items, size_t count, struct cairn_buffer *out)
{
	size_t at = 0;
	for (uint32_t node = 0; node < making->count; node++) {
		size_t first = at;
		while (at < count && items[at].node == node)
			at++;
		cairn_buffer_uleb(out, at - first);
	}
	for (size_t i = 0; i < count; i++)
		cairn_buffer_uleb(out, items[i].group);
	put_weights(making, &items->weight, sizeof *items, count, out);
}

static void put_split(struct making *making)
{
	struct splitting splitting = {0};
	struct cairn_view *view = making->view;
	struct cairn_buffer *out = &making->data->split;
	struct item *items = cairn_array_zero(view->sample_count, sizeof *items);
	size_t count = 0;
	for (size_t i = 0; i < view->sample_count; i++)
		if (making->tree.ends[i] != CAIRN_NONE)
			items[count++] = (struct item){making->place[making->tree.ends[i]], find_group(&splitting, making, i), sample_weight(view, i)};
	qsort(items, count, sizeof *items, compare_items);
	count = merge_items(items, count);
	cairn_buffer_uleb(out, splitting.group_count / 2);
	for (size_t column = 0; column < 2; column++)
		for (size_t g = column; g < splitting.group_count; g += 2)
			cairn_buffer_uleb(out, splitting.of_group[g]);
	put_items(making, items, count, out);
	free(items);
	free(splitting.of_group);
	cairn_map_free(&splitting.threads);
	cairn_map_free(&splitting.groups);
}

/* A film. */

/* Values are told in steps so much smaller than one sample weighs that nobody will miss the rest, and short to write. */
static double film_step(const struct cairn_view *view)
{
	static const double steps = 32;
	bool is_estimate = cairn_view_in_bytes(view) && view->profile->unsampling == CAIRN_UNSAMPLE_POISSON;
	return is_estimate ? fmax(1, floor(view->profile->period / steps)) : 1;
}

/* The view's samples in the order of the nodes they end at: those of node n begin at FIRST[n]. */
static uint32_t *sort_samples(const struct making *making, size_t *first)
{
	const struct cairn_view *view = making->view;
	uint32_t *sorted = cairn_array_zero(view->sample_count, sizeof *sorted);
	for (size_t i = 0; i < view->sample_count; i++)
		if (making->tree.ends[i] != CAIRN_NONE)
			first[making->place[making->tree.ends[i]] + 2]++;
	for (size_t n = 0; n < making->count; n++)
		first[n + 2] += first[n + 1];
	for (size_t i = 0; i < view->sample_count; i++)
		if (making->tree.ends[i] != CAIRN_NONE)
			sorted[first[making->place[making->tree.ends[i]] + 1]++] = (uint32_t)i;
	return sorted;
}

static void put_film(struct making *making, const struct cairn_page_cells_source *cells)
{
	struct cairn_buffer *out = &making->data->film;
	size_t *first = cairn_array_zero(making->count + 2, sizeof *first), used = 0, last = 0;
	uint32_t *sorted = sort_samples(making, first);
	double *values = cairn_array_zero(cells->point_count, sizeof *values), step = film_step(making->view);
	for (size_t n = 0; n < making->count; n++)
		used += first[n] < first[n + 1];
	cairn_buffer_uleb(out, (uint64_t)step);
	cairn_buffer_uleb(out, used);
	for (size_t n = 0; n < making->count; n++) {
		if (first[n] == first[n + 1])
			continue;
		cairn_buffer_uleb(out, n - last);
		last = n;
		memset(values, 0, cells->point_count * sizeof *values);
		for (size_t i = first[n]; i < first[n + 1]; i++)
			cells->add(cells->context, making->view->samples[sorted[i]], values);
		struct column column = {.out = out, .is_signed = true};
		for (size_t p = 0; p < cells->point_count; p++)
			put_whole(&column, round(values[p] / step) - (p ? round(values[p - 1] / step) : 0));
	}
	free(first);
	free(sorted);
	free(values);
}

static size_t count_frames(const struct cairn_view *view)
{
	size_t frames = 0;
	for (size_t i = 0; i < view->sample_count; i++)
		frames += view->profile->samples[view->samples[i]].depth;
	return frames;
}

static bool has_negative(const struct cairn_view *view)
{
	for (size_t i = 0; i < view->sample_count; i++)
		if (cairn_view_value(view, i) < 0 || cairn_view_objects(view, i) < 0)
			return true;
	return false;
}

void cairn_page_data_make(struct cairn_page_data *data, struct cairn_view *view, size_t node_most,
			  const struct cairn_page_cells_source *cells)
{
	*data = (struct cairn_page_data){.tree = cairn_buffer(SIZE_MAX), .split = cairn_buffer(SIZE_MAX), .film = cairn_buffer(SIZE_MAX)};
	struct making making = {.data = data, .view = view};
	bool has_base = view->profile->base != NULL;
	data->is_change = has_base || has_negative(view);
	cairn_tree_make(&making.tree, view, &(struct cairn_tree_options){
		.sizes = has_base ? CAIRN_SIZE_AFTER : CAIRN_SIZE_VALUE,
		.least_part = count_frames(view) > whole_frames ? least_part : 0,
		.wants_ends = true,
		.wants_errors = cells != NULL,
	});
	data->has_errors = making.tree.has_errors;
	keep_nodes(&making, node_most);
	walk(&making);
	put_tree(&making);
	if (cells)
		put_film(&making, cells);
	else
		put_split(&making);
	data->node_count = making.count;
	cairn_tree_free(&making.tree);
	cairn_strings_free(&making.strings);
	free(making.kept);
	free(making.place);
	free(making.nodes);
	free(making.entries);
	free(making.entry_place);
}

void cairn_page_data_free(struct cairn_page_data *data)
{
	cairn_buffer_free(&data->tree);
	cairn_buffer_free(&data->split);
	cairn_buffer_free(&data->film);
	free(data->threads);
	*data = (struct cairn_page_data){0};
}
