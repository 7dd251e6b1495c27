/* flame_svg.c - draws a flame graph.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/flame_svg.h"

#include "base/text.h"
#include "base/xml.h"

#include <math.h>
#include <stdio.h>

extern const char cairn_flame_script[];

enum { side = 10, name_most = 4096 };

struct drawing {
	const struct cairn_flame *flame;
	const struct cairn_flame_svg_options *options;
	struct cairn_buffer *out;
	struct cairn_buffer label; /* scratch */
	double top, bottom, height; /* of the space above and below the rows; of the picture */
	double scale;  /* pixels for each unit of weight */
	double change_most; /* the change that gets the full colour */
};

struct cairn_flame_svg_options cairn_flame_svg_defaults(void)
{
	return (struct cairn_flame_svg_options){
		.count_name = "samples",
		.font_size = 12,
		.letter_width = 0.61,
		.width = 1200,
		.fluid = true,
		.row_height = 16,
		.factor = 1,
		.least_width = 0.1,
	};
}

/* The width of the root frame. */
static double frame_room(const struct cairn_flame_svg_options *options)
{
	return options->width > 2 * side + 1 ? options->width - 2 * side : 1;
}

/* Writes a length with one decimal place, or none if that is 0. */
static void add_length(struct cairn_buffer *out, double value)
{
	int64_t tenths = llround(value * 10);
	if (tenths < 0) {
		cairn_buffer_byte(out, '-');
		tenths = -tenths;
	}
	cairn_buffer_number(out, tenths / 10);
	if (tenths % 10) {
		cairn_buffer_byte(out, '.');
		cairn_buffer_byte(out, (char)('0' + tenths % 10));
	}
}

static void add_attribute(struct cairn_buffer *out, const char *name, double value)
{
	cairn_buffer_byte(out, ' ');
	cairn_buffer_text(out, name);
	cairn_buffer_text(out, "=\"");
	add_length(out, value);
	cairn_buffer_byte(out, '"');
}

static void add_text(struct cairn_buffer *out, const char *text)
{
	cairn_xml_text(out, cairn_bytes_of(text));
}

/* 1234567 as 1,234,567. */
static void add_count(struct cairn_buffer *out, double value)
{
	char digits[64];
	int length = snprintf(digits, sizeof digits, "%.0f", fabs(value));
	if (value <= -0.5)
		cairn_buffer_byte(out, '-');
	for (int i = 0; i < length && i < (int)sizeof digits; i++) {
		if (i && (length - i) % 3 == 0)
			cairn_buffer_byte(out, ',');
		cairn_buffer_byte(out, digits[i]);
	}
}

/* Styles. */

static const struct background {
	const char *name, *from, *to;
} backgrounds[] = {
	{"yellow", "#eeeeee", "#eeeeb0"},
	{"blue", "#eeeeee", "#e0e0ff"},
	{"green", "#eef2ee", "#e0ffe0"},
	{"grey", "#f8f8f8", "#e8e8e8"},
};

static const char *default_background(enum cairn_palette_kind palette)
{
	switch (palette) {
	case CAIRN_PALETTE_HOT:
	case CAIRN_PALETTE_JAVA:
	case CAIRN_PALETTE_JS:
	case CAIRN_PALETTE_PERL:
		return "yellow";
	case CAIRN_PALETTE_MEM:
		return "green";
	case CAIRN_PALETTE_IO:
	case CAIRN_PALETTE_WAKEUP:
	case CAIRN_PALETTE_CHAIN:
		return "blue";
	default:
		return "grey";
	}
}

static bool is_color(const char *text)
{
	return text[0] == '#' && strlen(text) == 7 && strspn(text + 1, "0123456789abcdefABCDEF") == 6;
}

static bool find_background(const struct cairn_flame_svg_options *options, bool is_change, struct background *found,
			    struct cairn_error *error)
{
	const char *name = options->background ? options->background : is_change ? "grey" : default_background(options->palette);
	for (size_t i = 0; i < sizeof backgrounds / sizeof *backgrounds; i++)
		if (strcmp(backgrounds[i].name, name) == 0) {
			*found = backgrounds[i];
			return true;
		}
	*found = (struct background){name, name, name};
	return is_color(name) || cairn_fail(error, "no background '%s'; there are yellow, blue, green, grey and #rrggbb", name);
}

