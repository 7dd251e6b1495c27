/* dot_test.c - dot text: what is drawn, what is dashed, which edges stay, and that names stay names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/dot.h"

#include "fixture.h"

#include <stdlib.h>

static char *draw_view(const char *folded, const struct cairn_view_options *view, const struct cairn_dot_options *options)
{
	struct fixture fixture;
	struct cairn_buffer out = cairn_buffer(1 << 20);
	struct cairn_error error;
	fixture_make(&fixture, folded, view);
	bool good = fixture.good && cairn_dot_text(&fixture.view, options, &out, &error);
	cairn_buffer_byte(&out, '\0');
	fixture_free(&fixture);
	if (good)
		return out.data;
	cairn_buffer_free(&out);
	return NULL;
}

static char *draw(const char *folded, const struct cairn_dot_options *options)
{
	return draw_view(folded, NULL, options);
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;
	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		found++;
	return found;
}

static void test_graph(void)
{
	char *text = draw("main;a 75\nmain;b 25\n", &(struct cairn_dot_options){0});
	like_text(text, "label=\"a\\nSelf 75 (75.0%)\"", "a function has what it holds, and its share");
	like_text(text, "label=\"main\\nTotal 100 (100.0%)\"", "and what passes through it, where that is more");
	like_text(text, "N1 -> N2 [label=\" 75\"", "a call has what passes through it");
	like_text(text, "class=\"heat9\"", "what passes most has the strongest class, for the dark");
	like_text(text, "3 of 3 functions", "the legend says how much is drawn");
	free(text);
}

/* Percentages are those of the other views: of the whole profile, whatever is shown of it. */
static void test_percentages(void)
{
	static const char folded[] = "main;a 5\nmain;b 95\n";
	struct cairn_view_options focus = {.filter.focus = "^a$"}, relative = {.filter.focus = "^a$", .relative_percentages = true};
	char *text = draw_view(folded, &focus, &(struct cairn_dot_options){0});
	like_text(text, "label=\"a\\nSelf 5 (5.0%)\"", "of a filtered graph, a share is of the whole");
	like_text(text, "label=\"main\\nTotal 5 (5.0%)\"", "what passes through a function, too");
	like_text(text, "class=\"heat9\"", "but the largest that is shown has the strongest colour");
	free(text);
	text = draw_view(folded, &relative, &(struct cairn_dot_options){0});
	like_text(text, "label=\"a\\nSelf 5 (100.0%)\"", "relative percentages are of what is shown");
	free(text);
	text = draw("a;b 10\na;c -9\n", &(struct cairn_dot_options){0});
	like_text(text, "label=\"b\\nSelf 10 (52.6%)\"", "of a change, a share is of all that grew and shrank");
	like_text(text, "label=\"c\\nSelf -9 (-47.4%)\"", "with its sign");
	is_int(count(text, "class=\"grew9\""), 0, "and no part of it has the colour of all");
	free(text);
	text = draw("a;b 10\na;c -9\n", &(struct cairn_dot_options){.plain = true, .unit = "MB"});
	like_text(text, "(1000.0%)", "jeprof's are of the net sum");
	free(text);
}

static void test_left_out(void)
{
	char *text = draw("main;x;leaf 90\nmain;y;leaf 80\n", &(struct cairn_dot_options){.shape = {.node_count = 2}});
	like_text(text, "style=dashed", "a call over what is left out is dashed");
	is_int(count(text, " -> N"), 1, "and one");
	free(text);
	text = draw("main;x;leaf 90\nmain;y;leaf 80\n",
		    &(struct cairn_dot_options){.shape = {.node_count = 2}, .plain = true, .unit = "MB"});
	is_int(count(text, " -> N"), 0, "jeprof draws none");
	free(text);
	ok(!draw("main 5\n", &(struct cairn_dot_options){.shape = {.node_fraction = 2}}), "nothing to draw is a failure");
}

static void test_edges(void)
{
	const char *folded = "main;a;x 50\nmain;b;x 40\nmain;c;x 30\nmain;d 1\n";
	char *text = draw(folded, &(struct cairn_dot_options){.shape = {.edge_fraction = 0.3}});
	is_int(count(text, " -> N"), 6, "below the fraction only each one's largest caller stays");
	free(text);
	text = draw(folded, &(struct cairn_dot_options){.max_degree = 2});
	is_int(count(text, " -> N"), 6, "and where a function has too many callers");
	free(text);
	text = draw(folded, &(struct cairn_dot_options){0});
	is_int(count(text, " -> N"), 7, "else all of them");
	free(text);
}

static void test_names(void)
{
	char *text = draw("a\"] b;c\\N;&lt:;bad\xff;x::y 1\n", &(struct cairn_dot_options){0});
	like_text(text, "label=\"a\\\"] b\\n", "quotes are escaped");
	like_text(text, "label=\"c\\\\N\\n", "so are backslashes");
	like_text(text, "label=\"&amp;lt:\\n", "and what would begin an entity");
	like_text(text, "bad\xef\xbf\xbd", "bytes that are not UTF-8 are replaced");
	like_text(text, "label=\"x::\\ny\\n", "a name is broken where its parts meet");
	free(text);
	char *folded = calloc(1, 100100);
	strcpy(folded, "main;");
	memset(folded + 5, 'n', 100000);
	strcat(folded, " 1\n");
	text = draw(folded, &(struct cairn_dot_options){0});
	ok(text && strlen(text) < 10000, "a very long name is cut");
	free(text);
	free(folded);
}

static void test_change(void)
{
	char *text = draw("main;up 8\nmain;down -6\n", &(struct cairn_dot_options){0});
	like_text(text, "red: grew; blue: shrank", "a change says what its colours mean");
	like_text(text, "fillcolor=\"0.600", "what shrank is blue");
	like_text(text, "fillcolor=\"0.000", "what grew is red");
	free(text);
}

int main(void)
{
	test_graph();
	test_percentages();
	test_left_out();
	test_edges();
	test_names();
	test_change();
	return tap_done();
}
