/* data.c - chooses the nodes to keep, and writes them as columns.
 *
 * Longer than other files: the nodes that are kept decide the content of each column, and all steps share one state (struct making).
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/data.h"

#include "base/array.h"
#include "base/utf8.h"
#include "profile/live.h"
#include "report/label.h"
#include "report/tree.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { name_most = 4096, thread_most = 4000, group_columns = 3 };

/* Up to this many frames in all stacks the whole tree is built; beyond that, only nodes above this fraction of the total. */
static const size_t whole_frames = 3000000;
static const double least_part = 1e-6;

struct node {
	uint32_t of_tree; /* CAIRN_NONE for smaller stacks */
	uint32_t depth;
	struct cairn_spread spread;
};

struct making {
	struct cairn_page_data *data;
	struct cairn_view *view;
	struct cairn_tree tree;
	double *weights;     /* by sample of the view: its weight in the choice of nodes to keep */
	double *sizes;       /* by node of the tree: the sum of the weights of the node and all below it */
	bool *kept;          /* by node of the tree */
	uint32_t *place;     /* by node of the tree: its number on the page; that of smaller stacks if it is not kept */
	struct node *nodes;
	size_t count, capacity;
	uint32_t *entries;   /* of the view, by their number on the page */
	size_t entry_count, entry_capacity;
	uint32_t *entry_place; /* by entry of the view: its number on the page plus one */
	struct cairn_strings strings;
};

/* Numbers. */

/* A column of estimates, written as integers whose sums are right: the rounding error of one is added to the next. */
struct column {
	struct cairn_buffer *out;
	bool is_signed;
	double sum, written;
};

/* WHOLE, as far as the page, whose numbers are doubles, can tell it from its neighbours. */
static void put_whole(struct column *column, double whole)
{
	static const double most = 0x1p52;
	whole = fmax(column->is_signed ? -most : 0, fmin(most, whole));
	column->written += whole;
	cairn_buffer_uleb(column->out, column->is_signed ? (uint64_t)(whole < 0 ? -2 * whole - 1 : 2 * whole) : (uint64_t)whole);
}

static void put_rounded(struct column *column, double value)
{
	column->sum += value;
	put_whole(column, value == 0 ? 0 : round(column->sum - column->written));
}

/* The value of the view's SAMPLE in COLUMN, now or in the base. */
static double cell(const struct making *making, size_t sample, size_t column, bool of_base)
{
	const struct cairn_profile *profile = making->view->profile;
	uint32_t at = making->view->samples[sample], value = making->data->columns[column];
	return of_base ? cairn_profile_base(profile, at, value) : profile->values[(size_t)at * profile->value_count + value];
}

/* Writes the weights of COUNT things: for each column the values and, with a base, those in the base. FILL adds up one of these into an
 * array of zeroes. */
typedef void fill_column(const struct making *making, const void *context, size_t column, bool of_base, double *sums);

static void put_weights(const struct making *making, size_t count, fill_column *fill, const void *context, struct cairn_buffer *out)
{
	double *sums = cairn_array_new(count + 1, sizeof *sums);
	for (size_t c = 0; c < making->data->column_count; c++)
		for (int of_base = 0; of_base <= making->tree.has_base; of_base++) {
			struct column column = {.out = out, .is_signed = making->data->is_change && !of_base};
			memset(sums, 0, count * sizeof *sums);
			fill(making, context, c, of_base, sums);
			for (size_t i = 0; i < count; i++)
				put_rounded(&column, sums[i]);
		}
	free(sums);
}

/* The values of the page: the one that is shown first, its partner, and the others of a heap profile. */

static bool has_anything(const struct cairn_view *view, uint32_t value)
{
	for (size_t i = 0; i < view->sample_count; i++)
		if (view->profile->values[(size_t)view->samples[i] * view->profile->value_count + value] != 0 ||
		    cairn_profile_base(view->profile, view->samples[i], value) != 0)
			return true;
	return false;
}

static void add_column(struct making *making, uint32_t value)
{
	struct cairn_page_data *data = making->data;
	bool known = value == CAIRN_NONE || data->column_count == CAIRN_PAGE_COLUMNS;
	for (size_t c = 0; c < data->column_count; c++)
		known |= data->columns[c] == value;
	if (!known && (data->column_count == 0 || has_anything(making->view, value)))
		data->columns[data->column_count++] = value;
}