/* A font family may contain only characters that cannot end a style rule. */
static void add_font(struct cairn_buffer *out, const char *font)
{
	if (!font)
		font = "ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace";
	for (; *font; font++)
		if (strchr(" ,-_'", *font) || (*font >= '0' && *font <= '9') || ((*font | 32) >= 'a' && (*font | 32) <= 'z'))
			cairn_buffer_byte(out, *font);
}

static void write_style(struct drawing *drawing, const struct background *background)
{
	struct cairn_buffer *out = drawing->out;
	double size = drawing->options->font_size;
	cairn_buffer_format(
		out,
		"<defs><linearGradient id=\"background\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1\"><stop class=\"from\" offset=\"5%%\" "
		"stop-color=\"%s\"/><stop class=\"to\" offset=\"95%%\" stop-color=\"%s\"/></linearGradient></defs>\n"
		"<style>\n:root{background:%s}text{font-family:",
		background->from, background->to, background->to);
	add_font(out, drawing->options->font);
	cairn_buffer_text(out, ";font-size:");
	add_length(out, size);
	cairn_buffer_text(out, "px;fill:#000}\n#title,#subtitle{text-anchor:middle}#title{font-size:");
	add_length(out, size + 5);
	cairn_buffer_text(out,
			  "px}#subtitle{opacity:.7}#search,#matched{text-anchor:end}\n"
			  "#search,#unzoom{cursor:pointer;opacity:.6}#search:hover,#search:focus,#search.show,#unzoom:hover,#unzoom:focus{"
			  "opacity:1}\n"
			  "#frames rect{rx:2px}#frames text{pointer-events:none;unicode-bidi:isolate}\n"
			  "#frames>*{cursor:pointer}#frames>*:focus{outline:none}#frames>*:hover rect{stroke:#000;stroke-width:.5}"
			  "#frames>*:focus rect{stroke:#06f;stroke-width:2}\n"
			  ".match rect{fill:#e600e6}.parent{opacity:.5}.hide{display:none}\n"
			  "@media(prefers-color-scheme:dark){:root{background:#1e1f22}text{fill:#ddd}.from,.to{stop-color:#1e1f22}#frames "
			  "text{fill:#000}"
			  "#frames rect{fill-opacity:.82}#frames>*:hover rect{stroke:#fff}#frames>*:focus rect{stroke:#6cf}}\n</style>\n");
}

/* Titles. */

static const uint32_t noise_color = 0xdcdad6;

static bool has_legend(const struct cairn_flame *flame, const struct cairn_flame_svg_options *options)
{
	return flame->is_change && !options->plain;
}

static void add_value(const struct drawing *drawing, double value, struct cairn_buffer *out)
{
	char text[24];
	if (strcmp(drawing->options->count_name, "bytes") == 0) {
		cairn_buffer_text(out, cairn_text_human(value, text));
	} else {
		add_count(out, value);
		cairn_buffer_byte(out, ' ');
		add_text(out, drawing->options->count_name);
	}
}

static void add_title(const struct drawing *drawing, struct cairn_buffer *out)
{
	const struct cairn_flame *flame = drawing->flame;
	add_text(out, drawing->options->title ? drawing->options->title : drawing->options->inverted ? "Icicle Graph" : "Flame Graph");
	if (!flame->is_change)
		return;
	cairn_buffer_text(out, ": grown by ");
	add_value(drawing, flame->grown * drawing->options->factor, out);
	cairn_buffer_text(out, ", shrunk by ");
	add_value(drawing, flame->shrunk * drawing->options->factor, out);
}

static void write_caption(struct drawing *drawing, const char *id, const char *class, double x, double y)
{
	cairn_buffer_format(drawing->out, "<text id=\"%s\"%s", id, class);
	add_attribute(drawing->out, "x", x);
	add_attribute(drawing->out, "y", y);
	cairn_buffer_byte(drawing->out, '>');
}

