/* base_test.c - the small things everything stands on.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cursor.h"
#include "base/date.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/pattern.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/time.h"
#include "base/unpack.h"
#include "base/utf8.h"
#include "tap.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static void test_error(void)
{
	struct cairn_error error;
	ok(!cairn_fail(&error, "line %d", 7), "a failure is false");
	is_text(error.text, "line 7", "and says why");
	cairn_fail_within(&error, "%s: ", "dump.heap");
	is_text(error.text, "dump.heap: line 7", "context goes in front");
	errno = ENOENT;
	cairn_fail_errno(&error, "x");
	is_text(error.text, "x: No such file or directory", "errno in words");
	ok(!cairn_fail(NULL, "nobody listens"), "NULL is accepted");
}

static void test_arena(void)
{
	struct cairn_arena arena = {0};
	char *small = cairn_arena_alloc(&arena, 3);
	char *large = cairn_arena_alloc(&arena, 5 << 20);
	char *after = cairn_arena_alloc(&arena, 3);
	memset(large, 1, 5 << 20);
	ok((uintptr_t)small % 16 == 0 && (uintptr_t)large % 16 == 0 && (uintptr_t)after % 16 == 0, "aligned");
	is_text(cairn_arena_format(&arena, "%s-%d", "a", 5), "a-5", "formats");
	is_text(cairn_arena_text(&arena, (struct cairn_bytes){"hello", 4}), "hell", "copies and terminates");
	cairn_arena_free(&arena);
	ok(arena.blocks == NULL, "freed whole");
}

static void test_buffer(void)
{
	struct cairn_buffer buffer = cairn_buffer(10);
	cairn_buffer_text(&buffer, "12345");
	cairn_buffer_number(&buffer, -42);
	ok(!buffer.failed && buffer.length == 8, "fits");
	cairn_buffer_text(&buffer, "abcdef");
	ok(buffer.failed && buffer.length == 10 && memcmp(buffer.data, "12345-42ab", 10) == 0, "stops at its maximum");
	cairn_buffer_free(&buffer);
	buffer = cairn_buffer(SIZE_MAX);
	cairn_buffer_number(&buffer, INT64_MIN);
	cairn_buffer_hex(&buffer, UINT64_MAX);
	cairn_buffer_hex(&buffer, 0);
	cairn_buffer_format(&buffer, "%300d", 5);
	ok(buffer.length == 20 + 18 + 3 + 300 && memcmp(buffer.data, "-92233720368547758080xffffffffffffffff0x0", 41) == 0, "numbers");
	cairn_buffer_free(&buffer);
}

/* The most slots in a row that are in use: what a search may have to walk. */
static size_t longest_run(const struct cairn_map *map)
{
	size_t longest = 0, run = 0;
	for (size_t i = 0; i < map->capacity; i++) {
		run = map->slots[i].used ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

/* Keys and names made with the constants in hash.c at hand. */
static void test_hostile_hash(void)
{
	const uint64_t inverse = UINT64_C(0xf1de83e19937733d); /* of the map's multiplier */
	struct cairn_map map = {0};
	for (uint64_t i = 1; i <= 20000; i++)
		*cairn_map_at(&map, i * inverse) = (uint32_t)i;
	ok(longest_run(&map) < 2000, "keys made to fall side by side do not");
	cairn_map_free(&map);
	struct {
		uint64_t absorbs, differs;
		char rest[4];
	} name = {UINT64_C(0xe7037ed1a0b428db), 0, "end"};
	uint64_t first = cairn_hash_bytes(&name, 20);
	name.differs = 1;
	ok(first != cairn_hash_bytes(&name, 20), "nor do names have one hash that were made to");
}

static void test_hash(void)
{
	struct cairn_map map = {0};
	for (uint64_t i = 0; i < 10000; i++)
		*cairn_map_at(&map, i << 12) = (uint32_t)i;
	bool right = true;
	for (uint64_t i = 0; i < 10000; i++)
		right &= cairn_map_get(&map, i << 12) == i;
	ok(right && cairn_map_get(&map, 1) == CAIRN_NONE, "a map finds what was put, and nothing else");
	cairn_map_free(&map);
	struct cairn_strings strings = {0};
	uint32_t a = cairn_strings_add_text(&strings, "a"), b = cairn_strings_add_text(&strings, "b");
	ok(a != b && a == cairn_strings_add_text(&strings, "a") && cairn_strings_add_text(&strings, "") == 0, "strings are kept once");
	for (int i = 0; i < 5000; i++) {
		char text[16];
		snprintf(text, sizeof text, "name%d", i);
		cairn_strings_add_text(&strings, text);
	}
	is_text(cairn_strings_text(&strings, cairn_strings_find(&strings, cairn_bytes_of("name4999"))), "name4999", "found by content");
	is_int(cairn_strings_find(&strings, cairn_bytes_of("nobody")), CAIRN_NONE, "absent is absent");
	cairn_strings_free(&strings);
}

static void test_cursor(void)
{
	struct cairn_cursor in = cairn_cursor((struct cairn_bytes){"\x01\x02\x03\x04\xe5\x8e\x26\x7f" "abc\0z", 13});
	is_int(cairn_cursor_u8(&in), 1, "byte");
	is_int(cairn_cursor_u16(&in), 0x0302, "little-endian");
	is_int(cairn_cursor_uleb(&in), 4, "short uleb");
	is_int(cairn_cursor_uleb(&in), 624485, "long uleb");
	is_int(cairn_cursor_sleb(&in), -1, "sleb");
	is_text(cairn_cursor_text(&in).data, "abc", "text");
	is_int(cairn_cursor_u32(&in), 0, "past the end: zero");
	ok(in.failed, "and failed");
	is_int(cairn_cursor_u8(&in), 0, "for good");
}

static int compare_words(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;
	return (x[0] > y[0]) - (x[0] < y[0]);
}

static void test_sort(void)
{
	enum { most = 200, words = 23 }; /* items larger than what is moved at a time */
	static unsigned items[most][words];
	unsigned wrong = 0;
	for (unsigned count = 0; count <= most; count += count < 20 ? 1 : 17) {
		for (unsigned i = 0; i < count; i++)
			for (unsigned j = 0; j < words; j++)
				items[i][j] = (i * 7919 + 13) % 101 + (j ? 1000 : 0);
		cairn_sort(items, count, sizeof *items, compare_words);
		for (unsigned i = 0; i < count; i++)
			wrong += (i > 0 && items[i][0] < items[i - 1][0]) || items[i][words - 1] != items[i][0] + 1000;
	}
	is_int(wrong, 0, "sorted, with each item in one piece");
}

static void test_read(void)
{
	int ends[2];
	struct cairn_buffer all = cairn_buffer(1 << 20), some = cairn_buffer(5);
	for (int i = 0; i < 2; i++) {
		if (pipe(ends) != 0 || write(ends[1], "0123456789", 10) != 10)
			ok(false, "a pipe");
		close(ends[1]);
		ok(cairn_buffer_read(i ? &some : &all, ends[0]), "read from a descriptor");
		close(ends[0]);
	}
	ok(all.length == 10 && memcmp(all.data, "0123456789", 10) == 0, "all of it");
	ok(some.length == 5 && memcmp(some.data, "01234", 5) == 0, "or what fits");
	ok(!cairn_buffer_read(&all, -1), "a closed one fails");
	cairn_buffer_free(&all);
	cairn_buffer_free(&some);
}

static void test_seconds(void)
{
	int64_t ns;
	ok(cairn_text_seconds(cairn_bytes_of("1794717771.807039451"), &ns) && ns == 1794717771807039451, "nine digits of fraction");
	ok(cairn_text_seconds(cairn_bytes_of("2.5"), &ns) && ns == 2500000000, "one digit");
	ok(cairn_text_seconds(cairn_bytes_of("7"), &ns) && ns == 7000000000, "none");
	ok(!cairn_text_seconds(cairn_bytes_of("7."), &ns) && !cairn_text_seconds(cairn_bytes_of("7.1234567890"), &ns) &&
	   !cairn_text_seconds(cairn_bytes_of("7s"), &ns) && !cairn_text_seconds(cairn_bytes_of("99999999999"), &ns), "not seconds");
}

static void test_spans(void)
{
	int64_t ns;
	double share;
	char text[24];
	static const struct {
		const char *text;
		int64_t ns;
		const char *shown;
	} spans[] = {{"0", 0, "0 ms"},
		     {"250ms", 250000000, "250 ms"},
		     {"1.5s", 1500000000, "1.5 s"},
		     {"90", 90000000000, "1.5 min"},
		     {"10m", 600000000000, "10 min"},
		     {"10min", 600000000000, "10 min"},
		     {"36h", 129600000000000, "36 h"},
		     {"3d", 259200000000000, "3 days"}};
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		ok(cairn_text_duration(spans[i].text, &ns) && ns == spans[i].ns, "%s", spans[i].text);
		is_text(cairn_text_span(spans[i].ns, text), spans[i].shown, "as a person reads it");
	}
	static const char *const bad[] = {"", "s", "-1s", "1 s", "10q", "1e30d", "inf", "1sm"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(!cairn_text_duration(bad[i], &ns), "'%s' is no span", bad[i]);
	setenv("TZ", "EST5", 1);
	ok(cairn_text_date("2026-11-18T19:00", &ns) && ns == 1795046400 * CAIRN_SECOND_NS && cairn_text_date("2026-11-18 19:00:00", &ns) &&
		   ns == 1795046400 * CAIRN_SECOND_NS,
	   "a date and time are local");
	ok(cairn_text_date("2026-11-18T19:00:30Z", &ns) && ns == 1795028430 * CAIRN_SECOND_NS, "or UTC");
	ok(cairn_text_date("2026-11-18", &ns) && ns == 1794978000 * CAIRN_SECOND_NS, "a date alone is its midnight");
	static const char *const no_dates[] = {"", "2026", "2026-13-01", "2026-11-18T", "2026-11-18T25:00", "yesterday",
					       "1960-01-01", "99999-01-01", "2300-01-01", "2026-11-18T19:00+01:00", "2026-11-18x"};
	for (size_t i = 0; i < sizeof no_dates / sizeof *no_dates; i++)
		ok(!cairn_text_date(no_dates[i], &ns), "'%s' is no date", no_dates[i]);
	ok(cairn_text_share("90%", &share) && fabs(share - 0.9) < 1e-12 && cairn_text_share("0.25", &share) && fabs(share - 0.25) < 1e-12,
	   "shares");
	ok(!cairn_text_share("101%", &share) && !cairn_text_share("90", &share) && !cairn_text_share("%", &share) &&
		   !cairn_text_share("-1%", &share) && !cairn_text_share("nan", &share),
	   "not shares");
}

static void test_utc(void)
{
	char text[24];
	is_text(cairn_text_utc(INT64_C(1794726723) * CAIRN_SECOND_NS + 999999999, text), "2026-11-15 07:12:03 UTC", "a time in UTC");
	is_text(cairn_text_utc(INT64_MAX, text), "2262-04-11 23:47:16 UTC", "the last one");
	is_text(cairn_text_utc(INT64_MIN, text), "1677-09-21 00:12:44 UTC", "and the first fit");
}

static void test_text(void)
{
	struct cairn_bytes rest = cairn_bytes_of("one\r\ntwo\n\nlast"), line;
	bool complete;
	cairn_text_line(&rest, &line, &complete);
	ok(line.length == 3 && complete, "CR LF is a line end");
	cairn_text_line(&rest, &line, &complete);
	cairn_text_line(&rest, &line, &complete);
	is_int(line.length, 0, "an empty line");
	cairn_text_line(&rest, &line, &complete);
	ok(line.length == 4 && !complete && !cairn_text_line(&rest, &line, NULL), "a last line without end");
	rest = cairn_bytes_of("one \t two");
	ok(cairn_bytes_equal(cairn_text_word(&rest), cairn_bytes_of("one")) &&
		   cairn_bytes_equal(cairn_text_word(&rest), cairn_bytes_of("two")) && cairn_text_word(&rest).length == 0,
	   "words, and none at the end");
	rest = cairn_bytes_of("a,,b");
	ok(cairn_bytes_equal(cairn_text_field(&rest, ','), cairn_bytes_of("a")) && cairn_text_field(&rest, ',').length == 0 &&
		   rest.length == 1 && cairn_bytes_equal(cairn_text_field(&rest, ','), cairn_bytes_of("b")) && rest.length == 0,
	   "fields, of which one is empty");
	uint64_t value;
	rest = cairn_bytes_of("18446744073709551615:");
	ok(cairn_text_decimal(&rest, &value) && value == UINT64_MAX && rest.length == 1, "the largest number");
	rest = cairn_bytes_of("18446744073709551616");
	ok(!cairn_text_decimal(&rest, &value) && rest.length == 20, "one more does not fit");
	rest = cairn_bytes_of("0xFFFFffffFFFFffff ");
	ok(cairn_text_hex(&rest, &value) && value == UINT64_MAX && rest.length == 1, "hex");
	rest = cairn_bytes_of("0x1ffffffffffffffff");
	ok(!cairn_text_hex(&rest, &value), "hex that does not fit");
	ok(cairn_text_size("512K", &value) && value == 524288, "512K");
	ok(cairn_text_size("1.5GiB", &value) && value == 1610612736, "1.5GiB");
	ok(!cairn_text_size("5 apples", &value) && !cairn_text_size("-1", &value) && !cairn_text_size("", &value), "not sizes");
	char out[24];
	is_text(cairn_text_human(1536, out), "1.5 KiB", "human");
	is_text(cairn_text_human(-3.2 * 1048576, out), "-3.2 MiB", "human, negative");
	is_text(cairn_text_human(1048575, out), "1.0 MiB", "no 1024.0 KiB");
	is_text(cairn_text_human(-0.2, out), "0 B", "no minus zero");
	is_int(cairn_text_distance("topp", "top"), 1, "edit distance");
	is_int(cairn_text_distance("tpo", "top"), 1, "letters that changed places are one edit");
	is_int(cairn_text_distance("foo", "top"), 2, "two edits");
}

static void test_json(void)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_json json = cairn_json(&out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "a\"", (struct cairn_bytes){"x\n\xff\xc3\xa9", 5});
	cairn_json_open(&json, "b", '[');
	cairn_json_integer(&json, NULL, -1);
	cairn_json_number(&json, NULL, 0.5);
	cairn_json_number(&json, NULL, 1794733239.126);
	cairn_json_number(&json, NULL, INFINITY);
	cairn_json_close(&json, ']');
	cairn_json_bool(&json, "c", true);
	cairn_json_close(&json, '}');
	cairn_buffer_byte(&out, '\0');
	is_text(out.data, "{\"a\\\"\":\"x\\u000a\xef\xbf\xbd\xc3\xa9\",\"b\":[-1,0.5,1794733239.126,null],\"c\":true}", "JSON");
	cairn_buffer_free(&out);
}

static void test_utf8(void)
{
	ok(cairn_utf8_valid(cairn_bytes_of("aé€😀")), "valid");
	static const char *const wrong[] = {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(!cairn_utf8_valid(cairn_bytes_of(wrong[i])), "invalid %zu", i);
}

static void test_pattern(void)
{
	struct cairn_error error = {0};
	struct cairn_pattern *pattern = cairn_pattern_compile("^std::(vec|map)\\b.*push", &error);
	ok(cairn_pattern_match(pattern, cairn_bytes_of("std::vec<int>::push_back")), "matches");
	ok(!cairn_pattern_match(pattern, cairn_bytes_of("my::std::vec push")), "does not match");
	ok(!cairn_pattern_match(pattern, (struct cairn_bytes){"std::\xff", 6}), "survives bytes that are not UTF-8");
	cairn_pattern_free(pattern);
	ok(!cairn_pattern_compile("a(b", &error), "a wrong pattern is refused");
	like_text(error.text, "'a(b'", "and shown");
}

static void add_item(void *context, size_t item, unsigned worker)
{
	(void)worker;
	atomic_fetch_add((atomic_size_t *)context, item);
}

static void test_date(void)
{
	const int64_t edges[] = {0, -1, -86400, 951782399, 951782400, 951868800,
				 4107542399, 4107542400, 253402300799, -62135596800, 1731650000};
	int wrong = 0;
	for (int64_t i = 0; i < 200000; i++) {
		int64_t seconds = i < 11 ? edges[i] : (i - 100000) * 2600003;
		struct tm ours = cairn_date(seconds), theirs;
		gmtime_r(&(time_t){seconds}, &theirs);
		wrong += ours.tm_year != theirs.tm_year || ours.tm_mon != theirs.tm_mon || ours.tm_mday != theirs.tm_mday ||
			 ours.tm_wday != theirs.tm_wday || ours.tm_hour != theirs.tm_hour || ours.tm_min != theirs.tm_min ||
			 ours.tm_sec != theirs.tm_sec;
	}
	is_int(wrong, 0, "200,000 dates are those of libc");
}

static void test_pool(void)
{
	atomic_size_t sum = 0;
	cairn_pool_run(1000, add_item, &sum);
	is_int(sum, 999 * 1000 / 2, "every item once");
	cairn_pool_run(0, add_item, &sum);
	is_int(sum, 999 * 1000 / 2, "no items, no work");
}

/* Somebody takes processors away from a program that runs, or gives it more: what it made for each thread has to stay enough. */
static void test_pool_width(void)
{
	cpu_set_t all, one;
	unsigned width = cairn_pool_width();
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) {
		tap_skip("the number of threads stays", "one processor only");
		return;
	}
	for (int i = 0; CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof one, &one);
	is_int(cairn_pool_width(), width, "as many threads as at first, whatever the process may use now");
	sched_setaffinity(0, sizeof all, &all);
}

static void test_unpack(void)
{
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	for (int i = 0; i < 20000; i++)
		cairn_buffer_format(&text, "line %d\n", i);
	size_t packed_length, length;
	char *packed = cairn_pack_gzip(cairn_buffer_bytes(&text), &packed_length), *plain;
	bool cut;
	struct cairn_error error;
	ok(cairn_unpack((struct cairn_bytes){packed, packed_length}, &plain, &length, &cut, &error) && !cut &&
		   length == text.length && memcmp(plain, text.data, length) == 0, "gzip, there and back");
	free(plain);
	ok(cairn_unpack((struct cairn_bytes){packed, packed_length / 2}, &plain, &length, &cut, &error) && cut && length > 1000 &&
		   memcmp(plain, text.data, length) == 0, "half of it gives half of it");
	free(plain);
	ok(!cairn_unpack((struct cairn_bytes){"\x1f\x8b\x08", 3}, &plain, &length, &cut, &error), "nothing gives an error");
	char head[1000], *small = cairn_pack_gzip((struct cairn_bytes){text.data, 10}, &length);
	ok(cairn_unpack_head((struct cairn_bytes){packed, packed_length}, head, sizeof head) == sizeof head &&
		   memcmp(head, text.data, sizeof head) == 0, "the head of it");
	ok(cairn_unpack_head((struct cairn_bytes){small, length}, head, sizeof head) == 10 && memcmp(head, text.data, 10) == 0,
	   "all of what is shorter than a head");
	ok(cairn_unpack_head((struct cairn_bytes){"\x1f\x8b\x08", 3}, head, sizeof head) == 0, "and of nothing, nothing");
	free(small);
	free(packed);
	cairn_buffer_free(&text);
}

/* A limit holds to the byte, for every kind of packing, and looking needs none of the memory. */
static void test_unpack_within(void)
{
	enum { size = 3 << 20 };
	char *zeros = calloc(1, size), *packed = malloc(size), *plain;
	size_t zstd_length = ZSTD_compress(packed, size, zeros, size, 1), gzip_length, length;
	char *gzip = cairn_pack_gzip((struct cairn_bytes){zeros, size}, &gzip_length);
	struct cairn_bytes inputs[] = {{gzip, gzip_length}, {packed, zstd_length}};
	bool cut;
	struct cairn_error error;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
		ok(cairn_unpack_fits(inputs[i], size) && !cairn_unpack_fits(inputs[i], size - 1), "it fits its size and no less");
		ok(!cairn_unpack_within(inputs[i], size - 1, &plain, &length, &cut, &error), "one byte beyond the limit is refused");
		ok(cairn_unpack_within(inputs[i], size, &plain, &length, &cut, &error) && !cut && length == size,
		   "at the limit it is whole");
		free(plain);
	}
	ok(cairn_unpack_fits(cairn_bytes_of("abc"), 3) && !cairn_unpack_fits(cairn_bytes_of("abc"), 2),
	   "what is not packed is as long as it is");
	free(gzip);
	free(packed);
	free(zeros);
}

