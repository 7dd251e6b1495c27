/* contention_test.c - waits for locks: cycles, counts, settings, old and damaged files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

int main(void)
{
	ok(read_text("--- contention:\ncycles/second = 2000000000\nsampling period = 100\nms since reset = 5\n  4000 3 @ 0x10 0x20\n 6000 "
		     "1 @ 0x30\n"
		     "00400000-00500000 r-xp 00000000 00:00 7 /bin/service\n"),
	   "a contention profile");
	is_int(profile.kind, CAIRN_PROFILE_CONTENTION, "is known as one");
	is_int((long long)profile.sample_count, 2, "with a sample a line");
	is_int((long long)cairn_profile_values(&profile, 0)[0], 300, "waits times the period");
	is_int((long long)cairn_profile_values(&profile, 0)[1], 200000, "cycles times the period, in nanoseconds");
	is_int((long long)profile.samples[0].depth, 2, "and its stack");
	is_int((long long)profile.mapping_count, 1, "the rest is the memory map");
	ok(profile.warning_count == 0, "nothing to complain of");

	ok(read_text("--- contention\nsampling period = 1\n2800 @ 0x10\nslow release of a lock in thread 3  @ 0x10\n5600 2 @ "
		     "0x20\ncycles/second = 1400000000\n"),
	   "without a count, and the clock's rate last");
	is_int((long long)cairn_profile_values(&profile, 0)[0], 1, "a line without a count is one wait");
	is_int((long long)cairn_profile_values(&profile, 1)[1], 4000, "the rate goes for every line");

	ok(read_text("--- Stacks:\n2800 1 @ 0x10\n"), "the old form");
	ok(warned("old form") && warned("2.8 GHz"), "says what is not sure");
	is_int((long long)cairn_profile_values(&profile, 0)[1], 1000, "at 2.8 GHz");
	ok(read_text("--- contention\ncycles/second = 0\nsampling period = 0\ndiscarded samples = 9\n28 1 @ 0x1\n28 1 @ 0x"),
	   "cut short, with settings of nothing");
	ok(warned("the file ends in the middle of a line: it was cut short") && warned("no room for 9"), "which it says");
	ok(read_text("--- contention\ncycles/second = 1\n28 1 @ 0x1\n00-20 r-xp 0 0 0 /bin/a\n30-40 r-xp 0 0 0 /b"),
	   "cut short in its map");
	ok(profile.warning_count == 1 && warned("its memory map ends in the middle of a line"), "which it says as well");
	ok(!read_text("--- contention\ncycles/second = 1\n"), "nothing but settings");
	like_text(error.text, "contention profile has no samples", "is an error");
	ok(!read_text("--- contention\n99999999999999999999999 1 @ 0x1\n"), "a number that does not fit");
	cairn_profile_free(&profile);
	return tap_done();
}