/* Explains the colours of a change. */
static void write_legend(struct drawing *drawing, double y)
{
	static const struct {
		const char *text;
		double change;
	} keys[] = {{"grew", 1}, {"shrank", -1}, {"unchanged", 0}};
	const struct cairn_flame_svg_options *options = drawing->options;
	struct cairn_buffer *out = drawing->out;
	double x = side, letter = options->font_size * options->letter_width;
	cairn_buffer_text(out, "<g id=\"legend\">");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		bool noise = keys[i].change == 0 && drawing->flame->tree->has_base && drawing->flame->tree->has_errors;
		const char *text = noise ? "unchanged, or within the noise of sampling" : keys[i].text;
		uint32_t color =
			noise ? noise_color : cairn_palette_change(keys[i].change * (options->negate ? -1 : 1), cairn_bytes_of(""));
		cairn_buffer_text(out, "<rect rx=\"2\"");
		add_attribute(out, "x", x);
		add_attribute(out, "y", y - options->font_size + 2);
		add_attribute(out, "width", options->font_size);
		add_attribute(out, "height", options->font_size);
		cairn_buffer_format(out, " fill=\"#%06x\"/><text", color);
		add_attribute(out, "x", x + options->font_size + 5);
		add_attribute(out, "y", y);
		cairn_buffer_format(out, ">%s</text>", text);
		x += options->font_size + 5 + ((double)strlen(text) + 2) * letter;
	}
	cairn_buffer_text(out, "</g>\n");
}

static void write_captions(struct drawing *drawing)
{
	const struct cairn_flame_svg_options *options = drawing->options;
	struct cairn_buffer *out = drawing->out;
	double size = options->font_size, middle = options->width / 2, right = options->width - side,
	       foot = drawing->height - drawing->bottom / 2;
	write_caption(drawing, "title", "", middle, size * 2);
	add_title(drawing, out);
	cairn_buffer_text(out, "</text>\n");
	if (options->subtitle) {
		write_caption(drawing, "subtitle", "", middle, size * 4);
		add_text(out, options->subtitle);
		cairn_buffer_text(out, "</text>\n");
	}
	if (has_legend(drawing->flame, options))
		write_legend(drawing, drawing->top - size / 2 - 3);
	write_caption(drawing, "details", "", side, foot);
	cairn_buffer_text(out, "</text>\n");
	write_caption(drawing, "unzoom", " class=\"hide\"", side, size * 2);
	cairn_buffer_text(out, "Reset zoom</text>\n");
	write_caption(drawing, "search", "", right, size * 2);
	cairn_buffer_text(out, "Search</text>\n");
	write_caption(drawing, "matched", "", right, foot);
	cairn_buffer_text(out, "</text>\n");
}

/* Frames. */

/* NAME without its mark for the kind of code: _[k], _[j], _[i], _[w]. */
static struct cairn_bytes without_mark(struct cairn_bytes name)
{
	if (name.length > 4 && memcmp(name.data + name.length - 4, "_[", 2) == 0 && name.data[name.length - 1] == ']' &&
	    strchr("kwij", name.data[name.length - 2]))
		name.length -= 4;
	return name;
}

static const struct cairn_tree_node *node_of(const struct drawing *drawing, const struct cairn_flame_frame *frame)
{
	return &drawing->flame->tree->nodes[frame->node];
}

static double change_of(const struct drawing *drawing, const struct cairn_tree_node *node)
{
	return drawing->options->self_change ? node->value.self : node->value.total;
}

/* Whether the change of NODE may be due to sampling alone. */
static bool is_noise(const struct drawing *drawing, const struct cairn_tree_node *node)
{
	const struct cairn_tree *tree = drawing->flame->tree;
	struct cairn_spread spread = drawing->options->self_change ? node->self_spread : node->total_spread;
	return tree->has_base && cairn_view_is_noise(tree->view, change_of(drawing, node), spread);
}

static void add_before_and_now(const struct drawing *drawing, const char *title, double value, double base, struct cairn_buffer *out)
{
	if (value == 0 && base == 0)
		return;
	cairn_buffer_format(out, "\n%s ", title);
	add_value(drawing, base, out);
	cairn_buffer_text(out, " before, ");
	add_value(drawing, fmax(0, value + base), out);
	cairn_buffer_text(out, " now");
}

