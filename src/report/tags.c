/* tags.c - adds up samples by label.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tags.h"

#include "base/array.h"
#include "base/utf8.h"
#include "report/label.h"
#include "report/number.h"

#include <math.h>
#include <stdlib.h>

enum { label_most = 256 };

/* One value of one key. */
struct tag {
	struct cairn_view_label label;
	uint32_t key; /* in `keys` */
	double value;
	struct cairn_spread spread; /* all zero unless the view shows errors */
};

struct key {
	struct cairn_bytes name;
	double total;
	struct cairn_spread spread;
	size_t first, count; /* of the tags, once sorted */
};

struct tags {
	struct tag *items;
	size_t count, capacity;
	struct cairn_index index;
	struct cairn_strings names; /* of keys */
	struct key *keys;           /* indexed by the number of their name */
	size_t key_count, key_capacity;
	struct cairn_arena arena; /* texts of numbers */
};

static uint32_t find_key(struct tags *tags, struct cairn_bytes name)
{
	uint32_t id = cairn_strings_add(&tags->names, name);
	while (tags->key_count <= id) {
		cairn_array_room(tags->keys, tags->key_count, tags->key_capacity);
		tags->keys[tags->key_count] = (struct key){.name = cairn_strings_bytes(&tags->names, (uint32_t)tags->key_count)};
		tags->key_count++;
	}
	return id;
}

static bool same_label(const struct cairn_view_label *a, const struct cairn_view_label *b)
{
	if (a->is_number != b->is_number || !cairn_bytes_equal(a->key, b->key))
		return false;
	return a->is_number ? a->number == b->number && cairn_bytes_equal(a->unit, b->unit) : cairn_bytes_equal(a->text, b->text);
}

static void add_label(struct tags *tags, const struct cairn_view_label *label, double value, struct cairn_spread spread)
{
	uint64_t hash =
		cairn_hash_bytes(label->key.data, label->key.length) +
		(label->is_number ? cairn_hash_mix((uint64_t)label->number) : cairn_hash_bytes(label->text.data, label->text.length));
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&tags->index, hash, &position)) != CAIRN_NONE)
		if (same_label(&tags->items[id].label, label))
			break;
	if (id == CAIRN_NONE) {
		cairn_array_room(tags->items, tags->count, tags->capacity);
		id = (uint32_t)tags->count++;
		tags->items[id] = (struct tag){.label = *label, .key = find_key(tags, label->key)};
		cairn_index_add(&tags->index, hash, id);
	}
	struct key *key = &tags->keys[tags->items[id].key];
	tags->items[id].value += value;
	key->total += value;
	cairn_spread_add(&tags->items[id].spread, spread);
	cairn_spread_add(&key->spread, spread);
}

static int compare_bytes(struct cairn_bytes a, struct cairn_bytes b)
{
	size_t shorter = a.length < b.length ? a.length : b.length;
	int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
	return order ? order : a.length < b.length ? -1 : a.length > b.length;
}

static int compare_tags(const void *a, const void *b, void *context)
{
	const struct tags *tags = context;
	const struct tag *left = a, *right = b;
	if (left->key != right->key)
		return compare_bytes(tags->keys[left->key].name, tags->keys[right->key].name);
	if (fabs(left->value) != fabs(right->value))
		return fabs(left->value) > fabs(right->value) ? -1 : 1;
	if (left->label.is_number && right->label.is_number && left->label.number != right->label.number)
		return left->label.number < right->label.number ? -1 : 1;
	return compare_bytes(left->label.text, right->label.text);
}

static void release(struct tags *tags)
{
	free(tags->items);
	free(tags->keys);
	cairn_strings_free(&tags->names);
	cairn_index_free(&tags->index);
	cairn_arena_free(&tags->arena);
}

/* Merges tags with the same text: mean sizes differ by a byte from thread to thread. */
static void merge_by_text(struct tags *tags, const struct cairn_shape *shape)
{
	struct tags merged = {0};
	char text[label_most];
	for (size_t i = 0; i < tags->count; i++) {
		struct cairn_view_label label = tags->items[i].label;
		if (label.is_number) {
			label.text = cairn_bytes_of(
				cairn_arena_text(&merged.arena, cairn_bytes_of(cairn_label_text(&label, shape->bytes, text, sizeof text))));
			label.is_number = false;
		}
		add_label(&merged, &label, tags->items[i].value, tags->items[i].spread);
	}
	release(tags);
	*tags = merged;
}

/* With SHAPE, merges numbers as a person would read them; without it, keeps all numbers apart. */
static void gather(struct tags *tags, struct cairn_view *view, const struct cairn_shape *shape)
{
	*tags = (struct tags){0};
	for (size_t i = 0; i < view->sample_count; i++) {
		struct cairn_view_label label;
		if (cairn_view_is_unlabelled(view, i))
			continue;
		struct cairn_spread spread = view->options.errors ? cairn_view_spread(view, i) : (struct cairn_spread){0};
		for (size_t l = 0; cairn_view_label(view, i, l, &label); l++)
			add_label(tags, &label, cairn_view_value(view, i), spread);
	}
	if (shape)
		merge_by_text(tags, shape);
	if (tags->count > 0)
		qsort_r(tags->items, tags->count, sizeof *tags->items, compare_tags, tags);
	for (size_t i = tags->count; i-- > 0;) {
		tags->keys[tags->items[i].key].first = i;
		tags->keys[tags->items[i].key].count++;
	}
}

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct tag *tag = item;
	struct cairn_report *report = context;
	char text[label_most];
	if (table->json)
		cairn_label_json(&tag->label, table->json);
	cairn_report_value(report, "value", "", 12, tag->value, tag->spread);
	cairn_report_percent(report, "", tag->value, report->view->whole);
	cairn_table_string(table, NULL, "", 0, cairn_label_text(&tag->label, report->shape.bytes, text, sizeof text));
}

static void write_key(struct cairn_report *report, const struct key *key, const struct tag *tags, bool first)
{
	size_t shown = cairn_report_shown(report, key->count);
	char number[32];
	if (report->json) {
		cairn_json_open(report->json, NULL, '{');
		cairn_json_text(report->json, "key", key->name);
		cairn_report_value(report, "total", NULL, 0, key->total, key->spread);
		cairn_json_open(report->json, "values", '[');
	} else {
		cairn_buffer_text(report->out, first ? "" : "\n");
		cairn_utf8_show(report->out, key->name);
		cairn_buffer_format(report->out, ": %s (%.2f%%)\n", cairn_head_number(report->view, &report->shape, key->total, number),
				    cairn_number_percent(key->total, report->view->whole));
	}
	for (size_t i = 0; i < shown; i++)
		cairn_table_row(&report->table, columns, report, &tags[i]);
	cairn_table_more(&report->table, key->count - shown, "-n 0 shows all");
	cairn_table_close(&report->table, ']');
	cairn_table_close(&report->table, '}');
}

bool cairn_tags_write(struct cairn_report *report)
{
	struct tags tags;
	gather(&tags, report->view, report->json ? NULL : &report->shape);
	cairn_table_open(&report->table, "tags", '[');
	for (size_t at = 0; at < tags.count; at += tags.keys[tags.items[at].key].count)
		write_key(report, &tags.keys[tags.items[at].key], &tags.items[at], at == 0);
	cairn_table_close(&report->table, ']');
	bool any = tags.count > 0;
	release(&tags);
	return any;
}
