/* clickhouse_test.c - rows in ClickHouse's wire format: they come back as they were, and what is cut short or lies is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse.h"

#include "tap.h"

static const uint64_t frames[] = {7, 8, 9};
static const struct cairn_row_frame frame = {42, {"abcdef", 6}, {"/srv/api", 8}, UINT64_MAX, {"f\ta.c\t1\t1\n", 11}, 1, 5};
static const struct cairn_row_stack stack = {43, {{(const char *)frames, sizeof frames}}, 6};
static const struct cairn_row_sample sample = {1, 2, {3, 4.5, 1, 1, 0, -0.25}};

/* Takes all of BYTES, rows of TABLE. Returns how many, or -1 if the last is not whole. */
static int count(struct cairn_bytes bytes, unsigned table, void *row)
{
	struct cairn_cursor in = cairn_cursor(bytes);
	int rows = 0;
	for (; cairn_cursor_left(&in); rows++)
		if (!cairn_clickhouse_take(&in, cairn_tables[table].columns, row))
			return -1;
	return rows;
}

/* Puts ROW twice, and takes it whole and cut at every byte. */
static void test_row(unsigned table, const void *row, void *taken)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_clickhouse_put(&out, cairn_tables[table].columns, row);
	size_t length = out.length, whole = 0;
	cairn_clickhouse_put(&out, cairn_tables[table].columns, row);
	for (size_t cut = 0; cut < out.length; cut++)
		whole += count((struct cairn_bytes){out.data, cut}, table, taken) >= 0;
	is_int(whole, 2, "%s: cut after no row and after one, they are whole, and nowhere else", cairn_tables[table].name);
	is_int(count(cairn_buffer_bytes(&out), table, taken), 2, "two rows");
	ok(cairn_row_hash(cairn_tables[table].columns, taken) == cairn_row_hash(cairn_tables[table].columns, row) || table == CAIRN_TABLE_FRAMES,
	   "are what they were, in %zu bytes each", length);
	cairn_buffer_free(&out);
}

int main(void)
{
	struct cairn_row_frame taken_frame;
	struct cairn_row_stack taken_stack;
	struct cairn_row_sample taken_sample;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	test_row(CAIRN_TABLE_FRAMES, &frame, &taken_frame);
	test_row(CAIRN_TABLE_STACKS, &stack, &taken_stack);
	test_row(CAIRN_TABLE_SAMPLES, &sample, &taken_sample);
	cairn_clickhouse_put(&out, cairn_tables[CAIRN_TABLE_FRAMES].columns, &frame);
	is_int(count(cairn_buffer_bytes(&out), CAIRN_TABLE_FRAMES, &taken_frame), 1, "a frame");
	ok(taken_frame.place == INT64_MAX, "with a number that a store can keep");
	ok(cairn_bytes_equal(taken_frame.names, frame.names) && cairn_bytes_equal(taken_frame.module, frame.module), "and its texts");

	static const char endless[] = "\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
	is_int(count((struct cairn_bytes){endless, sizeof endless - 1}, CAIRN_TABLE_STACKS, &taken_stack), -1, "a list that claims to be endless");
	ok(taken_stack.frames.items.length == 0, "has no items");
	cairn_buffer_free(&out);
	return tap_done();
}
