/* folded_test.c - collapsed stacks, with every kind of name and number.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <stdlib.h>

static bool read_folded(const char *text)
{
	cairn_profile_free(&profile);
	cairn_profile_init(&profile);
	struct cairn_reader reader = {.profile = &profile, .name = "x.folded"};
	return cairn_folded_read(&reader, cairn_bytes_of(text), &error);
}

/* The names of a sample, leaf first, as one text. */
static const char *stack(size_t sample)
{
	static char text[500];
	text[0] = 0;
	for (uint32_t i = 0; i < profile.samples[sample].depth; i++) {
		const struct cairn_location *location = &profile.locations[profile.stacks[profile.samples[sample].stack + i]];
		size_t length = strlen(text);
		snprintf(text + length, sizeof text - length, "%s%s", i ? "<" : "",
			 cairn_profile_string(&profile, profile.functions[profile.frames[location->first_frame].function].name));
	}
	return text;
}

static void test_lines(void)
{
	ok(read_folded("main;f;g 12\r\nmain;f 3\n\n  main;operator new [](unsigned long);a 7 b_[i] 0.5\nmain\t-4\nx 1e3\na;;b; 2"),
	   "lines of all kinds");
	is_int(profile.sample_count, 6, "each is a sample");
	is_text(stack(0), "g<f<main", "leaf first");
	is_text(stack(2), "a 7 b_[i]<operator new [](unsigned long)<main", "names keep their blanks, numbers and marks");
	ok(profile.values[0] == 12 && profile.values[2] == 0.5 && profile.values[3] == -4 && profile.values[4] == 1000,
	   "numbers of all kinds");
	is_text(stack(5), "b<<a", "a frame may have no name; nothing follows the last semicolon");
	is_int(profile.location_count, 9, "each name is one location");
	ok(profile.locations[0].mapping == CAIRN_NONE && profile.value_count == 1, "without an address");
	is_text(cairn_profile_string(&profile, profile.value_types[0].type), "samples", "the value");
}

static void test_difference(void)
{
	ok(read_folded("a;b 1 2\nnot a stack\na;c 3.5 0\n"), "two numbers on every line");
	is_int(profile.value_count, 2, "are two values");
	ok(profile.values[0] == 1 && profile.values[1] == 2 && profile.default_value == 1, "before and after, after is shown");
	is_text(stack(1), "c<a", "and not part of the name");
	ok(read_folded("a;b 1 2\na;c 3\n"), "two numbers on some lines");
	is_int(profile.value_count, 1, "are one value");
	is_text(stack(0), "b 1<a", "and a name that ends in a number");
}

static void test_broken(void)
{
	ok(read_folded("a;b 1\nno number\na;b nan\na 0x10\na 1e999\na 1.2.3\n9\n"), "lines without a number");
	is_int(profile.sample_count, 1, "are left out");
	like_text(cairn_profile_string(&profile, profile.warnings[0]), "6 lines (the first is line 2)", "and counted");
	ok(!read_folded("no number\n"), "nothing else is a failure");
	like_text(error.text, "root;caller;leaf 123", "that says what would be right");
}

/* A frame is first guessed to be the one that came after its callee the last time. */
static void test_guesses(void)
{
	ok(read_folded("r;a;x 1\nr;b;x 2\nr;b;x 3\nr;ab;x 4\nb;x 5\nx 6\nr; 7\nr;  8\n"), "callers that are alike");
	is_text(stack(0), "x<a<r", "the first");
	is_text(stack(1), "x<b<r", "another caller");
	is_text(stack(2), "x<b<r", "the same again");
	is_text(stack(3), "x<ab<r", "one whose name ends in the last one's");
	is_text(stack(4), "x<b", "the same without its own caller");
	is_text(stack(5), "x", "none at all");
	is_text(stack(6), "r", "an empty frame is none");
	is_text(stack(7), " <r", "a frame may be a blank");
}

int main(void)
{
	test_lines();
	test_guesses();
	test_difference();
	test_broken();
	cairn_profile_free(&profile);
	return tap_done();
}
