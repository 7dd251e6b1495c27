/* combine_test.c - sums and differences.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/combine.h"
#include "profile/filter.h"
#include "profile/read.h"
#include "tap.h"

#include <stdio.h>
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

/* A profile of 100 bytes in a function NAME at ADDRESS of /bin/app, mapped at START, with the build-id BUILD; NULL for no name. */
static struct cairn_profile named(uint64_t start, uint64_t address, const char *build, const char *name)
{
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	profile.format = "test";
	cairn_profile_add_value_type(&profile, "inuse_space", "bytes");
	uint32_t module = cairn_profile_add_module(&profile, cairn_profile_text(&profile, "/bin/app"), cairn_profile_text(&profile, build));
	uint32_t mapping =
		cairn_profile_add_mapping(&profile, &(struct cairn_mapping){.start = start, .limit = start + 0x10000, .module = module});
	uint32_t location = cairn_profile_new_location(&profile, &(struct cairn_location){.address = address, .mapping = mapping});
	if (name) {
		uint32_t text = cairn_profile_text(&profile, name);
		uint32_t function = cairn_profile_add_function(&profile, &(struct cairn_function){.name = text, .system_name = text});
		cairn_profile_set_frames(&profile, location, &(struct cairn_frame){.function = function}, 1);
	}
	cairn_profile_stack_room(&profile, 1)[0] = location;
	cairn_profile_add_sample(&profile, 1, 0, (const double[]){100});
	return profile;
}

/* Writes the innermost name and the value of each sample of PROFILE to TEXT. */
static const char *list(const struct cairn_profile *profile, char text[200])
{
	size_t length = 0;
	text[0] = 0;
	for (size_t i = 0; i < profile->sample_count && length < 200; i++) {
		const struct cairn_location *leaf = &profile->locations[profile->stacks[profile->samples[i].stack]];
		const char *name = "?";
		if (leaf->frame_count)
			name = cairn_profile_string(profile, profile->functions[profile->frames[leaf->first_frame].function].name);
		length += (size_t)snprintf(text + length, 200 - length, "%s%s %.0f", i ? ", " : "", name,
					   cairn_profile_values(profile, i)[0]);
	}
	return text;
}

static void test_names(void)
{
	static const struct {
		struct {
			uint64_t start, address;
			const char *build, *name;
		} parts[3];
		const char *expected, *what;
	} cases[] = {
		{{{0x1000, 0, "", "alpha"}, {0x2000, 0, "", "beta"}, {0x3000, 0, "", "alpha"}}, "alpha 200, beta 100",
		 "without an address, a location is what its names are"},
		{{{0x1000, 0, "", "alpha"}, {0x1000, 0, "", NULL},
		{0x2000, 0, "", NULL}}, "alpha 100, ? 200", "and without names nothing else"}, {{{0x1000, 0x1010, "", "alpha"},
		{0x2000, 0x2010, "", "beta"}, {0x2000, 0x2010, "", "beta"}}, "alpha 100, beta 200",
		 "two builds under one path"},
		{{{0x1000, 0x1010, "aa", "alpha"}, {0x2000, 0x2010, "aa", "beta"}, {0x1000, 0x1010, "aa", "alpha"}}, "alpha 200, beta 100",
		 "two functions at one address of a build"},
		{{{0x1000, 0x1010, "", "alpha"}, {0x2000, 0x2010, "", NULL}, {0x3000, 0x3010, "", NULL}}, "alpha 300", "a name serves all"},
		{{{0x1000, 0x1010, "", NULL}, {0x2000, 0x2010, "", "alpha"}, {0x3000, 0x3010, "", "alpha"}}, "alpha 300",
		 "whichever comes first"},
		{{{0x1000, 0x1010, "", NULL}, {0x2000, 0x2010, "", "alpha"}, {0x3000, 0x3010, "", "beta"}}, "alpha 200, beta 100",
		 "the first name, if there are two"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cairn_profile sum;
		struct cairn_combine combine;
		char text[200];
		bool good = true;
		cairn_profile_init(&sum);
		cairn_combine_start(&combine, &sum);
		for (size_t k = 0; k < 3; k++) {
			struct cairn_profile part =
				named(cases[i].parts[k].start, cases[i].parts[k].address, cases[i].parts[k].build, cases[i].parts[k].name);
			good = good && cairn_combine_add(&combine, &part, 1, &error);
			cairn_profile_free(&part);
		}
		cairn_combine_finish(&combine);
		ok(good, "added");
		is_text(list(&sum, text), cases[i].expected, "%s", cases[i].what);
		cairn_profile_free(&sum);
	}
}

/* Code that a process made itself: the offsets in two ranges say nothing. */
static void test_no_file(void)
{
	struct cairn_profile a = dump("heap_v2/1\n@ 0x401010\n t*: 1: 1000 [0: 0]\n@ 0x501010\n t*: 1: 500 [0: 0]\n\nMAPPED_LIBRARIES:\n"
				      "400000-410000 rwxp 00000000 00:00 0 \n500000-510000 rwxp 00000000 00:00 0 \n"),
			     sum;
	struct cairn_combine combine;
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &a, 1, &error) && cairn_combine_add(&combine, &a, 1, &error), "code without a file");
	is_int(sum.sample_count, 2, "is told apart by its address");
	cairn_combine_finish(&combine);
	cairn_profile_free(&a);
	cairn_profile_free(&sum);
}

