/* live_test.c - the section of samples: where it begins and ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/live.h"

#include "dump/ledger_heap.h"
#include "tap.h"

int main(void)
{
	static const char maps[] = "MAPPED_LIBRARIES:\n1000-2000 r-xp 0 0:0 0 /a\n", end[] = "# cairn trailer 1\n# cairn pid 7\n# cairn end\n";
	static const char sample[] = "# cairn live 0 64 0 512 1 2000 0\n";
	char text[400];
	struct cairn_bytes section;
	struct cairn_live live;

	ok(!cairn_live_section(cairn_bytes_of(maps), &section), "a dump without the section has none");
	ok(!cairn_live_section((struct cairn_bytes){NULL, 0}, &section), "nor has nothing");

	snprintf(text, sizeof text, "%s%s%s%s", maps, CAIRN_LEDGER_SECTION, sample, end);
	ok(cairn_live_section(cairn_bytes_of(text), &section) && cairn_bytes_equal(section, cairn_bytes_of(sample)),
	   "it ends before the trailer");
	ok(cairn_live_next(&section, &live) && live.size == 64 && live.age_us == 2000, "and has its sample");
	ok(!cairn_live_next(&section, &live), "and no other");

	snprintf(text, sizeof text, "%s%s%s", maps, CAIRN_LEDGER_SECTION, end);
	ok(cairn_live_section(cairn_bytes_of(text), &section) && section.length == 0,
	   "without samples it is empty, and the trailer is not in it");

	snprintf(text, sizeof text, "%s%s%s", maps, CAIRN_LEDGER_SECTION, sample);
	ok(cairn_live_section(cairn_bytes_of(text), &section) && cairn_bytes_equal(section, cairn_bytes_of(sample)),
	   "without a trailer it goes on to the end");
	return tap_done();
}
