/* flame_test.c - flame graphs as SVG: where boxes lie, their words and their colours.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"
#include "report/flame_svg.h"
#include "tap.h"

struct drawn {
	struct cairn_profile profile;
	struct cairn_view view;
	struct cairn_tree tree;
	struct cairn_flame flame;
};

static void lay_out(struct drawn *drawn, const char *text, struct cairn_tree_options options, double least_part)
{
	struct cairn_error error;
	cairn_profile_init(&drawn->profile);
	if (!cairn_profile_read(&drawn->profile, cairn_bytes_of(text), "test", NULL, &error) ||
	    !cairn_view_make(&drawn->view, &drawn->profile, &(struct cairn_view_options){0}, &error))
		printf("# %s\n", error.text);
	options.least_part = least_part;
	cairn_tree_make(&drawn->tree, &drawn->view, &options);
	cairn_flame_make(&drawn->flame, &drawn->tree, &(struct cairn_flame_options){.least_part = least_part});
}

static void clear(struct drawn *drawn)
{
	cairn_flame_free(&drawn->flame);
	cairn_tree_free(&drawn->tree);
	cairn_view_free(&drawn->view);
	cairn_profile_free(&drawn->profile);
}

/* "name@depth:start+weight" of all frames, in the order of the layout. */
static const char *describe(const struct drawn *drawn)
{
	static char text[2048];
	struct cairn_buffer out = cairn_buffer(sizeof text - 1);
	for (size_t i = 0; i < drawn->flame.count; i++) {
		const struct cairn_flame_frame *frame = &drawn->flame.frames[i];
		struct cairn_bytes name = cairn_tree_name(&drawn->tree, frame->node);
		cairn_buffer_format(&out, "%s%.*s@%u:%lld+%lld", i ? " " : "", (int)name.length, name.data, frame->depth,
				    (long long)frame->start, (long long)frame->weight);
	}
	memcpy(text, out.data, out.length);
	text[out.length] = 0;
	cairn_buffer_free(&out);
	return text;
}

static void test_layout(void)
{
	struct drawn drawn;
	lay_out(&drawn, "a;b 1\na;c 2\na 4\nd 8\na;b 16\n", (struct cairn_tree_options){0}, 0);
	is_text(describe(&drawn), "root@0:0+31 a@1:0+23 d@1:23+8 b@2:4+17 c@2:21+2",
		"a caller's own part comes first, then callees by name");
	ok(!drawn.flame.is_change, "nothing is a change");
	clear(&drawn);

	lay_out(&drawn, "a;b 1\na;c 2\na 4\nd 8\na;b 16\n", (struct cairn_tree_options){0}, 0.2);
	is_text(describe(&drawn), "root@0:0+31 a@1:0+23 d@1:23+8 b@2:4+17", "what is too small is left out, and nothing moves");
	clear(&drawn);

	lay_out(&drawn, "a;b 5\nc;b 6\n", (struct cairn_tree_options){.reversed = true}, 0);
	is_text(describe(&drawn), "root@0:0+11 b@1:0+11 a@2:0+5 c@2:5+6", "reversed, callers stand on what they call");
	clear(&drawn);

	lay_out(&drawn, "a;b 5\na 1\nc 2\na;b 3\n", (struct cairn_tree_options){.order = CAIRN_TREE_BY_TIME}, 0);
	is_text(describe(&drawn), "root@0:0+11 a@1:0+6 b@2:0+5 c@1:6+2 a@1:8+3 b@2:8+3", "in the order of time only neighbours are one");
	clear(&drawn);

	lay_out(&drawn, "a 1\nb 9\nc 5\n", (struct cairn_tree_options){.order = CAIRN_TREE_BY_VALUE}, 0);
	is_text(describe(&drawn), "root@0:0+15 a@1:14+1 b@1:0+9 c@1:9+5", "by value the largest is first");
	clear(&drawn);

	lay_out(&drawn, "a 0\nb;c 0\n", (struct cairn_tree_options){0}, 0);
	is_int(drawn.flame.total, 0, "no weight gives a total of 0");
	clear(&drawn);
}

