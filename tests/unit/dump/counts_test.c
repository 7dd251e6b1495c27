/* counts_test.c - lines of counts, and the total at the head of a dump.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/counts.h"
#include "tap.h"

static void test_lines(void)
{
	struct cairn_counts counts;
	ok(cairn_counts_read(cairn_bytes_of("  t3: 13: 6688 [14: 7000] a worker"), &counts) && !counts.is_all && counts.thread == 3 &&
	   counts.numbers[0] == 13 && counts.numbers[1] == 6688 && counts.numbers[2] == 14 && counts.numbers[3] == 7000 &&
	   cairn_bytes_equal(counts.name, cairn_bytes_of("a worker")), "a thread's");
	static const char *const others[] = {"t*: 1: 2", "t*: 1: 2 [3: 4", "t*: 1: 99999999999999999999 [0: 0]",
					     "x*: 1: 2 [3: 4]", "t: 1: 2 [3: 4]", ""};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ok(!cairn_counts_read(cairn_bytes_of(others[i]), &counts), "none: '%s'", others[i]);
}

static void test_total(void)
{
	uint64_t objects, bytes;
	cairn_counts_total(cairn_bytes_of("heap_v2/524288\n  t*: 28: 151552 [0: 0]\n  t3: 1: 2 [0: 0]\n"), &objects, &bytes);
	ok(objects == 28 && bytes == 151552, "the line of all threads");
	cairn_counts_total(cairn_bytes_of("heap_v2/524288\n@ 0x1\n  t3: 1: 2 [0: 0]\n  t*: 1: 2 [0: 0]\n"), &objects, &bytes);
	ok(objects == 0 && bytes == 0, "only at the head");
}

int main(void)
{
	test_lines();
	test_total();
	return tap_done();
}