/* Whatever the caller would take, little data is not unpacked into very much. */
static void test_unpack_ratio(void)
{
	enum { size = 41 << 20 };
	char *zeros = calloc(1, size), *packed = malloc(1 << 20), *plain;
	size_t packed_length = ZSTD_compress(packed, 1 << 20, zeros, size, 1), length;
	struct cairn_bytes input = {packed, packed_length};
	bool cut;
	struct cairn_error error;
	ok(!cairn_unpack_fits(input, size) && !cairn_unpack_within(input, size, &plain, &length, &cut, &error),
	   "a few kilobytes do not become 41 MB");
	like_text(error.text, "more than 40 MiB", "as is said");
	free(zeros);
	free(packed);
}

/* The room that data is unpacked into grows by steps of 256 KiB. */
static void test_unpack_full_room(void)
{
	enum { room = 256 << 10 };
	char *zeros = calloc(1, room), *packed = malloc(room), *plain;
	size_t packed_length = ZSTD_compress(packed, room, zeros, room, 1), length;
	bool cut;
	struct cairn_error error;
	ok(cairn_unpack((struct cairn_bytes){packed, packed_length}, &plain, &length, &cut, &error) && !cut && length == room,
	   "zstd data that fills the room exactly is whole");
	free(plain);
	free(zeros);
	free(packed);
}

