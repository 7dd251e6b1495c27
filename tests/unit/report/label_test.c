/* label_test.c - labels, the size that is derived, and the tag filters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/label.h"

#include "fixture.h"

/* Three threads, one of them named; the stacks' objects are of 100, 5000 and 70000 bytes. */
static const char dump[] =
	"heap_v2/1\n t*: 30: 751000 [0: 0]\n t1: 0: 0 [0: 0] web server\n@ 0x1\n t*: 10: 1000 [0: 0]\n t1: 10: 1000 [0: 0]\n"
	"@ 0x2\n t*: 10: 50000 [0: 0]\n t2: 10: 50000 [0: 0]\n@ 0x3\n t*: 10: 700000 [0: 0]\n t3: 10: 700000 [0: 0]\n";

static void is_left(const char *focus, const char *ignore, double wanted)
{
	struct fixture fixture;
	fixture_make(&fixture, dump, &(struct cairn_view_options){.filter.tag_focus = focus, .filter.tag_ignore = ignore});
	is_near(fixture.good ? fixture.view.shown : -1, wanted, 1e-6, "tagfocus %s, tagignore %s", focus ? focus : "-",
		ignore ? ignore : "-");
	fixture_free(&fixture);
}

static void test_filters(void)
{
	is_left("bytes=4k:", NULL, 750000);
	is_left("bytes=:5000", NULL, 51000);
	is_left("4KiB:64KiB", NULL, 50000);
	is_left("bytes=100", NULL, 1000);
	is_left("bytes=100b:5000", NULL, 51000);
	is_left("thread=web", NULL, 1000);
	is_left("thread:web", NULL, 1000);
	is_left("thread:web,thread_id:1", NULL, 1000);
	is_left("thread:web,thread_id:2", NULL, -1);
	is_left("thread_id=[23]", NULL, 750000);
	is_left(NULL, "thread_id=2", 701000);
	is_left("thread_id=1,2", "web", 50000);
	is_left("absent=x", NULL, -1);
	is_left("(", NULL, -1);
}

static void test_text(void)
{
	struct fixture fixture;
	struct cairn_view_label label;
	char text[16];
	fixture_make(&fixture, dump, NULL);
	size_t count = 0;
	while (cairn_view_label(&fixture.view, 0, count, &label))
		count++;
	is_int(count, 3, "a number, a name and a size");
	ok(label.is_number, "the size is a number");
	cairn_view_label(&fixture.view, 0, 2, &label);
	is_text(cairn_label_text(&label, false, text, sizeof text), "100 B", "as a person reads it");
	is_text(cairn_label_text(&label, true, text, sizeof text), "100 bytes", "to the last byte");
	label = (struct cairn_view_label){.key = cairn_bytes_of("k"), .text = cairn_bytes_of("a text that is longer than its room")};
	is_text(cairn_label_text(&label, false, text, sizeof text), "a text that is ", "what does not fit is cut");
	fixture_free(&fixture);
}

int main(void)
{
	test_filters();
	test_text();
	return tap_done();
}
