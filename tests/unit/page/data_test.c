/* data_test.c - the columns of a page, read back: the tree, smaller stacks, rounding, change, threads and sizes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/data.h"

#include "unit/report/fixture.h"

#include <stdlib.h>

struct reading {
	struct cairn_bytes rest;
};

static uint64_t take(struct reading *reading)
{
	uint64_t value = 0;
	for (unsigned shift = 0; reading->rest.length > 0; shift += 7) {
		unsigned char byte = (unsigned char)reading->rest.data[0];
		reading->rest = cairn_bytes_skip(reading->rest, 1);
		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			break;
	}
	return value;
}

static int64_t take_signed(struct reading *reading)
{
	uint64_t value = take(reading);
	return value % 2 ? -(int64_t)(value / 2) - 1 : (int64_t)(value / 2);
}

enum { most = 64 };

/* What a page holds, for small ones. */
struct page {
	char names[most][64];
	uint64_t nodes, steps[most], functions[most], left;
	int64_t value[most];
	uint64_t base[most];
	int64_t other[CAIRN_PAGE_COLUMNS][2 * most]; /* the values after the first, and their bases */
};

static void read_page(struct page *page, const struct cairn_page_data *data, bool has_base)
{
	struct reading in = {cairn_buffer_bytes(&data->tree)};
	uint64_t strings = take(&in), lengths[most * 2];
	const char *texts[most * 2];
	*page = (struct page){0};
	for (uint64_t i = 0; i < strings; i++)
		lengths[i] = take(&in);
	for (uint64_t i = 0; i < strings; i++) {
		texts[i] = in.rest.data;
		in.rest = cairn_bytes_skip(in.rest, lengths[i]);
	}
	uint64_t functions = take(&in);
	for (uint64_t i = 0; i < functions; i++) {
		uint64_t name = take(&in);
		snprintf(page->names[i + 1], sizeof page->names[0], "%.*s", (int)lengths[name], texts[name]);
	}
	for (uint64_t i = 0; i < 3 * functions; i++)
		take(&in);
	page->nodes = take(&in);
	for (uint64_t i = 0; i < page->nodes; i++)
		page->steps[i] = take(&in);
	for (uint64_t i = 0; i < page->nodes; i++)
		page->functions[i] = take(&in);
	for (uint64_t i = 0; i < page->nodes; i++)
		page->value[i] = data->is_change ? take_signed(&in) : (int64_t)take(&in);
	for (uint64_t i = 0; has_base && i < page->nodes; i++)
		page->base[i] = take(&in);
	for (size_t c = 1; c < data->column_count; c++)
		for (uint64_t i = 0; i < page->nodes * (has_base ? 2 : 1); i++)
			page->other[c][i] = data->is_change && i < page->nodes ? take_signed(&in) : (int64_t)take(&in);
	page->left = in.rest.length;
}

/* "main/a 3" for each node, in order. */
static const char *describe(const struct page *page)
{
	static char text[2048];
	uint64_t depth = 0, path[most] = {0};
	text[0] = 0;
	for (uint64_t i = 1; i < page->nodes; i++) {
		depth += 1 - page->steps[i];
		path[depth] = page->functions[i];
		strcat(text, i > 1 ? "|" : "");
		for (uint64_t d = 1; d <= depth; d++) {
			strcat(text, d > 1 ? "/" : "");
			strcat(text, path[d] ? page->names[path[d]] : "*");
		}
		sprintf(text + strlen(text), " %lld", (long long)page->value[i]);
	}
	return text;
}

static void test_tree(void)
{
	struct fixture fixture;
	struct cairn_page_data data;
	struct page page;
	fixture_make(&fixture, "main;a 3\nmain;b;c 5\nmain;b 1\nother 2\n", NULL);
	cairn_page_data_make(&data, &fixture.view, 100, NULL);
	read_page(&page, &data, false);
	is_text(describe(&page), "main 0|main/a 3|main/b 1|main/b/c 5|other 2", "every node with what it holds itself, callers first");
	is_int(page.left, 0, "and nothing after them");
	is_near(data.folded, 0, 0, "no stack is too small");
	ok(!data.is_change, "nothing is a change");
	cairn_page_data_free(&data);
	fixture_free(&fixture);
}

static void test_smaller(void)
{
	struct fixture fixture;
	struct cairn_page_data data;
	struct page page;
	fixture_make(&fixture, "main;big;deep 1000\nmain;s1;x 1\nmain;s2 2\nmain;s3;y;z 3\n", NULL);
	cairn_page_data_make(&data, &fixture.view, 4, NULL);
	read_page(&page, &data, false);
	is_text(describe(&page), "main 0|main/* 6|main/big 0|main/big/deep 1000", "what is small is one node, and no byte is lost");
	is_near(data.folded, 6, 0, "it is known how much that is");
	ok(page.left > 0, "the functions' own sums are there");
	cairn_page_data_free(&data);
	fixture_free(&fixture);
}