/* Adds a line for everything known besides the value: objects, and the location of the function. */
static void add_facts(const struct drawing *drawing, const struct cairn_tree_node *node, struct cairn_buffer *out)
{
	const struct cairn_tree *tree = drawing->flame->tree;
	const struct cairn_profile *profile = tree->view->profile;
	const struct cairn_entry *entry = &tree->view->entries[node->entry];
	char text[24];
	if (drawing->options->plain)
		return;
	if (tree->has_base) {
		add_before_and_now(drawing, "Total", node->value.total, node->base.total, out);
		add_before_and_now(drawing, "Self", node->value.self, node->base.self, out);
	} else if (node->value.self != 0) {
		cairn_buffer_text(out, "\nSelf ");
		add_value(drawing, node->value.self * drawing->options->factor, out);
	}
	if (is_noise(drawing, node))
		cairn_buffer_text(out, "\nwithin the noise of sampling");
	if (tree->view->options.errors) {
		struct cairn_interval interval = cairn_view_interval(tree->view, node->value.total, node->total_spread);
		cairn_buffer_text(out, tree->has_errors ? "\n95 %: " : "\nits error is not known");
		if (tree->has_errors) {
			add_value(drawing, interval.low, out);
			cairn_buffer_text(out, " to ");
			add_value(drawing, interval.high, out);
		}
	}
	if (tree->has_objects && trunc(node->objects.total) != 0) {
		cairn_buffer_text(out, "\n");
		add_count(out, trunc(node->objects.total));
		cairn_buffer_format(out, fabs(trunc(node->objects.total)) == 1 ? " object of %s" : " objects of %s on average",
				    cairn_text_human(node->value.total / node->objects.total, text));
	}
	if (entry->function == CAIRN_NONE || !profile->functions[entry->function].file)
		return;
	const struct cairn_function *function = &profile->functions[entry->function];
	uint32_t line = tree->view->options.granularity == CAIRN_BY_FUNCTION && function->start_line ? function->start_line : entry->line;
	cairn_buffer_text(out, "\n");
	add_text(out, cairn_profile_string(profile, function->file));
	if (line)
		cairn_buffer_format(out, ":%u", line);
}

static void add_frame_title(const struct drawing *drawing, const struct cairn_flame_frame *frame, struct cairn_bytes name)
{
	const struct cairn_flame_svg_options *options = drawing->options;
	struct cairn_buffer *out = drawing->out;
	double total = drawing->flame->total ? (double)drawing->flame->total : 1, factor = options->factor != 0 ? options->factor : 1;
	name = without_mark(name);
	bool cut = name.length > name_most;
	name.length = cut ? name_most : name.length;
	cairn_xml_text(out, name);
	cairn_buffer_text(out, cut ? "... (" : " (");
	if (options->plain) {
		add_count(out, (double)frame->weight * factor);
		cairn_buffer_byte(out, ' ');
		add_text(out, options->count_name);
	} else {
		add_value(drawing, (double)frame->weight * factor, out);
	}
	if (frame->depth == 0) {
		cairn_buffer_text(out, ", 100%)");
		return;
	}
	cairn_buffer_format(out, ", %.2f%%", 100 * (double)frame->weight / total);
	if (drawing->flame->is_change) {
		double change = change_of(drawing, node_of(drawing, frame)) * (options->negate ? -1 : 1);
		cairn_buffer_format(out, "; %s%.2f%%", change > 0 ? "+" : "", 100 * change / total);
	}
	cairn_buffer_byte(out, ')');
	add_facts(drawing, node_of(drawing, frame), out);
}

static struct cairn_bytes module_of(const struct cairn_tree *tree, const struct cairn_tree_node *node)
{
	const struct cairn_profile *profile = tree->view->profile;
	const struct cairn_entry *entry = &tree->view->entries[node->entry];
	const struct cairn_module *module = cairn_profile_module(profile, &profile->locations[entry->location]);
	return module ? cairn_strings_bytes(&profile->strings, module->path) : (struct cairn_bytes){"", 0};
}

