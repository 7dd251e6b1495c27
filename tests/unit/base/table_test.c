/* table_test.c - one function for each table: its text, its JSON, and the list of its columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include "tap.h"

#include <math.h>

struct row {
	double bytes, share, rate;
	const char *name, *state;
	const char *stack[4];
};

static bool frame_at(const void *context, size_t depth, struct cairn_bytes *name)
{
	const struct row *row = context;
	if (depth < 4 && row->stack[depth])
		*name = cairn_bytes_of(row->stack[depth]);
	return depth < 4 && row->stack[depth];
}

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct row *row = item;
	(void)context;
	cairn_table_bytes(table, "bytes", "Size", 10, row->bytes);
	cairn_table_share(table, "share", "Share", 7, 1, row->share);
	cairn_table_string(table, "state", "State", -8, row->state);
	cairn_table_rate(table, "rate", NULL, 0, row->rate);
	cairn_table_flag(table, "named", row->name != NULL);
	cairn_table_stack(table, "Call path", 2, frame_at, row);
}

static const struct row rows[] = {
	{1.5 * 1024 * 1024, 0.25, 2048.4, "a", "grün", {"leaf", "caller", "main", "_start"}},
	{NAN, NAN, NAN, NULL, "b\033[2J", {NULL}},
};

static void test_text(void)
{
	struct cairn_buffer out = cairn_buffer(1 << 16);
	struct cairn_table table = cairn_table(&out, NULL, false);
	cairn_table_rows(&table, "rows", columns, NULL, rows, 2, sizeof *rows);
	cairn_table_more(&table, 7, "-n 0 shows all");
	cairn_table_more(&table, 0, "nothing");
	cairn_buffer_byte(&out, 0);
	is_text(out.data,
		"      Size   Share  State     Call path\n"
		"   1.5 MiB   25.0%  grün      leaf\n"
		"                              caller\n"
		"                              main\n"
		"                              … 1 more\n"
		"         -       -  b?[2J     [no stack]\n"
		"         … and 7 more; -n 0 shows all\n",
		"text has headings, columns that line up, and no control character");
	out.length = 0;
	table.plain = true;
	cairn_table_row(&table, columns, NULL, &rows[0]);
	ok(cairn_bytes_start_with(cairn_buffer_bytes(&out), "   1572864 "), "or plain integers");
	cairn_buffer_free(&out);
}

static void test_json(void)
{
	struct cairn_buffer out = cairn_buffer(1 << 16);
	struct cairn_json json = cairn_json_answer(&out);
	struct cairn_table table = cairn_table(NULL, &json, false);
	cairn_table_list(&table, columns, NULL, sizeof *rows);
	cairn_table_rows(&table, "rows", columns, NULL, rows, 2, sizeof *rows);
	cairn_table_more(&table, 7, "-n 0 shows all");
	cairn_json_end(&json);
	cairn_buffer_byte(&out, 0);
	is_text(out.data,
		"{\"version\":1,\"columns\":[{\"key\":\"bytes\",\"title\":\"Size\",\"kind\":\"bytes\"},"
		"{\"key\":\"share\",\"title\":\"Share\",\"kind\":\"share\"},{\"key\":\"state\",\"title\":\"State\",\"kind\":\"text\"},"
		"{\"key\":\"name\",\"title\":\"Call path\",\"kind\":\"text\"}],\"rows\":["
		"{\"bytes\":1572864,\"share\":0.25,\"state\":\"grün\",\"rate\":2048.4,\"named\":true,\"name\":\"leaf\","
		"\"stack\":[\"leaf\",\"caller\",\"main\",\"_start\"]},"
		"{\"bytes\":null,\"share\":null,\"state\":\"b\\u001b[2J\",\"rate\":null,\"named\":false,\"name\":\"[no stack]\",\"stack\":[]}]}\n",
		"JSON has members by key, and the columns that have a heading");
	cairn_buffer_free(&out);
}

/* Rounds as round() does. */
static void test_numbers(void)
{
	static const double values[] = {0, 0.49, 0.5, 2.5, -0.5, -1.4, 4503599627370497.0, 1e300};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct cairn_buffer out = cairn_buffer(1 << 10), wanted = cairn_buffer(1 << 10);
		struct cairn_json json = cairn_json(&out), other = cairn_json(&wanted);
		struct cairn_table table = cairn_table(NULL, &json, false);
		cairn_table_bytes(&table, "x", NULL, 0, values[i]);
		cairn_json_number(&other, "x", round(values[i]) + 0.0);
		ok(cairn_bytes_equal(cairn_buffer_bytes(&out), cairn_buffer_bytes(&wanted)), "%g is rounded: %.*s", values[i], (int)out.length,
		   out.data);
		cairn_buffer_free(&out);
		cairn_buffer_free(&wanted);
	}
}

int main(void)
{
	test_text();
	test_json();
	test_numbers();
	return tap_done();
}
