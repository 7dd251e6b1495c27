/* graph_svg.c - adds the style and the script to the picture.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/graph_svg.h"

extern const char cairn_graph_script[];

static const char light[] =
	"<style>\n:root{background:#fff}.control{cursor:pointer}.control rect{fill:#fff;stroke:#c9c6c0}.control:hover rect{fill:#f1efeb}"
	".control:focus{outline:none}.control:focus-visible rect{stroke:#1b6b5f;stroke-width:2}"
	".control text{text-anchor:middle;font:14px system-ui,sans-serif;fill:#20242a;pointer-events:none}\n"
	"svg:focus{outline:none}.graph>polygon{fill:none}\n@media(prefers-color-scheme:dark){:root{background:#1b1e22}"
	"text{fill:#e8e6e2}.node polygon,.node path{fill:#2a2e34;stroke:#5b616a}.node polyline{stroke:#5b616a}"
	".edge path{stroke:#8b9098}.edge polygon{fill:#8b9098;stroke:#8b9098}"
	".control rect{fill:#22262b;stroke:#4a5058}.control:hover rect{fill:#30353c}.control text{fill:#e8e6e2}\n";

/* The larger the share, the stronger the colour. */
static void write_dark(struct cairn_buffer *out)
{
	static const struct {
		const char *name;
		int hue;
	} kinds[] = {{"heat", 29}, {"grew", 8}, {"shrank", 213}};
	for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
		for (int shade = 0; shade < CAIRN_GRAPH_SHADES; shade++) {
			const char *name = kinds[kind].name;
			int hue = kinds[kind].hue, step = 100 * shade / (CAIRN_GRAPH_SHADES - 1);
			cairn_buffer_format(out, ".node.%s%d polygon,.node.%s%d path{fill:hsl(%d %d%% %d%%);stroke:hsl(%d %d%% %d%%)}",
					    name, shade, name, shade, hue, 10 + step * 40 / 100, 18 + step * 12 / 100, hue,
					    20 + step * 50 / 100, 40 + step * 18 / 100);
			cairn_buffer_format(
				out, ".edge.%s%d path{stroke:hsl(%d %d%% %d%%)}.edge.%s%d polygon{fill:hsl(%d %d%% %d%%);stroke:none}\n",
				name, shade, hue, 12 + step * 60 / 100, 50 + step * 12 / 100, name, shade, hue, 12 + step * 60 / 100,
				50 + step * 12 / 100);
		}
}

static void put(struct cairn_buffer *out, const char *from, const char *to)
{
	cairn_buffer_append(out, from, (size_t)(to - from));
}

void cairn_graph_svg(struct cairn_bytes drawn, struct cairn_buffer *out)
{
	const char *end = drawn.data + drawn.length, *start = memmem(drawn.data, drawn.length, "<svg", 4);
	const char *inside = start ? memchr(start, '>', (size_t)(end - start)) : NULL, *close = NULL;
	for (const char *at = end - 6; inside && at > inside && !close; at--)
		close = memcmp(at, "</svg>", 6) == 0 ? at : NULL;
	if (!close) {
		cairn_buffer_append(out, drawn.data, drawn.length);
		return;
	}
	put(out, drawn.data, inside + 1);
	cairn_buffer_byte(out, '\n');
	cairn_buffer_text(out, light);
	write_dark(out);
	cairn_buffer_text(out, "}\n</style>");
	put(out, inside + 1, close);
	cairn_buffer_text(out, "<script><![CDATA[\n");
	cairn_buffer_text(out, cairn_graph_script);
	cairn_buffer_text(out, "]]></script>\n");
	put(out, close, end);
}
