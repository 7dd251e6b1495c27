/* tree_test.c - the call tree: sums, order, both directions, a base, and stacks deeper than C's own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/tree.h"

#include "fixture.h"
#include "profile/combine.h"

#include <stdlib.h>

/* The tree in one line: name:self/total(children in order). */
static void draw(const struct cairn_tree *tree, uint32_t node, char *out)
{
	const struct cairn_tree_node *at = &tree->nodes[node];
	sprintf(out + strlen(out), "%s:%.0f/%.0f", cairn_tree_name(tree, node).data, at->value.self, at->value.total);
	if (at->first_child == CAIRN_NONE)
		return;
	strcat(out, "(");
	for (uint32_t child = at->first_child; child != CAIRN_NONE; child = tree->nodes[child].next_sibling) {
		draw(tree, child, out);
		strcat(out, tree->nodes[child].next_sibling != CAIRN_NONE ? " " : "");
	}
	strcat(out, ")");
}

static const char *drawn(struct fixture *fixture, const struct cairn_tree_options *options)
{
	static char text[1024];
	struct cairn_tree tree;
	text[0] = '\0';
	cairn_tree_make(&tree, &fixture->view, options);
	draw(&tree, 0, text);
	for (size_t n = 1; n < tree.count; n++)
		if (tree.nodes[n].parent >= n)
			strcat(text, " a child comes before its parent");
	cairn_tree_free(&tree);
	return text;
}

static void test_shapes(void)
{
	struct fixture fixture;
	ok(fixture_make(&fixture, "main;z;leaf 1\nmain;b 5\nmain;z 2\nmain;z;leaf 4\nother 3\n", NULL), "read");
	is_text(drawn(&fixture, NULL), "root:0/15(main:0/12(b:5/5 z:2/7(leaf:5/5)) other:3/3)", "by name; equal stacks are one");
	is_text(drawn(&fixture, &(struct cairn_tree_options){.order = CAIRN_TREE_BY_VALUE}),
		"root:0/15(main:0/12(z:2/7(leaf:5/5) b:5/5) other:3/3)", "by value");
	is_text(drawn(&fixture, &(struct cairn_tree_options){.reversed = true}),
		"root:0/15(b:0/5(main:5/5) leaf:0/5(z:0/5(main:5/5)) other:3/3 z:0/2(main:2/2))", "reversed");
	fixture_free(&fixture);
	ok(fixture_make(&fixture, "a;a;a 4\na;a 1\n", NULL), "recursion");
	is_text(drawn(&fixture, NULL), "root:0/5(a:0/5(a:1/5(a:4/4)))", "each level is a node of its own");
	fixture_free(&fixture);
}

static void test_base(void)
{
	struct cairn_profile before, now, sum;
	struct cairn_error error;
	struct cairn_combine combine;
	struct cairn_view view;
	struct cairn_tree tree;
	cairn_profile_init(&before);
	cairn_profile_init(&now);
	cairn_profile_init(&sum);
	cairn_profile_read(&before, cairn_bytes_of("a;gone 7\na;b 2\n"), "before", NULL, &error);
	cairn_profile_read(&now, cairn_bytes_of("a;b 5\na;new 1\n"), "now", NULL, &error);
	cairn_combine_start(&combine, &sum);
	ok(cairn_combine_add(&combine, &now, 1, &error) && cairn_combine_add(&combine, &before, -1, &error), "subtracted");
	cairn_combine_finish(&combine);
	ok(cairn_view_make(&view, &sum, &(struct cairn_view_options){0}, &error), "view");
	cairn_tree_make(&tree, &view, NULL);
	ok(tree.has_base, "the tree has a base");
	is_near(tree.nodes[0].value.total, -3, 1e-9, "the difference");
	is_near(tree.nodes[0].base.total, 9, 1e-9, "the base");
	for (uint32_t n = 1; n < tree.count; n++) {
		const struct cairn_tree_node *node = &tree.nodes[n];
		if (strcmp(cairn_tree_name(&tree, n).data, "gone") == 0)
			ok(node->value.self == -7 && node->base.self == 7, "what is gone is still there, as negative");
		if (strcmp(cairn_tree_name(&tree, n).data, "b") == 0)
			ok(node->value.self == 3 && node->base.self == 2, "value and base make up what there is now");
		if (strcmp(cairn_tree_name(&tree, n).data, "new") == 0)
			ok(node->value.self == 1 && node->base.self == 0, "what is new has no base");
	}
	cairn_tree_free(&tree);
	cairn_view_free(&view);
	cairn_profile_free(&before);
	cairn_profile_free(&now);
	cairn_profile_free(&sum);
}

static void test_deep(void)
{
	enum { levels = 200000 };
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	for (int i = 0; i < levels; i++)
		cairn_buffer_text(&text, i ? ";f" : "f");
	cairn_buffer_text(&text, " 1\n");
	cairn_buffer_byte(&text, '\0');
	struct fixture fixture;
	struct cairn_tree tree;
	ok(fixture_make(&fixture, text.data, NULL), "a stack of %d frames", levels);
	cairn_tree_make(&tree, &fixture.view, NULL);
	size_t depth = 0;
	cairn_view_stack(&fixture.view, 0, &depth);
	is_int(tree.count, depth + 1, "one node for each, and the root");
	is_near(tree.nodes[0].value.total, 1, 0, "and its sum");
	cairn_tree_free(&tree);
	fixture_free(&fixture);
	cairn_buffer_free(&text);
}

int main(void)
{
	test_shapes();
	test_base();
	test_deep();
	return tap_done();
}
