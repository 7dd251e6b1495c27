/* palette_test.c - colours of frames: the same name has the same colour.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/palette.h"
#include "tap.h"

static uint32_t color(enum cairn_palette_kind kind, const char *name)
{
	return cairn_palette_color(kind, CAIRN_SPREAD_SUM, cairn_bytes_of(name), cairn_bytes_of(""));
}

static void test_colors(void)
{
	is_int(color(CAIRN_PALETTE_MEM, "malloc"), 0x00d76c, "mem: the colour that is known for malloc");
	ok(color(CAIRN_PALETTE_HOT, "a") == color(CAIRN_PALETTE_HOT, "a"), "the same name has the same colour");
	ok(color(CAIRN_PALETTE_JAVA, "java/lang/String") != color(CAIRN_PALETTE_RED, "java/lang/String"), "java: packages are not red");
	is_int(color(CAIRN_PALETTE_JAVA, "f_[k]"), color(CAIRN_PALETTE_ORANGE, "f_[k]"), "java: the kernel is orange");
	struct cairn_bytes one = cairn_bytes_of("/lib/one.so"), name = cairn_bytes_of("f");
	ok(cairn_palette_color(CAIRN_PALETTE_MODULE, CAIRN_SPREAD_SUM, name, one) != color(CAIRN_PALETTE_MODULE, "f"),
	   "module: a module has a colour of its own");
	is_int(color(CAIRN_PALETTE_MODULE, "f") >> 16, color(CAIRN_PALETTE_MODULE, "f") & 255, "module: without one it is grey");
	uint32_t grown = cairn_palette_change(1, name), shrunk = cairn_palette_change(-1, name);
	ok(grown >> 16 == 255 && (grown & 255) < 160, "what grew is red");
	ok((shrunk & 255) == 255 && shrunk >> 16 < 160, "what shrank is blue");
	ok(cairn_palette_change(0.1, name) != grown && cairn_palette_change(5, name) == grown, "little is pale, more than all is all");
	is_int(cairn_palette_change(0, name), 0xf0f0f0, "what did not change is grey");
	ok(color(CAIRN_PALETTE_HOT, "\xff""b") != color(CAIRN_PALETTE_HOT, "\xff""w"), "a byte that is no UTF-8 counts alone");
}

static void test_names(void)
{
	enum cairn_palette_kind kind;
	struct cairn_error error;
	ok(cairn_palette_find("mem", &kind, &error) && kind == CAIRN_PALETTE_MEM, "palettes have names");
	ok(!cairn_palette_find("nope", &kind, &error), "others are none");
	like_text(error.text, "hot, mem", "and the sentence lists them");
}

static void test_map(void)
{
	struct cairn_palette_map map = {0};
	cairn_palette_map_read(&map, cairn_bytes_of("b->rgb(1,2,3)\nbad line\nb->rgb(9,9,9)\na->rgb(4,5,6)\nc->rgb(300,0,0)\n"));
	is_int(cairn_palette_map_get(&map, cairn_bytes_of("b"), 7), 0x010203, "a colour that was kept is used");
	is_int(cairn_palette_map_get(&map, cairn_bytes_of("new"), 0x0a0b0c), 0x0a0b0c, "a new name keeps the colour it gets");
	struct cairn_buffer out = cairn_buffer(1000);
	cairn_palette_map_write(&map, &out);
	cairn_buffer_byte(&out, 0);
	is_text(out.data, "a->rgb(4,5,6)\nb->rgb(1,2,3)\nnew->rgb(10,11,12)\n", "written by name");
	cairn_buffer_free(&out);
	cairn_palette_map_free(&map);
}

int main(void)
{
	test_colors();
	test_names();
	test_map();
	return tap_done();
}