static uint32_t color_of(const struct drawing *drawing, const struct cairn_flame_frame *frame, struct cairn_bytes name)
{
	const struct cairn_flame_svg_options *options = drawing->options;
	const struct cairn_tree_node *node = node_of(drawing, frame);
	if (cairn_bytes_equal(name, cairn_bytes_of("--")))
		return 0xa0a0a0;
	if (cairn_bytes_equal(name, cairn_bytes_of("-")))
		return 0xc8c8c8;
	if (drawing->flame->is_change && frame->depth == 0)
		return cairn_palette_change(0, name);
	if (is_noise(drawing, node))
		return noise_color;
	if (drawing->flame->is_change) {
		double most = options->self_change ? drawing->change_most : (double)frame->weight;
		return cairn_palette_change(change_of(drawing, node) / most * (options->negate ? -1 : 1), name);
	}
	uint32_t color = cairn_palette_color(options->palette, options->spread, name,
					     frame->depth ? module_of(drawing->flame->tree, node) : (struct cairn_bytes){"", 0});
	return options->palette_map ? cairn_palette_map_get(options->palette_map, name, color) : color;
}

static double row_top(const struct drawing *drawing, uint32_t depth)
{
	double row = drawing->options->row_height;
	return drawing->options->inverted ? drawing->top + depth * row : drawing->height - drawing->bottom - (depth + 1) * row + 1;
}

static void write_label(struct drawing *drawing, struct cairn_bytes name, double x, double y, double width)
{
	const struct cairn_flame_svg_options *options = drawing->options;
	double letters = (width - 6) / (options->font_size * options->letter_width);
	drawing->label.length = 0;
	if (letters >= 1)
		cairn_flame_label(without_mark(name), (size_t)letters, &drawing->label);
	if (drawing->label.length == 0)
		return;
	cairn_buffer_text(drawing->out, "<text");
	add_attribute(drawing->out, "x", x + 3);
	add_attribute(drawing->out, "y", y + options->row_height - 5);
	cairn_buffer_byte(drawing->out, '>');
	cairn_xml_text(drawing->out, cairn_buffer_bytes(&drawing->label));
	cairn_buffer_text(drawing->out, "</text>");
}

static void write_frame(struct drawing *drawing, const struct cairn_flame_frame *frame)
{
	struct cairn_buffer *out = drawing->out;
	bool is_root = frame->depth == 0;
	struct cairn_bytes name = is_root ? cairn_bytes_of("") : cairn_tree_name(drawing->flame->tree, frame->node);
	const struct cairn_flame_attribute *attribute = cairn_flame_attributes_find(drawing->options->attributes, name);
	double x = side + (double)frame->start * drawing->scale, y = row_top(drawing, frame->depth);
	double right = side + (double)(frame->start + frame->weight) * drawing->scale;
	x = round(x * 10) / 10;
	const char *element = cairn_flame_attributes_open(attribute, out);
	cairn_buffer_text(out, "<title>");
	if (attribute && attribute->title.length)
		cairn_xml_text(out, attribute->title);
	else
		add_frame_title(drawing, frame, is_root ? cairn_bytes_of("all") : name);
	cairn_buffer_text(out, "</title><rect");
	add_attribute(out, "x", x);
	add_attribute(out, "y", y);
	add_attribute(out, "width", right - x);
	add_attribute(out, "height", drawing->options->row_height - 1);
	cairn_buffer_format(out, " fill=\"#%06x\" fg:x=\"", color_of(drawing, frame, name));
	cairn_buffer_number(out, frame->start);
	cairn_buffer_text(out, "\" fg:w=\"");
	cairn_buffer_number(out, frame->weight);
	cairn_buffer_text(out, "\"/>");
	write_label(drawing, is_root ? cairn_bytes_of("all") : name, x, y, right - x);
	cairn_buffer_format(out, "</%s>\n", element);
}

