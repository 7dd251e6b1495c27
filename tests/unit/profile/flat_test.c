/* flat_test.c - the "heap profile:" family: which rule un-samples what, which values there are, odd and broken lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <stdlib.h>

static double value(size_t sample, const char *type)
{
	uint32_t index = cairn_profile_find_value(&profile, type);
	return index == CAIRN_NONE ? NAN : cairn_profile_values(&profile, sample)[index];
}

/* The live bytes of a line of 2 objects in 1000 bytes under a header that ends in TYPE. */
static double live_under(const char *type, const char *header_pairs)
{
	char text[300];
	snprintf(text, sizeof text, "heap profile: %s%s\n 2: 1000 [ 3: 1500] @ 0x10\n", header_pairs, type);
	return read_text(text) ? value(0, "inuse_space") : NAN;
}

static double poisson(double bytes, double mean, double period)
{
	return bytes / (1 - exp(-mean / period));
}

static void test_rules(void)
{
	is_near(live_under(" @ heapprofile", "2: 1000 [3: 1500]"), 1000, 0, "heapprofile: as it is");
	is_near(profile.period, 1, 0, "and everything was recorded");
	ok(!profile.sampled, "so there is no count of samples");
	is_near(live_under(" @ heap_v2/4096", "2: 1000 [3: 1500]"), poisson(1000, 500, 4096), 1e-6, "heap_v2: Poisson");
	is_near(profile.sampled[0], 2, 0, "and the samples are kept");
	is_near(live_under(" @ heapz_v2/4096", "2: 1000 [3: 1500]"), poisson(1000, 500, 4096), 1e-6, "heapz_v2: the same");
	is_near(live_under(" @ heap_v2/0", "2: 1000 [3: 1500]"), poisson(1000, 500, 131072), 1e-5, "a period of 0 is 128 KiB");
	is_near(live_under(" @ heap_v2", "2: 1000 [3: 1500]"), poisson(1000, 500, 131072), 1e-5, "so is none");
	is_near(live_under(" @ heap_v2/1", "2: 1000 [3: 1500]"), 1000, 0, "a period of 1 records everything");
	is_near(live_under(" @ heap/4096", "2: 1000 [3: 1500]"), poisson(1000, 500, 2048), 1e-6,
		"heap: Go's, which prints twice its rate");
	is_near(live_under(" @ heapz/4096", "2: 1000 [3: 1500]"), 1000 * 2048.0 / 500, 1e-6, "heapz: by ratio, half the period");
	is_near(live_under("", "2: 1000 [2: 1000]"), 1000 * 131072.0 / 500, 1e-6, "no type, equal pairs: by ratio with 128 KiB");
	is_near(live_under("", "2: 1000 [3: 1500]"), 1000, 0, "no type, other pairs: as it is");
	live_under(" @ heap_v2/99999999999999999999999", "2: 1000 [3: 1500]");
	ok(warned("period"), "a period that does not fit is said");
}

static void test_values(void)
{
	ok(read_text("heap profile: 3: 30 [ 5: 70] @ heapprofile\n 3: 30 [ 5: 70] @ 0x10 0x20\n"), "with totals");
	is_int(profile.value_count, 4, "four values");
	is_near(value(0, "alloc_space"), 70, 0, "all there ever was");
	is_int(profile.default_value, 3, "live bytes are shown");
	ok(read_text("heap profile: 3: 30 [ 3: 30] @ heapprofile\n 3: 30 [ 3: 30] @ 0x10\n"), "totals that say nothing");
	ok(profile.value_count == 2 && profile.default_value == 1, "are left out");
	is_text(cairn_profile_string(&profile, profile.value_types[1].type), "inuse_space", "live bytes stay");
	ok(read_text("heap profile: 3: 30 [ 0: 0] @ heapprofile\n 3: 30 [ 0: 0] @ 0x10\n") && profile.value_count == 2,
	   "so are totals of zero");
	ok(read_text("heap profile: 0: 0 [ 0: 0] @ heapprofile\n 3: 30 [ 9: 90] @ 0x10\n") && profile.value_count == 4,
	   "a line may know more than the header");
	ok(read_text("heap profile: 1: 5 [ 1: 5] @ growthz\n 1: 5 [ 1: 5] @ 0x10\n 1: 5 [ 1: 5] @ 0x10\n"), "growth");
	ok(profile.kind == CAIRN_PROFILE_GROWTH && profile.sample_count == 2 && value(0, "space") == 5,
	   "each request is a sample");
	ok(read_text("heap profile: 1: 5 [ 1: 5] @ heapprofile\n -1: -50 [ 3: 90] @ 0x10\n") && value(0, "inuse_space") == -50,
	   "less than nothing");
}

