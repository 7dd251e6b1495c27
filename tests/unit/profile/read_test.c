/* read_test.c - telling formats apart by content.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/unpack.h"
#include "dump/name.h"
#include "profile/read.h"
#include "profile/unsample.h"
#include "tap.h"

#include <stdlib.h>

static const char *refuse(struct cairn_bytes input)
{
	static struct cairn_error error;
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	bool good = cairn_profile_read(&profile, input, "f", NULL, &error);
	cairn_profile_free(&profile);
	return good ? "(accepted)" : error.text;
}

static void test_sniff(void)
{
	is_int(cairn_profile_sniff(cairn_bytes_of("heap_v2/524288\n")), CAIRN_FORMAT_HEAP, "jemalloc");
	is_int(cairn_profile_sniff(cairn_bytes_of("heap profile: 1: 2 [3: 4] @ heapprofile\n")), CAIRN_FORMAT_FLAT, "gperftools");
	is_int(cairn_profile_sniff(cairn_bytes_of("--- symbol\nbinary=x\n")), CAIRN_FORMAT_SYMBOLIZED, "symbolized");
	is_int(cairn_profile_sniff(cairn_bytes_of("---  heap\n")), CAIRN_FORMAT_SECTION, "a section line");
	is_int(cairn_profile_sniff(cairn_bytes_of("main;f 12\nmain;g h 7\n")), CAIRN_FORMAT_FOLDED, "folded");
	is_int(cairn_profile_sniff(cairn_bytes_of("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
						  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx 1\n")),
	       CAIRN_FORMAT_FOLDED, "folded, though it would walk as pprof");
	is_int(cairn_profile_sniff((struct cairn_bytes){"\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24}), CAIRN_FORMAT_CPU, "CPU");
	is_int(cairn_profile_sniff((struct cairn_bytes){"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x01\x61", 11}), CAIRN_FORMAT_PPROF, "pprof");
	static const char later[] = "\x91\x06" "12345678\x8d\x06" "1234\x80\x01\x05\x0a\x04\x08\x01\x10\x02";
	is_int(cairn_profile_sniff((struct cairn_bytes){later, 25}), CAIRN_FORMAT_PPROF, "pprof with fields of a later schema");
	is_int(cairn_profile_sniff((struct cairn_bytes){later, 19}), CAIRN_FORMAT_UNKNOWN, "such fields alone");
	is_int(cairn_profile_sniff(cairn_bytes_of("Dear reader,\nthis is a letter.\n")), CAIRN_FORMAT_UNKNOWN, "a letter");
}

static void test_refusals(void)
{
	like_text(refuse(cairn_bytes_of("")), "it is empty", "an empty file");
	like_text(refuse(cairn_bytes_of("\x7f" "ELF\2\1\1")), "a program or library", "a program");
	like_text(refuse(cairn_bytes_of("<html><body>502")), "web page", "an error page");
	like_text(refuse(cairn_bytes_of("{\"error\": 1}")), "JSON", "JSON");
	like_text(refuse(cairn_bytes_of("Dear reader,\nthis is a letter.\n")), "not a profile Cairn knows", "a letter");
	like_text(refuse(cairn_bytes_of("--- contention\n")), "contention profile has no samples", "a contention profile of nothing");
	like_text(refuse(cairn_bytes_of("--- heap\n--- heap\n--- heap\n--- heap\n--- heap\n--- heap\n")), "nested too deeply",
		  "nesting without end");
	like_text(refuse((struct cairn_bytes){"\x1f\x8b\x08\x00", 4}), "truncated", "a gzip file of four bytes");
}

static void test_packed(void)
{
	struct cairn_error error;
	struct cairn_profile profile;
	size_t length, again;
	static const char text[] = "heap_v2/1\n@ 0x10\n t*: 1: 5 [0: 0]\n\nMAPPED_LIBRARIES:\n";
	char *packed = cairn_pack_gzip(cairn_bytes_of(text), &length);
	cairn_profile_init(&profile);
	ok(cairn_profile_read(&profile, (struct cairn_bytes){packed, length}, "f", NULL, &error) && profile.sample_count == 1,
	   "a dump inside gzip");
	cairn_profile_free(&profile);
	char *twice = cairn_pack_gzip((struct cairn_bytes){packed, length}, &again);
	like_text(refuse((struct cairn_bytes){twice, again}), "compressed twice", "gzip inside gzip");
	free(packed);
	free(twice);
}

static void test_names(void)
{
	struct cairn_dump_name name;
	ok(cairn_dump_name_parse("/tmp/a.b/jeprof.out.4242.17.i17.heap", &name) && name.process_id == 4242 && name.sequence == 17 &&
		   name.kind == 'i',
	   "interval dump");
	ok(cairn_dump_name_parse("x.7564.0.f.heap.gz", &name) && name.process_id == 7564 && name.kind == 'f', "final dump, packed");
	ok(!cairn_dump_name_parse("prof.0001.heap", &name), "gperftools");
	ok(!cairn_dump_name_parse("heap", &name) && !cairn_dump_name_parse("", &name) && !cairn_dump_name_parse("1.2.m3.heap", &name),
	   "others");
}

static void test_unsample(void)
{
	double objects = 2, bytes = 20000;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, 524288, &objects, &bytes);
	ok((int)objects == 105 && (int)bytes == 1058607, "the figures pprof gives");
	objects = 1, bytes = 8;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, 0x1p63, &objects, &bytes);
	is_near(bytes, 0x1p63, 0x1p40, "a tiny share of a huge period loses no precision");
	objects = 10, bytes = 1000;
	cairn_unsample(CAIRN_UNSAMPLE_RATIO, 1000, &objects, &bytes);
	ok(objects == 100 && bytes == 10000, "v1 scales up to the period");
	objects = 0, bytes = 1000;
	cairn_unsample(CAIRN_UNSAMPLE_POISSON, 1000, &objects, &bytes);
	ok(objects == 0 && bytes == 1000, "no objects: untouched");
}

int main(void)
{
	test_sniff();
	test_refusals();
	test_packed();
	test_names();
	test_unsample();
	return tap_done();
}