static void choose_columns(struct making *making, bool is_film)
{
	const struct cairn_view *view = making->view;
	add_column(making, view->value);
	if (is_film)
		return;
	add_column(making, view->partner);
	for (size_t i = 0; view->profile->kind == CAIRN_PROFILE_HEAP && i <= CAIRN_SHOWN_COUNT; i++) {
		add_column(making, cairn_profile_find_value(view->profile, cairn_shown_views[i].space));
		if (cairn_shown_views[i].objects)
			add_column(making, cairn_profile_find_value(view->profile, cairn_shown_views[i].objects));
	}
}

/* The weight of a stack is its largest share of any column, so that memory which was allocated and freed again is kept, too. */
static void weigh_samples(struct making *making)
{
	size_t count = making->view->sample_count;
	making->weights = cairn_array_zero(count + 1, sizeof *making->weights);
	for (size_t c = 0; c < making->data->column_count; c++) {
		double whole = 0;
		for (size_t i = 0; i < count; i++)
			whole += fabs(cell(making, i, c, false)) + cell(making, i, c, true);
		for (size_t i = 0; whole > 0 && i < count; i++)
			making->weights[i] = fmax(making->weights[i], (fabs(cell(making, i, c, false)) + cell(making, i, c, true)) / whole);
	}
}

static void size_nodes(struct making *making)
{
	const struct cairn_tree *tree = &making->tree;
	making->sizes = cairn_array_zero(tree->count, sizeof *making->sizes);
	for (size_t i = 0; i < making->view->sample_count; i++)
		if (tree->ends[i] != CAIRN_NONE)
			making->sizes[tree->ends[i]] += making->weights[i];
	for (size_t n = tree->count; n-- > 1;)
		making->sizes[tree->nodes[n].parent] += making->sizes[n];
}

/* The nodes to keep. */

/* The smallest size at which at most about MOST nodes are kept. Positive floats sort like their bits, so counting the nodes by their
 * leading bits is enough. */
