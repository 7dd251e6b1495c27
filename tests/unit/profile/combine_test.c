/* combine_test.c - sums and differences.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/combine.h"
#include "profile/filter.h"
#include "profile/read.h"
#include "tap.h"

#include <stdlib.h>

static struct cairn_error error;

static struct cairn_profile dump(const char *text)
{
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	ok(cairn_profile_read(&profile, cairn_bytes_of(text), "x", NULL, &error), "read");
	return profile;
}

/* Two runs of one program, mapped at different places. */
static const char first_run[] = "heap_v2/1\n@ 0x401010 0x401020\n t*: 1: 1000 [0: 0]\n@ 0x401030\n t*: 1: 500 [0: 0]\n\nMAPPED_LIBRARIES:\n"
				"400000-500000 r-xp 00000000 fd:01 1 /bin/app\n";
static const char second_run[] = "heap_v2/1\n@ 0x7f1010 0x7f1020\n t*: 1: 3000 [0: 0]\n@ 0x7f1040\n t*: 1: 70 [0: 0]\n\nMAPPED_LIBRARIES:\n"
				 "7f0000-8f0000 r-xp 00000000 fd:01 1 /bin/app\n";

static double value_at(const struct cairn_profile *profile, uint64_t file_offset)
{
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct cairn_location *leaf = &profile->locations[profile->stacks[profile->samples[i].stack]];
		if (cairn_profile_file_offset(profile, leaf) + leaf->is_call == file_offset)
			return cairn_profile_values(profile, i)[profile->default_value];
	}
	return -1;
}

static void test_runs(void)
{
	struct cairn_profile a = dump(first_run), b = dump(second_run), sum, difference;
	struct cairn_combine combine;
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &a, 1, &error) && cairn_combine_add(&combine, &b, 1, &error), "two runs are added");
	cairn_combine_finish(&combine);
	is_int(sum.sample_count, 3, "the same place in the file is the same place");
	is_near(value_at(&sum, 0x1010), 4000, 1e-6, "and is summed");
	is_int(sum.module_count, 1, "one file");

	cairn_profile_init(&difference);
	cairn_combine_start(&combine, &difference);
	ok(cairn_combine_add(&combine, &b, 1, &error) && cairn_combine_add(&combine, &a, -1, &error), "a base is subtracted");
	cairn_combine_finish(&combine);
	is_near(value_at(&difference, 0x1010), 2000, 1e-6, "grown");
	is_near(value_at(&difference, 0x1030), -500, 1e-6, "gone, and kept as negative");
	is_near(value_at(&difference, 0x1040), 70, 1e-6, "new");
	cairn_profile_free(&a);
	cairn_profile_free(&b);
	cairn_profile_free(&sum);
	cairn_profile_free(&difference);
}

static void test_identity(void)
{
	struct cairn_profile a = dump(first_run), b = dump(second_run), sum;
	a.modules[0].build_id = cairn_profile_text(&a, "aaaa");
	b.modules[0].build_id = cairn_profile_text(&b, "bbbb");
	struct cairn_combine combine;
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &a, 1, &error) && cairn_combine_add(&combine, &b, 1, &error), "two builds under one path");
	is_int(sum.sample_count, 4, "have nothing in common");
	cairn_combine_finish(&combine);
	cairn_profile_free(&a);
	cairn_profile_free(&b);
	cairn_profile_free(&sum);
}

static void test_values(void)
{
	struct cairn_profile a = dump("heap_v2/1\n@ 0x10\n t*: 1: 100 [2: 200]\n\nMAPPED_LIBRARIES:\n"), sum;
	struct cairn_profile b = dump("heap_v2/4096\n@ 0x10\n t*: 1: 50 [0: 0]\n\nMAPPED_LIBRARIES:\n");
	struct cairn_combine combine;
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &a, 1, &error) && cairn_combine_add(&combine, &b, -1, &error),
	   "one has accumulated counts, the other not");
	is_int(sum.value_count, 2, "what both have is kept");
	is_text(cairn_profile_string(&sum, sum.value_types[sum.default_value].type), "inuse_space", "the default stays");
	ok(sum.mixed_periods, "and different periods are remembered");
	cairn_combine_finish(&combine);
	cairn_profile_free(&a);
	cairn_profile_free(&b);
	cairn_profile_free(&sum);
}

/* Leaves memory behind that is not zero, for whoever forgets to clear it. */
static void dirty_memory(void)
{
	void *pieces[16];
	for (size_t i = 0; i < 16; i++)
		pieces[i] = memset(malloc(128), 0x41, 128);
	for (size_t i = 0; i < 16; i++)
		free(pieces[i]);
}

static void test_sampled(void)
{
	struct cairn_profile a = dump("heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x10\n"
					"1: 100 [1: 100] @ 0x11\n1: 100 [1: 100] @ 0x12\n\nMAPPED_LIBRARIES:\n"), sum;
	struct cairn_profile b = dump("heap_v2/1\n@ 0x20\n t*: 2: 100 [0: 0]\n@ 0x10\n t*: 3: 50 [0: 0]\n\nMAPPED_LIBRARIES:\n");
	struct cairn_combine combine;
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &a, 1, &error), "a profile that was not sampled");
	dirty_memory();
	ok(cairn_combine_add(&combine, &b, 1, &error), "and one that was");
	double samples = 0;
	for (size_t i = 0; i < sum.sample_count; i++)
		samples += sum.sampled[i];
	is_near(samples, 5, 0, "rest on the samples of that one");
	cairn_combine_finish(&combine);
	cairn_profile_free(&a);
	cairn_profile_free(&b);
	cairn_profile_free(&sum);
}

static void test_filter(void)
{
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	cairn_profile_read(
		&profile,
		cairn_bytes_of("heap_v2/1\n t*: 3: 300 [0: 0]\n t1: 1: 100 [0: 0] net\n t2: 2: 200 [0: 0]\n@ 0x10\n t*: 3: 300 [0: 0]\n"
			       " t1: 1: 100 [0: 0]\n t2: 2: 200 [0: 0]\n\nMAPPED_LIBRARIES:\n"),
		"x", &(struct cairn_read_options){.split_threads = true}, &error);
	ok(!cairn_filter_thread(&profile, "nobody", &error), "a thread that is not there");
	like_text(error.text, "1 (net), 2", "those that are get named");
	ok(cairn_filter_thread(&profile, "net", &error), "by name");
	is_near(cairn_profile_total(&profile, profile.default_value), 100, 1e-6, "its bytes");
	cairn_profile_free(&profile);
}

int main(void)
{
	test_runs();
	test_identity();
	test_values();
	test_sampled();
	test_filter();
	return tap_done();
}
