/* json_read_test.c - values found where they lie, and texts that are not JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "base/json_read.h"
#include "tap.h"

static struct cairn_json_value parse(const char *text)
{
	return cairn_json_value(cairn_bytes_of(text));
}

static const char *copy(struct cairn_json_value value)
{
	static char out[64];
	cairn_json_copy(value, out, sizeof out);
	return out;
}

static void test_find(void)
{
	struct cairn_json_value all =
		parse(" {\"a\" : 1, \"b\":{\"c\":[1,{\"x\":\"y}\"}], \"d\":\"va\\\"l\"}, \"e\":null,\"f\":true, \"g\":-1.5e3 } ");
	ok(all.kind == CAIRN_JSON_OBJECT, "an object");
	is_text(copy(cairn_json_find(all, "a")), "1", "a number as it is spelled");
	is_text(copy(cairn_json_find(all, "b.d")), "va\"l", "a text inside, unescaped");
	is_text(copy(cairn_json_find(all, "f")), "true", "a truth value");
	is_text(copy(cairn_json_find(all, "e")), "", "null is no text");
	ok(cairn_json_find(all, "e").kind == CAIRN_JSON_NULL, "null is there");
	ok(cairn_json_find(all, "b.x").kind == CAIRN_JSON_NONE && cairn_json_find(all, "a.b").kind == CAIRN_JSON_NONE &&
	   cairn_json_find(all, "").kind == CAIRN_JSON_NONE, "what is not there");
	ok(cairn_json_double(cairn_json_find(all, "g")) == -1500 && cairn_json_double(cairn_json_find(all, "f")) == 1 &&
	   cairn_json_double(cairn_json_find(all, "b")) == 0, "numbers");
}

static void test_walk(void)
{
	struct cairn_json_value array = parse("[1, [2,3] ,\"4\"]"), value;
	size_t position = 0, count = 0;
	while (cairn_json_next(array, &position, NULL, &value))
		count++;
	is_int((long long)count, 3, "the elements of an array");
	position = 0;
	ok(!cairn_json_next(parse("[]"), &position, NULL, &value) && !cairn_json_next(parse("{}"), &position, NULL, &value), "empty ones");
	position = count = 0;
	struct cairn_bytes key;
	while (cairn_json_next(parse("{\"k\":1,\"l\"2}"), &position, &key, &value))
		count++;
	is_int((long long)count, 1, "a walk ends at the damage");
}

static void test_escapes(void)
{
	is_text(copy(parse("\"\\u00e9\\u20ac\\ud83d\\ude00\\n\\/\"")), "\u00e9\u20ac\U0001F600\n/", "all lengths of characters");
	is_text(copy(parse("\"\\ud83d\"")), "\ufffd", "half a pair");
	is_text(copy(parse("\"\\u12\"")), "\ufffd", "digits missing");
	is_text(copy(parse("\"a\\u0000b\"")), "a\ufffdb", "a terminator is no text");
	char small[4];
	cairn_json_copy(parse("\"ab\\u20acd\""), small, sizeof small);
	is_text(small, "ab", "no part of a character where there is no room");
}

static void test_damage(void)
{
	static const char *const bad[] = {"", " ", "{", "[1", "\"a", "{\"a\":1}x", "nul", "]", "\"\\\"", "+", "{\"a\":\"}"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(parse(bad[i]).kind == CAIRN_JSON_NONE, "no value: '%s'", bad[i]);
}

/* What the writer writes, the reader finds. */
static void test_writer(void)
{
	struct cairn_buffer out = cairn_buffer(4096);
	struct cairn_json json = cairn_json(&out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_open(&json, "inner", '{');
	cairn_json_text(&json, "text", cairn_bytes_of("tab\t, quote\", back\\slash"));
	cairn_json_close(&json, '}');
	cairn_json_integer(&json, "n", INT64_MIN);
	cairn_json_close(&json, '}');
	struct cairn_json_value value = cairn_json_value(cairn_buffer_bytes(&out));
	is_text(copy(cairn_json_find(value, "inner.text")), "tab\t, quote\", back\\slash", "text that was written");
	is_text(copy(cairn_json_find(value, "n")), "-9223372036854775808", "a number that was written");
	cairn_buffer_free(&out);
}

int main(void)
{
	test_find();
	test_walk();
	test_escapes();
	test_damage();
	test_writer();
	return tap_done();
}