static double find_cutoff(const struct making *making, size_t most)
{
	enum { kinds = 1 << 16 };
	if (making->tree.count <= most)
		return 0;
	uint32_t *counts = cairn_array_zero(kinds, sizeof *counts);
	for (size_t n = 0; n < making->tree.count; n++) {
		float size = (float)making->sizes[n];
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
	double cutoff = find_cutoff(making, most);
	making->kept = cairn_array_zero(tree->count, sizeof *making->kept);
	making->kept[0] = true;
	for (size_t n = 1; n < tree->count; n++) {
		const struct cairn_tree_node *node = &tree->nodes[n];
		making->kept[n] = making->kept[node->parent] && making->sizes[n] > 0 && making->sizes[n] >= cutoff;
	}
}

/* Their layout. */

static uint32_t add_node(struct making *making, uint32_t of_tree, uint32_t depth, struct cairn_spread spread)
{
	cairn_array_room(making->nodes, making->count, making->capacity);
	making->nodes[making->count] = (struct node){of_tree, depth, spread};
	return (uint32_t)making->count++;
}

/* Replaces the children of NODE that are not kept, with all below them, by one node of smaller stacks. */
static void fold_children(struct making *making, uint32_t node, uint32_t depth)
{
	struct cairn_spread spread = {0};
	bool any = false;
	for (uint32_t child = making->tree.nodes[node].first_child; child != CAIRN_NONE; child = making->tree.nodes[child].next_sibling) {
		const struct cairn_tree_node *at = &making->tree.nodes[child];
		if (making->kept[child])
			continue;
		any |= making->sizes[child] > 0;
		cairn_spread_add(&spread, at->total_spread);
		making->data->folded += at->size.total;
		making->place[child] = (uint32_t)making->count;
	}
	if (any)
		add_node(making, CAIRN_NONE, depth + 1, spread);
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
		making->place[node] = add_node(making, node, depth, at->self_spread);
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
	/* Nodes below one that is not kept have its place. A parent has a lower number than its children. */
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

/* The line of an entry: its own if entries are lines, otherwise where its function begins, if known. */
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

/* Self and total of each entry over all stacks: for each column the value, then the base. */
struct sums {
	double *self, *total;
	size_t stride;
};

static struct sums sum_entries(const struct making *making)
{
	struct cairn_view *view = making->view;
	size_t stride = 2 * making->data->column_count;
	struct sums sums = {cairn_array_zero(view->entry_count * stride + 1, sizeof(double)),
			    cairn_array_zero(view->entry_count * stride + 1, sizeof(double)), stride};
	uint32_t *seen = cairn_array_zero(view->entry_count, sizeof *seen); /* the number plus one of the last sample that counted it */
	double *numbers = cairn_array_zero(stride, sizeof *numbers);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		for (size_t k = 0; k < stride; k++)
			numbers[k] = cell(making, i, k / 2, k % 2);
		for (size_t d = 0; d < depth; d++)
			if (seen[stack[d]] != i + 1) {
				seen[stack[d]] = (uint32_t)i + 1;
				for (size_t k = 0; k < stride; k++)
					sums.total[stack[d] * stride + k] += numbers[k];
			}
		for (size_t k = 0; depth > 0 && k < stride; k++)
			sums.self[stack[0] * stride + k] += numbers[k];
	}
	free(seen);
	free(numbers);
	return sums;
}

/* Functions that are only in smaller stacks get a row in the table, too, if they are large enough. */
static void place_large(struct making *making, const struct sums *sums)
{
	for (size_t k = 0; k < sums->stride; k += 2) {
		double whole = 0;
		for (uint32_t e = 0; e < making->view->entry_count; e++)
			whole += fabs(sums->self[e * sums->stride + k]) + sums->self[e * sums->stride + k + 1];
		for (uint32_t e = 0; e < making->view->entry_count; e++)
			if (fabs(sums->self[e * sums->stride + k]) + sums->self[e * sums->stride + k + 1] >= least_part * whole)
				place_entry(making, e);
	}
}

static void fill_self_sums(const struct making *making, const void *context, size_t column, bool of_base, double *out)
{
	const struct sums *sums = context;
	for (size_t i = 0; i < making->entry_count; i++)
		out[i] = sums->self[making->entries[i] * sums->stride + 2 * column + of_base];
}

static void fill_total_sums(const struct making *making, const void *context, size_t column, bool of_base, double *out)
{
	const struct sums *sums = context;
	for (size_t i = 0; i < making->entry_count; i++)
		out[i] = sums->total[making->entries[i] * sums->stride + 2 * column + of_base];
}

static void fill_nodes(const struct making *making, const void *context, size_t column, bool of_base, double *sums)
{
	(void)context;
	for (size_t i = 0; i < making->view->sample_count; i++)
		if (making->tree.ends[i] != CAIRN_NONE)
			sums[making->place[making->tree.ends[i]]] += cell(making, i, column, of_base);
}

/* Writes the weight of one sample of each node (profile/unsample.h), from the values now and in the base. */
static void put_sample_weights(const struct making *making, struct cairn_buffer *out)
{
	double *both = cairn_array_zero(making->count + 1, sizeof *both);
	for (size_t i = 0; i < making->view->sample_count; i++)
		if (making->tree.ends[i] != CAIRN_NONE)
			both[making->place[making->tree.ends[i]]] += cell(making, i, 0, false) + 2 * cell(making, i, 0, true);
	for (size_t n = 0; n < making->count; n++)
		cairn_buffer_uleb(out, both[n] > 0 ? (uint64_t)fmin(0x1p52, round(16 * making->nodes[n].spread.variance / both[n])) : 0);
	free(both);
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
	put_weights(making, making->count, fill_nodes, NULL, out);
	if (making->data->has_errors)
		put_sample_weights(making, out);
}

static bool has_smaller(const struct making *making)
{
	for (size_t i = 1; i < making->count; i++)
		if (making->nodes[i].of_tree == CAIRN_NONE)
			return true;
	return false;
}

static void put_tree(struct making *making)
{
	struct cairn_buffer *out = &making->data->tree;
	bool is_cut = making->data->is_cut = has_smaller(making);
	struct sums sums = is_cut ? sum_entries(making) : (struct sums){0};
	making->entry_place = cairn_array_zero(making->view->entry_count, sizeof *making->entry_place);
	for (size_t i = 1; i < making->count; i++)
		if (making->nodes[i].of_tree != CAIRN_NONE)
			place_entry(making, making->tree.nodes[making->nodes[i].of_tree].entry);
	if (is_cut)
		place_large(making, &sums);
	put_functions(making, out);
	put_nodes(making, out);
	if (is_cut) {
		put_weights(making, making->entry_count, fill_self_sums, &sums, out);
		put_weights(making, making->entry_count, fill_total_sums, &sums, out);
	}
	free(sums.self);
	free(sums.total);
}

/* Threads, sizes and ages. */

/* A sample of one group that ends at one node. Samples with the same group and node make one item of the page. */
struct item {
	uint32_t node;
	uint32_t group;
	uint32_t sample;
};

struct items {
	struct item *items;
	size_t count;
};

struct splitting {
	struct cairn_map threads; /* by label set of the profile: the thread */
	struct cairn_map known;   /* the thread by the numbers of its name and of its ID in `texts` */
	struct cairn_strings texts;
	struct cairn_map groups;
	uint32_t *of_group; /* thread, size class and age class plus one, three for each */
	size_t group_count, group_capacity;
};

static uint32_t find_thread(struct splitting *splitting, struct cairn_page_data *data, const struct cairn_page_thread *thread)
{
	uint64_t name = cairn_strings_add(&splitting->texts, thread->name);
	uint32_t *known = cairn_map_at(&splitting->known, name << 32 | cairn_strings_add(&splitting->texts, thread->id));
	if (*known != CAIRN_NONE)
		return *known;
	/* With this many threads, nobody would look at a single one. */
	if (data->thread_count == thread_most)
		return *known = thread_most - 1;
	cairn_array_room(data->threads, data->thread_count, data->thread_capacity);
	const struct cairn_page_thread others = {cairn_bytes_of("other threads"), {"", 0}};
	data->threads[data->thread_count] = data->thread_count == thread_most - 1 ? others : *thread;
	return *known = (uint32_t)data->thread_count++;
}

/* The size class of objects of up to 2^n bytes is n + 1; 0 if the size is unknown. */
static uint32_t size_class(int64_t bytes)
{
	return bytes <= 0 ? 0 : bytes == 1 ? 1 : 65 - (uint32_t)__builtin_clzll((unsigned long long)bytes - 1);
}

/* The number of the age class NAME, plus one; 0 if there is none. */
static uint32_t age_class(struct cairn_bytes name)
{
	unsigned age = 0;
	while (age < CAIRN_AGES && !cairn_bytes_equal(name, cairn_bytes_of(cairn_age_name(age))))
		age++;
	return age < CAIRN_AGES ? age + 1 : 0;
}

static uint32_t find_group(struct splitting *splitting, const struct making *making, size_t sample)
{
	const struct cairn_view *view = making->view;
	struct cairn_page_thread thread = {{"", 0}, {"", 0}};
	struct cairn_view_label label;
	uint32_t size = 0, age = 0;
	for (size_t l = 0; cairn_view_label(view, sample, l, &label); l++) {
		if (!label.is_number && cairn_bytes_equal(label.key, cairn_bytes_of("thread")))
			thread.name = label.text;
		else if (!label.is_number && cairn_bytes_equal(label.key, cairn_bytes_of("thread_id")))
			thread.id = label.text;
		else if (!label.is_number && cairn_bytes_equal(label.key, cairn_bytes_of("age")))
			age = age_class(label.text);
		else if (label.is_number && cairn_bytes_equal(label.key, cairn_bytes_of("bytes")))
			size = size_class(label.number);
	}
	uint32_t *known = cairn_map_at(&splitting->threads, view->profile->samples[view->samples[sample]].labels);
	if (*known == CAIRN_NONE)
		*known = find_thread(splitting, making->data, &thread);
	uint32_t number = *known, *group = cairn_map_at(&splitting->groups, (uint64_t)number << 16 | size << 8 | age);
	if (*group == CAIRN_NONE) {
		*group = (uint32_t)splitting->group_count / group_columns;
		splitting->of_group = cairn_array_reserve(splitting->of_group, &splitting->group_capacity,
							  splitting->group_count + group_columns, sizeof *splitting->of_group);
		splitting->of_group[splitting->group_count++] = number;
		splitting->of_group[splitting->group_count++] = size;
		splitting->of_group[splitting->group_count++] = age;
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

static void fill_items(const struct making *making, const void *context, size_t column, bool of_base, double *sums)
{
	const struct items *items = context;
	for (size_t i = 0, at = 0; i < items->count; i++) {
		at += i > 0 && compare_items(&items->items[i - 1], &items->items[i]) != 0;
		sums[at] += cell(making, items->items[i].sample, column, of_base);
	}
}

static void put_items(const struct making *making, const struct items *items, struct cairn_buffer *out)
{
	size_t at = 0, merged = 0;
	for (uint32_t node = 0; node < making->count; node++) {
		size_t parts = 0;
		for (; at < items->count && items->items[at].node == node; at++)
			parts += at == 0 || compare_items(&items->items[at - 1], &items->items[at]) != 0;
		cairn_buffer_uleb(out, parts);
		merged += parts;
	}
	for (size_t i = 0; i < items->count; i++)
		if (i == 0 || compare_items(&items->items[i - 1], &items->items[i]) != 0)
			cairn_buffer_uleb(out, items->items[i].group);
	put_weights(making, merged, fill_items, items, out);
}

static void put_split(struct making *making)
{
	struct splitting splitting = {0};
	struct cairn_view *view = making->view;
	struct cairn_buffer *out = &making->data->split;
	struct items items = {cairn_array_zero(view->sample_count, sizeof *items.items), 0};
	for (size_t i = 0; i < view->sample_count; i++)
		if (making->tree.ends[i] != CAIRN_NONE)
			items.items[items.count++] =
				(struct item){making->place[making->tree.ends[i]], find_group(&splitting, making, i), (uint32_t)i};
	qsort(items.items, items.count, sizeof *items.items, compare_items);
	cairn_buffer_uleb(out, splitting.group_count / group_columns);
	for (size_t column = 0; column < group_columns; column++)
		for (size_t g = column; g < splitting.group_count; g += group_columns)
			cairn_buffer_uleb(out, splitting.of_group[g]);
	put_items(making, &items, out);
	free(items.items);
	free(splitting.of_group);
	cairn_map_free(&splitting.threads);
	cairn_map_free(&splitting.known);
	cairn_strings_free(&splitting.texts);
	cairn_map_free(&splitting.groups);
}

/* A film. */

/* Numbers are exact if the page is small enough to share even so. Otherwise they are rounded to steps that are small compared with the
 * weight of one sample, which takes fewer bytes. */
static double film_step(const struct cairn_view *view, size_t numbers)
{
	static const double steps = 32;
	static const size_t exact_most = 1000000;
	bool is_estimate = cairn_view_in_bytes(view) && view->profile->unsampling == CAIRN_UNSAMPLE_POISSON;
	return is_estimate && numbers > exact_most ? fmin(0x1p52, fmax(1, floor(view->profile->period / steps))) : 1;
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
	double *values = cairn_array_zero(cells->point_count, sizeof *values);
	for (size_t n = 0; n < making->count; n++)
		used += first[n] < first[n + 1];
	double step = film_step(making->view, used * cells->point_count);
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

static bool has_negative(const struct making *making)
{
	for (size_t i = 0; i < making->view->sample_count; i++)
		for (size_t c = 0; c < making->data->column_count; c++)
			if (cell(making, i, c, false) < 0)
				return true;
	return false;
}

void cairn_page_data_make(struct cairn_page_data *data, struct cairn_view *view, size_t node_most,
			  const struct cairn_page_cells_source *cells)
{
	*data = (struct cairn_page_data){.tree = cairn_buffer(SIZE_MAX), .split = cairn_buffer(SIZE_MAX), .film = cairn_buffer(SIZE_MAX)};
	struct making making = {.data = data, .view = view};
	bool has_base = view->profile->base != NULL;
	choose_columns(&making, cells != NULL);
	data->is_change = has_base || has_negative(&making);
	weigh_samples(&making);
	cairn_tree_make(&making.tree, view, &(struct cairn_tree_options){
		.sizes = has_base ? CAIRN_SIZE_AFTER : CAIRN_SIZE_VALUE,
		.least_part = count_frames(view) > whole_frames ? least_part : 0,
		.wants_ends = true,
		.weights = making.weights,
		.wants_errors = cells != NULL,
	});
	data->has_errors = making.tree.has_errors;
	size_nodes(&making);
	keep_nodes(&making, node_most);
	walk(&making);
	put_tree(&making);
	if (cells)
		put_film(&making, cells);
	else
		put_split(&making);
	cairn_tree_free(&making.tree);
	cairn_strings_free(&making.strings);
	free(making.weights);
	free(making.sizes);
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