static void test_stacks(void)
{
	ok(read_text(
		   "heap profile: 1: 5 [ 1: 5] @ heapprofile\r\n 1: 5 [ 1: 5] @ 0x00401010 0x402020\r\n   2:    6 [  2:   6] @\r\n"
		   "\r\nMAPPED_LIBRARIES:\r\n00401000-00403000 r-xp 00001000 08:01 99   /opt/service\r\n"),
	   "a dump with CR LF");
	is_int(profile.sample_count, 2, "samples");
	ok(profile.samples[0].depth == 2 && profile.samples[1].depth == 0, "a stack may be empty");
	const struct cairn_location *leaf = &profile.locations[profile.stacks[0]];
	ok(leaf->address == 0x40100f && leaf->is_call, "the leaf is a return address too");
	is_text(cairn_profile_string(&profile, cairn_profile_module(&profile, leaf)->path), "/opt/service", "found in the map");
	const struct cairn_label *label = &profile.labels[profile.label_sets[profile.samples[1].labels].first];
	ok(label->is_number && label->number == 3, "the mean size is a label");
	ok(read_text("heap profile: 0: 0 [ 1: 5] @ heapprofile\n 0: 0 [ 2: 50] @ 0x1\n"), "nothing lives");
	is_int(profile.labels[profile.label_sets[profile.samples[0].labels].first].number, 25, "the size of what lived");
	ok(read_text("heap profile: 1: 5 [ 1: 5] @ heapprofile\n 1: 5 [ 1: 5] @ 0x1\n--- Memory map: ---\n  source=/home\n  "
		     "00000000-00001000: $source/x\n"),
	   "a map in the old form");
	is_text(cairn_profile_string(&profile, profile.modules[0].path), "/home/x", "with a name for a part of the path");
}

static void test_broken(void)
{
	ok(!read_text("heap profile: 1: 5 [ 1"), "half a header");
	like_text(error.text, "x.heap:1: not a heap profile's header", "is refused");
	ok(read_text("heap profile: 1: 5 [ 1: 5] @ heapprofile\n"), "a header alone is a profile");
	is_int(profile.sample_count, 0, "without samples");
	ok(read_text("heap profile: 1: 5 [ 1: 5] @ heapprofile\n 1: 5 [ 1: 5] @ 0x10\n what?\n 99999999999999999999: 1 [1: 1] @ 0x1\n 1: 5 "
		     "[1: 5] @ 0xzz\n"),
	   "lines that make no sense");
	ok(profile.sample_count == 1 && warned("3 lines (the first is line 3)"), "are counted and left out");
	ok(read_text("heap profile: 1: 5 [ 1: 5] @ heapprofile\n 1: 5 [ 1: 5] @ 0x10 0x2"), "a file cut in a stack");
	ok(profile.sample_count == 1 && warned("cut short"), "gives what is there, and says so");
	ok(read_text("heap profile: 1: 5 [ 1: 5] @ heapprofile\n 1: 5 [ 1: 5] @ 0x10\nMAPPED_LIBRARIES:\n00-20 r-xp 0 0 0 /bin/a\n30-40 "
		     "r-xp 0 0 0 /b"),
	   "a file cut in its map");
	ok(profile.warning_count == 1 && warned("x.heap: its memory map ends in the middle of a line"), "says so");
	ok(read_text("heap profile: 1: 5 [ 1: 5] @ heapprofile\n 1: 5 [ 1: 5] @ 0x10\n") && profile.warning_count == 0,
	   "one without a map says nothing");
	ok(read_text("heap profile: 1: 0 [ 0: 7] @ heap_v2/4096\n 1: 0 [ 0: 7] @ 0x10\n"),
	   "objects without bytes, bytes without objects");
	ok(value(0, "inuse_objects") == 1 && value(0, "alloc_space") == 7, "stay as they are");
}

int main(void)
{
	test_rules();
	test_values();
	test_stacks();
	test_broken();
	cairn_profile_free(&profile);
	return tap_done();
}