/* Names that are given to the sum, as by symbolizing it, do not hide its locations from later parts. */
static void test_named_later(void)
{
	struct cairn_profile a = named(0x1000, 0x1010, "", NULL), b = named(0x1000, 0x1010, "", "beta"), sum;
	struct cairn_combine combine;
	char text[200];
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &a, 1, &error), "added without a name");
	uint32_t name = cairn_profile_text(&sum, "alpha");
	uint32_t function = cairn_profile_add_function(&sum, &(struct cairn_function){.name = name, .system_name = name});
	cairn_profile_set_frames(&sum, 0, &(struct cairn_frame){.function = function}, 1);
	ok(cairn_combine_add(&combine, &a, 1, &error) && cairn_combine_add(&combine, &b, 1, &error), "and more once it has one");
	is_text(list(&sum, text), "alpha 200, beta 100", "the same place");
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

static void test_units(void)
{
	struct cairn_profile a = named(0x1000, 0x1010, "", "alpha"), b = named(0x1000, 0x1010, "", "alpha"), sum;
	b.value_types[0].unit = cairn_profile_text(&b, "pages");
	struct cairn_combine combine;
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &a, 1, &error) && !cairn_combine_add(&combine, &b, -1, &error), "one value in two units is refused");
	is_text(error.text, "inuse_space is in different units: \"bytes\" and \"pages\"", "with both of them");
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
	ok(!cairn_filter_no_thread(&profile, "nobody", &error), "a thread that is not there");
	like_text(error.text, "1 (net), 2", "those that are get named");
	cairn_filter_thread(&profile, "net");
	is_near(cairn_profile_total(&profile, profile.default_value), 100, 1e-6, "its bytes, by name");

	struct cairn_profile sum, none = dump(first_run);
	struct cairn_combine combine;
	cairn_filter_thread(&none, "net");
	is_int(none.sample_count, 0, "a profile without that thread has no samples left");
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &profile, 1, &error) && cairn_combine_add(&combine, &none, -1, &error), "it is a base");
	cairn_combine_finish(&combine);
	is_near(cairn_profile_total(&sum, sum.default_value), 100, 1e-6, "that takes nothing away");
	ok(sum.base != NULL, "but makes it a difference");
	cairn_profile_free(&none);
	cairn_profile_free(&sum);
	cairn_profile_free(&profile);
}

int main(void)
{
	test_runs();
	test_identity();
	test_names();
	test_no_file();
	test_named_later();
	test_values();
	test_units();
	test_sampled();
	test_filter();
	return tap_done();
}