static void test_rounding(void)
{
	struct fixture fixture;
	struct cairn_page_data data;
	struct page page;
	/* Estimates with fractions, by un-sampling: 40 places that each hold a part of a byte more than a whole number. */
	struct cairn_buffer text = cairn_buffer(1 << 16);
	cairn_buffer_text(&text, "heap_v2/1000\n  t*: 0: 0 [0: 0]\n");
	for (int i = 0; i < 40; i++)
		cairn_buffer_format(&text, "@ 0x%x 0x10\n  t*: 3: 100 [0: 0]\n", 0x1000 + 16 * i);
	cairn_buffer_text(&text, "\nMAPPED_LIBRARIES:\n");
	cairn_buffer_byte(&text, '\0');
	fixture_make(&fixture, text.data, NULL);
	cairn_page_data_make(&data, &fixture.view, 100, NULL);
	read_page(&page, &data, false);
	int64_t sum = 0;
	for (uint64_t i = 0; i < page.nodes; i++)
		sum += page.value[i];
	ok(cairn_view_value(&fixture.view, 0) != floor(cairn_view_value(&fixture.view, 0)), "the estimates have fractions");
	is_near((double)sum, fixture.view.total, 1, "rounded numbers add up to the total");
	cairn_page_data_free(&data);
	fixture_free(&fixture);
	cairn_buffer_free(&text);
}

static void test_change(void)
{
	struct fixture fixture;
	struct cairn_page_data data;
	struct page page;
	fixture_make(&fixture, "m;grown 7\nm;gone 1\n", NULL);
	cairn_profile_subtract(&fixture.profile, 1, 0, 6);
	cairn_page_data_make(&data, &fixture.view, 100, NULL);
	read_page(&page, &data, true);
	is_text(describe(&page), "m 0|m/gone -5|m/grown 7", "what shrank is negative");
	is_int(page.base[2], 6, "and has its base");
	ok(data.is_change, "it is a change");
	cairn_page_data_free(&data);
	fixture_free(&fixture);
}

/* What was freed again is there with what it allocated, whatever is shown first. */
static void test_columns(void)
{
	struct fixture fixture;
	struct cairn_page_data data;
	struct page page;
	fixture_make(&fixture,
		     "heap_v2/1\n  t*: 2: 64 [9: 900]\n@ 0x1001 0x2001\n  t*: 2: 64 [3: 100]\n@ 0x3001 0x2001\n  t*: 0: 0 [6: 800]\n"
		     "\nMAPPED_LIBRARIES:\n",
		     NULL);
	cairn_page_data_make(&data, &fixture.view, 100, NULL);
	read_page(&page, &data, false);
	is_int(data.column_count, 4, "live and allocated, bytes and objects");
	is_int(page.nodes, 4, "a stack that holds nothing any more is a node");
	const char *wanted[] = {"inuse_space", "inuse_objects", "alloc_space", "alloc_objects"};
	const int64_t sums[] = {64, 2, 900, 9};
	for (size_t c = 0; c < 4; c++) {
		int64_t sum = 0;
		for (uint64_t i = 0; i < page.nodes; i++)
			sum += c ? page.other[c][i] : page.value[i];
		is_text(cairn_profile_string(&fixture.profile, fixture.profile.value_types[data.columns[c]].type), wanted[c],
			"the columns in order");
		is_int(sum, sums[c], "each with all of it");
	}
	is_int(page.left, 0, "and nothing after them");
	cairn_page_data_free(&data);
	fixture_free(&fixture);
}

static void test_names(void)
{
	struct fixture fixture;
	struct cairn_page_data data;
	struct page page;
	fixture_make(&fixture, "</script>;caf\xc3\xa9;bad\xff;turn\xe2\x80\xae 1\n", NULL);
	cairn_page_data_make(&data, &fixture.view, 100, NULL);
	read_page(&page, &data, false);
	is_text(page.names[1], "</script>", "a name is kept as it is");
	is_text(page.names[2], "caf\xc3\xa9", "UTF-8 too");
	is_text(page.names[3], "bad\xef\xbf\xbd", "bytes that are not UTF-8 are replaced");
	is_text(page.names[4], "turn???", "and what would turn the text around");
	cairn_page_data_free(&data);
	fixture_free(&fixture);
}

static void test_split(void)
{
	struct fixture fixture;
	struct cairn_page_data data;
	fixture_make(&fixture,
		     "heap_v2/1\n  t*: 3: 3000 [0: 0]\n  t0: 1: 1000 [0: 0] main\n  t7: 2: 2000 [0: 0] worker\n"
		     "@ 0x1001 0x2001\n  t*: 3: 3000 [0: 0]\n  t0: 1: 1000 [0: 0]\n  t7: 2: 2000 [0: 0]\n\nMAPPED_LIBRARIES:\n",
		     NULL);
	cairn_page_data_make(&data, &fixture.view, 100, NULL);
	struct reading in = {cairn_buffer_bytes(&data.split)};
	is_int(data.thread_count, 2, "two threads");
	is_text(data.threads[1].name.data, "worker", "with their names");
	is_int(take(&in), 2, "two groups");
	take(&in);
	take(&in);
	is_int(take(&in), 11, "objects of 1000 bytes are in the class up to 1024");
	take(&in);
	is_int(take(&in) + take(&in), 0, "their ages are not known");
	is_int(take(&in) + take(&in), 0, "nodes without anything of their own have no parts");
	is_int(take(&in), 2, "the last has one of each group");
	take(&in);
	take(&in);
	int64_t first = (int64_t)take(&in);
	is_int(first + (int64_t)take(&in), 3000, "which make up all of it");
	cairn_page_data_free(&data);
	fixture_free(&fixture);
}

int main(void)
{
	test_tree();
	test_smaller();
	test_rounding();
	test_change();
	test_columns();
	test_names();
	test_split();
	return tap_done();
}
