/* churn_test.c - what is freed again, for a page: the largest first, and within limits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/churn.h"

#include "base/array.h"
#include "unit/report/fixture.h"

enum { paths = 100 };

static size_t count(const struct cairn_buffer *text, const char *part)
{
	size_t found = 0, length = strlen(part);
	for (size_t i = 0; i + length <= text->length; i++)
		found += memcmp(text->data + i, part, length) == 0;
	return found;
}

/* The page's part of so many call paths with names of LETTERS letters; FREED of them freed something. */
static bool page_of(size_t letters, size_t freed, struct cairn_buffer *out)
{
	struct fixture fixture;
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	char *name = cairn_array_zero(letters + 1, 1);
	memset(name, 'n', letters);
	for (int i = 0; i < paths; i++)
		cairn_buffer_format(&text, "main;%s%d 1\n", name, i);
	cairn_buffer_byte(&text, 0);
	fixture_make(&fixture, text.data, NULL);
	fixture.profile.freed = cairn_array_zero(paths, sizeof *fixture.profile.freed);
	fixture.profile.freed_count = paths;
	for (size_t i = 0; i < freed; i++)
		fixture.profile.freed[i] =
			(struct cairn_freed){.samples = 4, .objects = 8, .bytes = 1000 + i, .elsewhere = 1, .lifetimes = {2, 2}};
	out->length = 0;
	bool any = cairn_churn_page(&fixture.view, out);
	free(name);
	cairn_buffer_free(&text);
	fixture_free(&fixture);
	return any;
}

#define CALLER "                                                               main\n"

/* As text, of a profile of ten seconds and of one that does not say how long it took. */
static void test_text(void)
{
	struct fixture fixture;
	struct cairn_shape shape = {0};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	fixture_make(&fixture, "main;take 1\n", NULL);
	struct cairn_freed freed = {.samples = 4, .objects = 25, .bytes = 40960, .elsewhere = 1, .lifetimes = {2, 2}};
	fixture.profile.freed = &freed;
	fixture.profile.freed_count = 1;
	for (int timed = 0; timed < 2; timed++) {
		fixture.profile.facts.start_ns = 1000000000;
		fixture.profile.facts.time_ns = timed ? 11000000000 : 0;
		out.length = 0;
		struct cairn_report report = cairn_report(&fixture.view, &shape, &out, NULL);
		cairn_churn_write(&report);
		cairn_buffer_byte(&out, 0);
		is_text(out.data,
			timed ? "  Freed again    Objects/s  Median life   <1 ms  Other thread  Call path\n"
				"    4.0 KiB/s          2.5      16.4 us  100.0%         25.0%  take\n" CALLER
			      : " Freed in all    Objects/s  Median life   <1 ms  Other thread  Call path\n"
				"     40.0 KiB            -      16.4 us  100.0%         25.0%  take\n" CALLER,
			timed ? "what is freed a second" : "what is freed, if it is not known in which time");
	}
	fixture.profile.freed = NULL;
	fixture_free(&fixture);
	cairn_buffer_free(&out);
}

int main(void)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	ok(page_of(1, paths, &out), "a page of short names");
	is_int(count(&out, "\"bytes\":"), 60, "has sixty rows");
	is_int(count(&out, "\"bytes\":1099,"), 1, "the largest among them");
	is_int(count(&out, "\"bytes\":1039,"), 0, "and not the others");
	is_int(count(&out, "\"other_thread\":0.25,"), 60, "with what another thread freed");
	is_int(count(&out, "\"seconds\":null,"), 1, "how long that took is not known");
	ok(page_of(50000, paths, &out), "a page of names that are very long");
	ok(count(&out, "\"bytes\":") > 2 && out.length < 512 << 10, "has as many rows as fit");
	ok(out.length > 2 && memcmp(out.data + out.length - 3, "}]}", 3) == 0, "and is whole");
	ok(page_of(600000, paths, &out), "one where not even the first row fits");
	is_int(count(&out, "\"rows\":[]}"), 1, "has none");
	ok(!page_of(1, 0, &out), "nothing was freed");
	is_int(out.length, 0, "so there is nothing to show");
	struct fixture fixture;
	fixture_make(&fixture, "main;a 3\n", NULL);
	ok(!cairn_churn_page(&fixture.view, &out) && out.length == 0, "nor where that is not known");
	fixture_free(&fixture);
	test_text();
	cairn_buffer_free(&out);
	return tap_done();
}
