/* collapsed_test.c - folded text: its lines, what a name may contain, and how numbers are rounded.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/collapsed.h"

#include "unit/report/fixture.h"

static void is_folded(const char *profile, enum cairn_collapsed_columns columns, const char *want, const char *what)
{
	struct fixture fixture;
	struct cairn_buffer out = cairn_buffer(1 << 20);
	ok(fixture_make(&fixture, profile, NULL), "%s: is read", what);
	cairn_collapsed_text(&fixture.view, columns, &out);
	cairn_buffer_byte(&out, 0);
	is_text(out.data, want, "%s", what);
	cairn_buffer_free(&out);
	fixture_free(&fixture);
}

int main(void)
{
	is_folded("b;c 2\na 1\nb;c 3\nb 0\n", CAIRN_COLLAPSED_VALUE, "b;c 5\na 1\n", "equal stacks are one line, and those of nothing are none");
	is_folded("a 0.4\nb 0.4\nc 0.4\nd -1\n", CAIRN_COLLAPSED_VALUE, "b 1\nd -1\n", "fractions add up");
	is_folded("a 0.4\nb 1.6\nc 2.4\n", CAIRN_COLLAPSED_CUT, "b 1\nc 2\n", "or are cut off");
	is_folded("a 3\nb 0.2\n", CAIRN_COLLAPSED_BEFORE_AFTER, "a 0 3\n", "before, and after");
	is_folded("--- symbol\nbinary=/bin/x\n0x0000000000000010 one;two;f\n---\n--- profile\n"
		  "heap profile: 2: 200 [0: 0] @ heapprofile\n2: 200 [0: 0] @ 0x10\n",
		  CAIRN_COLLAPSED_VALUE, "one:two:f 200\n", "a semicolon in a name is a colon");
	return tap_done();
}