static void test_order(void)
{
	struct drawn drawn;
	lay_out(&drawn, "f 1\nf(int) 1\ng;x 1\ng::h 1\n", (struct cairn_tree_options){0}, 0);
	is_text(describe(&drawn), "root@0:0+4 f@1:0+1 f(int)@1:1+1 g::h@1:2+1 g@1:3+1 x@2:3+1",
		"siblings are in the order of their lines: a blank before a bracket, a colon before a semicolon");
	clear(&drawn);
}

static void test_change(void)
{
	struct drawn drawn;
	lay_out(&drawn, "a;up 7\na;down -5\n", (struct cairn_tree_options){0}, 0);
	is_text(describe(&drawn), "root@0:0+12 a@1:0+12 down@2:0+5 up@2:5+7", "a change is as wide as it is large");
	ok(drawn.flame.is_change, "and is known for one");
	is_near(drawn.flame.grown, 7, 0, "what grew");
	is_near(drawn.flame.shrunk, 5, 0, "what shrank");
	clear(&drawn);
}

static void test_fractions(void)
{
	struct drawn drawn;
	lay_out(&drawn, "a;x 0.4\na;y 0.4\na;z 0.4\n", (struct cairn_tree_options){0}, 0);
	is_text(describe(&drawn), "root@0:0+1 a@1:0+1 x@2:0+0 y@2:0+1 z@2:1+0",
		"fractions are rounded where frames begin and end, so they still add up");
	clear(&drawn);
}

static void is_label(const char *name, size_t count, const char *want)
{
	struct cairn_buffer out = cairn_buffer(1024);
	cairn_flame_label(cairn_bytes_of(name), count, &out);
	cairn_buffer_byte(&out, 0);
	is_text(out.data, want, "%s in %zu letters", name, count);
	cairn_buffer_free(&out);
}

