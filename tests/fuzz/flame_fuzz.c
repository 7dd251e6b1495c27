/* flame_fuzz.c - any profile to a flame graph, with options that the first byte chooses: always XML, and frames that nest.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"
#include "report/flame_svg.h"
#include "wellformed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_layout(struct cairn_view *view, const struct cairn_tree_options *options)
{
	struct cairn_tree tree;
	struct cairn_flame flame;
	cairn_tree_make(&tree, view, options);
	cairn_flame_make(&flame, &tree, &(struct cairn_flame_options){0});
	for (size_t i = 0; i < flame.count; i++) {
		const struct cairn_flame_frame *frame = &flame.frames[i];
		must(frame->start >= 0 && frame->weight >= 0 && frame->start + frame->weight <= flame.total);
	}
	cairn_flame_free(&flame);
	cairn_tree_free(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_error error;
	struct cairn_profile profile;
	struct cairn_view view = {0};
	if (size < 2)
		return 0;
	cairn_profile_init(&profile);
	if (cairn_profile_read(&profile, (struct cairn_bytes){(const char *)data + 1, size - 1}, "fuzz", NULL, &error) &&
	    cairn_view_make(&view, &profile, &(struct cairn_view_options){0}, &error)) {
		struct cairn_tree_options tree = {.reversed = data[0] & 1, .order = data[0] % 3, .sizes = (data[0] >> 2) % 3};
		struct cairn_flame_svg_options svg = cairn_flame_svg_defaults();
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		svg.palette = (data[0] >> 3) % (CAIRN_PALETTE_DIFF + 1);
		svg.spread = data[0] & 64 ? CAIRN_SPREAD_PREFIX : CAIRN_SPREAD_SUM;
		svg.inverted = data[0] & 128;
		if (cairn_flame_svg_view(&view, &tree, &svg, &out, &error))
			must(xml_wellformed(cairn_buffer_bytes(&out)));
		check_layout(&view, &tree);
		cairn_buffer_free(&out);
	}
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	return 0;
}