static void write_head(const struct cairn_flame_svg_options *options, double height, struct cairn_buffer *out)
{
	cairn_buffer_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg version=\"1.1\"");
	add_attribute(out, "width", options->width);
	add_attribute(out, "height", height);
	cairn_buffer_text(out, " viewBox=\"0 0 ");
	add_length(out, options->width);
	cairn_buffer_byte(out, ' ');
	add_length(out, height);
	cairn_buffer_text(out, "\" xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
			       "xmlns:fg=\"http://github.com/jonhoo/inferno\">\n");
	if (options->notes) {
		/* A comment must not contain two dashes. */
		cairn_buffer_text(out, "<!-- NOTES: ");
		for (const char *at = options->notes; *at; at++)
			cairn_xml_text(out, (struct cairn_bytes){*at == '-' && at[1] == '-' ? "=" : at, 1});
		cairn_buffer_text(out, " -->\n");
	}
}

static double largest_change(const struct cairn_flame *flame)
{
	double largest = 1;
	for (size_t i = 0; i < flame->count; i++)
		largest = fmax(largest, fabs(flame->tree->nodes[flame->frames[i].node].value.self));
	return largest;
}

static bool write_picture(const struct cairn_flame *flame, const struct cairn_flame_svg_options *options, struct cairn_buffer *out,
			  struct cairn_error *error)
{
	struct background background;
	if (!find_background(options, flame->is_change, &background, error))
		return false;
	struct drawing drawing = {.flame = flame, .options = options, .out = out, .label = cairn_buffer(SIZE_MAX)};
	drawing.top = options->font_size * ((options->subtitle ? 5 : 3) + (has_legend(flame, options) ? 2 : 0));
	drawing.bottom = options->font_size * 2 + 10;
	drawing.height = drawing.top + drawing.bottom + (flame->depth + 1.0) * options->row_height;
	drawing.scale = frame_room(options) / (flame->total ? (double)flame->total : 1);
	drawing.change_most = flame->is_change ? largest_change(flame) : 0;
	write_head(options, drawing.height, out);
	write_style(&drawing, &background);
	cairn_buffer_text(out, "<rect width=\"100%\" height=\"100%\" fill=\"url(#background)\"/>\n");
	write_captions(&drawing);
	cairn_buffer_format(
		out,
		"<g id=\"frames\" fg:left=\"%d\" fg:width=\"%g\" fg:row=\"%g\" fg:letter=\"%g\" fg:inverted=\"%d\" fg:fluid=\"%d\" "
		"fg:kind=\"",
		side, frame_room(options), options->row_height, options->font_size * options->letter_width, options->inverted,
		options->fluid);
	add_text(out, options->name_type ? options->name_type : "");
	cairn_buffer_text(out, "\">\n");
	for (size_t i = 0; i < flame->count; i++)
		write_frame(&drawing, &flame->frames[i]);
	cairn_buffer_text(out, "</g>\n<script><![CDATA[\n");
	cairn_buffer_text(out, cairn_flame_script);
	cairn_buffer_text(out, "]]></script>\n</svg>\n");
	cairn_buffer_free(&drawing.label);
	return true;
}

bool cairn_flame_svg_view(struct cairn_view *view, const struct cairn_tree_options *tree_options,
			  const struct cairn_flame_svg_options *options, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_tree_options growing = *tree_options;
	growing.least_part = fmax(options->least_part, options->least_width / frame_room(options));
	struct cairn_tree tree;
	struct cairn_flame flame;
	cairn_tree_make(&tree, view, &growing);
	cairn_flame_make(&flame, &tree, &(struct cairn_flame_options){options->total, growing.least_part});
	bool good = flame.total > 0 ? write_picture(&flame, options, out, error) : cairn_fail(error, "nothing to draw: all values are 0");
	cairn_flame_free(&flame);
	cairn_tree_free(&tree);
	return good;
}

void cairn_flame_svg_message(const char *message, const struct cairn_flame_svg_options *options, struct cairn_buffer *out)
{
	write_head(options, options->font_size * 5, out);
	cairn_buffer_text(out, "<text");
	add_attribute(out, "x", options->width / 2);
	add_attribute(out, "y", options->font_size * 2);
	cairn_buffer_text(out, " text-anchor=\"middle\">");
	add_text(out, message);
	cairn_buffer_text(out, "</text>\n</svg>\n");
}
