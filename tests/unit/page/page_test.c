/* page_test.c - the page as a file: filled in, and closed to what names could do.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/page.h"

#include "unit/report/fixture.h"

static size_t count(struct cairn_bytes text, const char *part)
{
	size_t found = 0, length = strlen(part);
	for (size_t i = 0; i + length <= text.length; i++)
		found += memcmp(text.data + i, part, length) == 0;
	return found;
}

int main(void)
{
	struct fixture fixture;
	struct cairn_buffer plain = cairn_buffer(SIZE_MAX), hostile = cairn_buffer(SIZE_MAX);
	fixture_make(&fixture, "main;a 3\n", NULL);
	cairn_page_write(&fixture.view, &(struct cairn_page_options){0}, &plain);
	fixture_free(&fixture);
	fixture_make(&fixture, "</script><script>;@TREE@;<!-- 3\n", &(struct cairn_view_options){.filter = {.hide = "</script>none"}});
	struct cairn_page_growth growth = {.name = cairn_bytes_of("</script>"),
					   .caller = cairn_bytes_of("<!--<script>"),
					   .per_hour = 5,
					   .share = 1,
					   .words = "growing",
					   .sure = "97 %"};
	struct cairn_page_series series = {.summary = "</script> grows",
					   .seconds = 1,
					   .count = 2,
					   .growth = &growth,
					   .growth_count = 1};
	cairn_page_write(&fixture.view,
			 &(struct cairn_page_options){.title = "</title></script>@FACTS@",
						      .series = &series,
						      .churn = cairn_bytes_of("{\"rows\":[{\"name\":\"</script><!--\"}]}\n"),
						      .bill = cairn_bytes_of("{\"process\":\"</script>@TREE@\"}")},
			 &hostile);
	fixture_free(&fixture);

	struct cairn_bytes first = cairn_buffer_bytes(&plain), second = cairn_buffer_bytes(&hostile);
	ok(cairn_bytes_start_with(first, "<!DOCTYPE html>"), "the page is HTML");
	is_int(count(first, "</script>"), 5, "of five script elements");
	is_int(count(second, "</script>"), 5, "whatever the names are");
	is_int(count(second, "<!--"), count(first, "<!--"), "names begin no comment");
	is_int(count(second, "</title>"), 1, "and a title ends where it should");
	is_int(count(first, "script-src 'sha256-"), 1, "a policy lets one script run");
	is_int(count(first, "@FACTS@") + count(first, "@TREE@") + count(first, "@TITLE@"), 0, "nothing is left to fill in");
	is_int(count(first, "\"churn\":") + count(first, "\"bill\":"), 0, "what is not known is not there");
	is_int(count(second, "\"churn\":{\"rows\":[{\"name\":\"\\u003c/script>\\u003c!--\"}]},"), 1, "churn is among the facts");
	is_int(count(second, "\"bill\":{\"process\":\"\\u003c/script>@TREE@\"},"), 1, "and so is the bill");
	cairn_buffer_free(&plain);
	cairn_buffer_free(&hostile);
	return tap_done();
}
