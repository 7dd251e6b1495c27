/* tags_test.c - memory by label: which labels are one row, and in which order rows come.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tags.h"

#include "unit/report/fixture.h"

static struct fixture fixture;

/* Gives sample INDEX, of those that have one yet, one label more. */
static void label(size_t index, struct cairn_label label, const char *key, const char *text, const char *unit)
{
	struct cairn_profile *profile = &fixture.profile;
	label.key = cairn_profile_text(profile, key);
	label.text = cairn_profile_text(profile, text);
	label.unit = cairn_profile_text(profile, unit);
	profile->samples[index].labels = cairn_profile_add_labels(profile, &label, 1);
}

/* The table as JSON or as text, with so many rows; 0 is for all. */
static const char *table(bool is_json, uint32_t rows)
{
	static struct cairn_buffer out;
	cairn_buffer_free(&out);
	out = cairn_buffer(1 << 20);
	struct cairn_json json = cairn_json(&out);
	struct cairn_shape shape = {.node_count = rows};
	struct cairn_report report = cairn_report(&fixture.view, &shape, &out, is_json ? &json : NULL);
	if (is_json)
		cairn_json_open(&json, NULL, '{');
	bool any = cairn_tags_write(&report);
	if (is_json)
		cairn_json_close(&json, '}');
	cairn_buffer_byte(&out, 0);
	return any ? out.data : "";
}

static void number(size_t index, const char *key, int64_t value, const char *unit)
{
	label(index, (struct cairn_label){.is_number = true, .number = value}, key, "", unit);
}

static void test_rows(void)
{
	fixture_make(&fixture, "a 1\nb 2\nc 4\nd 8\ne 16\nf 32\n", NULL);
	ok(!table(false, 0)[0], "without labels there is no table");
	number(0, "wait", 8, "ms");
	number(1, "wait", 8, "bytes");
	number(2, "wait", 9, "ms");
	number(3, "wait", 8, "ms");
	label(4, (struct cairn_label){0}, "name", "shop", "");
	label(5, (struct cairn_label){0}, "name", "shop", "");
	is_text(table(true, 0),
		"{\"tags\":["
		"{\"key\":\"name\",\"total\":48,\"values\":[{\"text\":\"shop\",\"value\":48}]},"
		"{\"key\":\"wait\",\"total\":15,\"values\":[{\"number\":8,\"unit\":\"ms\",\"value\":9},"
		"{\"number\":9,\"unit\":\"ms\",\"value\":4},{\"number\":8,\"unit\":\"bytes\",\"value\":2}]}]}",
		"a number with another unit is another label; keys are by name, rows by value");
	fixture_free(&fixture);

	fixture_make(&fixture, "a 3\nb -3\nc 3\nd -9\n", NULL);
	number(0, "size", 9, "");
	number(1, "size", 2, "");
	number(2, "size", 5, "");
	number(3, "size", 7, "");
	is_text(table(true, 0),
		"{\"tags\":[{\"key\":\"size\",\"total\":-6,\"values\":[{\"number\":7,\"unit\":\"\",\"value\":-9},"
		"{\"number\":2,\"unit\":\"\",\"value\":-3},"
		"{\"number\":5,\"unit\":\"\",\"value\":3},{\"number\":9,\"unit\":\"\",\"value\":3}]}]}",
		"the largest change first, and those of one size by number");
	fixture_free(&fixture);

	fixture_make(&fixture, "a 3\nb 3\nc 3\n", NULL);
	label(0, (struct cairn_label){0}, "who", "bob", "");
	label(1, (struct cairn_label){0}, "who", "bo", "");
	label(2, (struct cairn_label){0}, "who", "al", "");
	const char *text = table(false, 0), *first = strstr(text, "  al\n"), *second = strstr(text, "  bo\n"), *third = strstr(text, "  bob\n");
	ok(first && second && third && first < second && second < third, "or by their words:\n%s", text);
	like_text(table(false, 1), "2 more", "rows that are not shown are counted");
	ok(!strstr(table(false, 3), "more"), "if there are any");
	fixture_free(&fixture);
}

int main(void)
{
	test_rows();
	return tap_done();
}
