/* symbolized_test.c - names that come with the profile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <stdlib.h>

static const char *name(uint32_t location, uint32_t frame)
{
	const struct cairn_location *at = &profile.locations[location];
	return frame < at->frame_count
		       ? cairn_profile_string(&profile, profile.functions[profile.frames[at->first_frame + frame].function].name)
		       : NULL;
}

static void test_names(void)
{
	ok(read_text("--- symbol\nbinary=/usr/bin/my service\n0x0000000000000041 outer--mid<a, b>--It::operator--(int)\n0x50 "
		     "caller\n0x0061 0x0061\nodd line\n---\n"
		     "--- heap\nheap profile: 1: 5 [ 1: 5] @ heapprofile\n 1: 5 [ 1: 5] @ 0x42 0x51 0x50 0x62 0x99\n"),
	   "a flat heap profile with names");
	is_text(profile.format, "symbolized heap profile", "what it is");
	is_text(cairn_profile_string(&profile, profile.facts.process), "/usr/bin/my service", "the program");
	is_int(profile.locations[0].frame_count, 3, "inlined names");
	is_text(name(0, 0), "It::operator--(int)", "innermost first; the dashes of an operator stay");
	is_text(name(0, 1), "mid<a, b>", "then what it is inlined in");
	is_text(name(0, 2), "outer", "the function itself last");
	is_text(name(1, 0), "caller", "found by the address of its call");
	is_text(name(2, 0), "caller", "and by the number in the dump, for writers that keep it");
	is_int(profile.locations[3].frame_count, 0, "an address for a name is no name");
	is_int(profile.locations[4].frame_count, 0, "what is not listed has none");
	is_int(profile.warning_count, 1, "the odd line is said");
}

static void test_others(void)
{
	ok(read_text(
		   "--- symbol\nbinary=a\n0x41 f\n---\n--- heap\nheap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x42\n  t*: 1: 100 [0: 0]\n"),
	   "around a jemalloc dump");
	is_text(name(0, 0), "f", "with its name");
	ok(!read_text("--- symbol\nbinary=a\n0x41 f\n"), "cut in the names");
	like_text(error.text, "cut short in its symbol section", "is refused");
	ok(!read_text("--- symbol\n---\n--- symbol\n---\n--- symbol\n---\n--- symbol\n---\n--- symbol\n---\n"),
	   "names within names");
	ok(read_text("--- symbol\n0x1 lock\n---\n--- contention\n1 2 @ 0x1\n"), "around a contention profile");
}

int main(void)
{
	test_names();
	test_others();
	cairn_profile_free(&profile);
	return tap_done();
}
