/* name_test.c - what the names of dumps tell.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/name.h"
#include "tap.h"

static void test_numbered(void)
{
	struct cairn_dump_name name;
	ok(cairn_dump_name_parse("/var/dumps/jeprof.4242.7.i3.heap.gz", &name) && name.process_id == 4242 && name.sequence == 7 &&
		   name.kind == 'i' && cairn_bytes_equal(name.prefix, cairn_bytes_of("/var/dumps/jeprof")),
	   "jemalloc's own name, compressed");
	is_text(cairn_dump_name_occasion(name.kind), "interval", "and what it is written for");
	static const char *const others[] = {"dump.heap", "a.1.2.x3.heap", "a.b.2.i3.heap", "a.1.2.i3.txt", ""};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ok(!cairn_dump_name_parse(others[i], &name), "not one: '%s'", others[i]);
}

static void test_dated(void)
{
	struct tm date;
	ok(cairn_dump_name_date("/d/2026-11-15-04-10-02.auto.heap", &date) && date.tm_year == 126 && date.tm_mon == 10 &&
		   date.tm_mday == 15 && date.tm_hour == 4 && date.tm_min == 10 && date.tm_sec == 2,
	   "RisingWave's name");
	ok(cairn_dump_name_date("redis-4242-2026-11-15T04:10:02-3.heap", &date) && date.tm_sec == 2, "a date behind other numbers");
	static const char *const others[] = {"2026-11-15.heap", "2026-13-15-04-10-02.heap", "2026-11-15-04-10-021.heap",
					     "12026-11-15-04-10-02", "/2026-11-15-04-10-02/a.heap", ""};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ok(!cairn_dump_name_date(others[i], &date), "no date: '%s'", others[i]);
}

static void test_written(void)
{
	char text[96];
	struct cairn_dump_name name;
	struct tm date = {.tm_year = 126, .tm_mon = 10, .tm_mday = 15, .tm_hour = 4, .tm_min = 10, .tm_sec = 2}, read;
	ok(cairn_dump_name_numbered(text, sizeof text, "/var/dumps/jeprof", 4242, 7, 'i'), "a numbered name fits");
	is_text(text, "jeprof.4242.7.i7.heap", "as jemalloc writes it");
	ok(cairn_dump_name_parse(text, &name) && name.process_id == 4242 && name.sequence == 7 && name.kind == 'i', "and reads it");
	ok(!cairn_dump_name_numbered(text, sizeof "jeprof.4242.7.i7.heap" - 1, "jeprof", 4242, 7, 'i'), "a byte too long is refused");
	cairn_dump_name_dated(text, sizeof text, &date, 1, "auto");
	is_text(text, "2026-11-15-04-10-02.auto.heap", "a dated name");
	cairn_dump_name_dated(text, sizeof text, &date, 2, "auto");
	is_text(text, "2026-11-15-04-10-02-2.auto.heap", "the second of one second");
	ok(cairn_dump_name_date(text, &read) && read.tm_year == 126 && read.tm_mon == 10 && read.tm_mday == 15 && read.tm_hour == 4 &&
	   read.tm_min == 10 && read.tm_sec == 2, "and its date is read again");
}

static void test_other_writers(void)
{
	char text[96];
	cairn_dump_name_counted(text, sizeof text, 12);
	is_text(text, "000012.heap", "TiKV's name");
	ok(cairn_dump_name_is_counted(text), "which is known");
	static const char *const others[] = {"12.heap", "0000012.heap", "000012.heap.gz", "00001a.heap", ""};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ok(!cairn_dump_name_is_counted(others[i]), "'%s' is none", others[i]);
	ok(cairn_dump_name_is_peak("run.peak.heap") && !cairn_dump_name_is_peak("peak.heap"), "the highest moment of a run");
	is_int((int)cairn_dump_name_service("api-7-host-20261118T052105Z-last.heap", 7).length, 3, "the service is before the PID");
	is_int((int)cairn_dump_name_service("api-71-host.heap", 7).length, 0, "and not before another number");
}

int main(void)
{
	test_other_writers();
	test_numbered();
	test_written();
	test_dated();
	return tap_done();
}