static void test_file(void)
{
	char folder[] = "/tmp/cairn-test-XXXXXX", path[64], link_path[64];
	struct cairn_error error = {0};
	struct cairn_file file;
	ok(mkdtemp(folder) != NULL, "a folder to work in");
	snprintf(path, sizeof path, "%s/out", folder);
	snprintf(link_path, sizeof link_path, "%s/link", folder);
	ok(!cairn_file_read(&file, path, &error), "a missing file");
	like_text(error.text, "No such file", "is said to be missing");
	ok(!cairn_file_read(&file, folder, &error), "a folder is no file");
	ok(cairn_file_write(path, cairn_bytes_of("hello"), &error), "written");
	ok(symlink("out", link_path) == 0 && cairn_file_write(link_path, cairn_bytes_of("world"), &error), "through a link");
	ok(cairn_file_read(&file, path, &error) && cairn_bytes_equal(file.bytes, cairn_bytes_of("world")), "reaches what it points to");
	cairn_file_close(&file);
	struct rlimit before;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	struct rlimit short_files = {2, before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &short_files);
	ok(!cairn_file_write(path, cairn_bytes_of("half"), &error), "a file that cannot be written to its end");
	setrlimit(RLIMIT_FSIZE, &before);
	like_text(error.text, "File too large", "is an error");
	ok(cairn_file_read(&file, path, &error) && cairn_bytes_equal(file.bytes, cairn_bytes_of("world")), "and changes nothing");
	cairn_file_close(&file);
	ok(cairn_file_write("/dev/null", cairn_bytes_of("x"), &error), "a device is written directly");
	struct stat status;
	ok(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode), "and is still a device");
	ok(!cairn_file_write("/dev/full", cairn_bytes_of("x"), &error), "a full disk");
	like_text(error.text, "No space left", "is said to be full");
	unlink(link_path);
	unlink(path);
	ok(rmdir(folder) == 0, "nothing is left behind");
}

int main(void)
{
	test_error();
	test_arena();
	test_buffer();
	test_hash();
	test_hostile_hash();
	test_cursor();
	test_spans();
	test_utc();
	test_text();
	test_sort();
	test_read();
	test_seconds();
	test_json();
	test_utf8();
	test_pattern();
	test_date();
	test_pool();
	test_pool_width();
	test_unpack();
	test_unpack_ratio();
	test_unpack_full_room();
	test_unpack_within();
	test_file();
	return tap_done();
}