static void test_labels(void)
{
	is_label("main", 4, "main");
	is_label("main", 3, "");
	is_label("processCommand", 8, "proces..");
	is_label("db::Table::insert", 15, "..Table::insert");
	is_label("db::Table::insert", 10, "..insert");
	is_label("db::Table::insert_many_rows", 10, "insert_m..");
	is_label("std::vector<a::b>::push(c::d)", 14, "..push(c::d)");
	is_label("\xc3\xa4\xc3\xb6\xc3\xbc", 3, "\xc3\xa4\xc3\xb6\xc3\xbc");
	is_label("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4", 6, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4..");
}

static void test_deep(void)
{
	struct cairn_buffer text = cairn_buffer(1 << 20);
	for (int i = 0; i < 4000; i++)
		cairn_buffer_text(&text, i ? ";f" : "f");
	cairn_buffer_text(&text, " 3\n");
	cairn_buffer_byte(&text, 0);
	struct drawn drawn;
	lay_out(&drawn, text.data, (struct cairn_tree_options){0}, 0);
	is_int(drawn.flame.depth, 4000, "4,000 frames deep");
	clear(&drawn);
	cairn_buffer_free(&text);
}

struct box {
	double x, y, width, height;
	long long start, weight;
};

/* The boxes of the frames of PICTURE, in its order: the root is the first. */
static size_t read_boxes(const char *picture, struct box *boxes, size_t most)
{
	size_t count = 0;
	for (const char *at = strstr(picture, "id=\"frames\""); at && (at = strstr(at, "<rect")) && count < most; at++) {
		struct box *box = &boxes[count];
		const char *own = strstr(at, " fg:x=");
		count += own && sscanf(at, "<rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &box->x, &box->y, &box->width, &box->height) == 4 &&
			 sscanf(own, " fg:x=\"%lld\" fg:w=\"%lld\"", &box->start, &box->weight) == 2;
	}
	return count;
}

/* Boxes are as wide as they weigh, each row lies in the one that it stands on, and the picture has room for all of them. */
static void check_geometry(const char *what, bool inverted, const char *folded, long long total, size_t want)
{
	struct drawn drawn;
	lay_out(&drawn, folded, (struct cairn_tree_options){0}, 0);
	struct cairn_flame_svg_options options = cairn_flame_svg_defaults();
	options.inverted = inverted;
	struct cairn_buffer out = cairn_buffer(1 << 20);
	struct cairn_error error;
	ok(cairn_flame_svg_view(&drawn.view, &(struct cairn_tree_options){0}, &options, &out, &error), "%s: is drawn", what);
	cairn_buffer_byte(&out, 0);
	struct box boxes[16];
	size_t count = read_boxes(out.data, boxes, 16);
	is_int(count, want, "%s: a box for each frame", what);
	is_near(count ? boxes[0].width : 0, options.width - 20, 0.05, "%s: the root is as wide as the picture but for its margins", what);
	double height = 0, step = inverted ? options.row_height : -options.row_height, scale = (options.width - 20) / (double)total;
	sscanf(strstr(out.data, " height="), " height=\"%lf", &height);
	bool to_scale = true, inside = true, carried = true;
	for (size_t i = 0; i < count; i++) {
		const struct box *box = &boxes[i];
		to_scale &= fabs(box->x - 10 - scale * (double)box->start) <= 0.1 && fabs(box->width - scale * (double)box->weight) <= 0.1;
		inside &= box->width > 0 && box->height == options.row_height - 1 && box->y > 3 * options.font_size - 1 &&
			  box->y + box->height < height - 2 * options.font_size;
		bool stands = i == 0;
		for (size_t j = 0; j < count; j++)
			stands |= fabs(boxes[j].y + step - box->y) < 0.01 && boxes[j].start <= box->start &&
				  box->start + box->weight <= boxes[j].start + boxes[j].weight;
		carried &= stands;
	}
	ok(to_scale, "%s: boxes begin and end where their weight does", what);
	ok(inside, "%s: none is empty or outside of the room for frames", what);
	ok(carried, "%s: each stands on one that is at least as wide", what);
	cairn_buffer_free(&out);
	clear(&drawn);
}

static void test_geometry(void)
{
	check_geometry("a flame", false, "a;b 1\na;c 2\na 4\nd 8\na;b 16\n", 31, 5);
	check_geometry("icicles", true, "a;b 1\na;c 2\na 4\nd 8\na;b 16\n", 31, 5);
	check_geometry("a change", false, "a;up 7\na;down -5\n", 12, 4);
}

/* The picture of FOLDED in OUT. */
static void draw(const char *folded, struct cairn_buffer *out)
{
	struct drawn drawn;
	struct cairn_error error;
	struct cairn_flame_svg_options options = cairn_flame_svg_defaults();
	lay_out(&drawn, folded, (struct cairn_tree_options){0}, 0);
	out->length = 0;
	ok(cairn_flame_svg_view(&drawn.view, &(struct cairn_tree_options){0}, &options, out, &error), "is drawn");
	cairn_buffer_byte(out, 0);
	clear(&drawn);
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;
	for (; (text = strstr(text, part)); text++)
		found++;
	return found;
}

static void test_words(void)
{
	struct cairn_buffer out = cairn_buffer(1 << 20);
	draw("java_[j] 1\nkernel_[k] 1\nother_[x] 1\n_[i] 1\n", &out);
	like_text(out.data, "<title>java (1 samples, 25.00%)", "the mark of a kind of code is not shown");
	like_text(out.data, "<title>kernel (1 samples, 25.00%)", "of none of them");
	like_text(out.data, "<title>other_[x] (1 samples, 25.00%)", "what is no mark is");
	like_text(out.data, "<title>_[i] (1 samples, 25.00%)", "nor is a name that is a mark and nothing else");
	is_int(count(out.data, "fill=\"#f0f0f0\""), 0, "no frame has the colour of what did not change");
	draw("a;up 7\na;down -5\n", &out);
	is_int(count(out.data, "fill=\"#f0f0f0\" fg:x"), 1, "of a change the root has it, and no other frame");
	cairn_buffer_free(&out);
}

int main(void)
{
	test_layout();
	test_order();
	test_change();
	test_fractions();
	test_labels();
	test_deep();
	test_geometry();
	test_words();
	return tap_done();
}
