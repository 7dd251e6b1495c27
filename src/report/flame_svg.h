/* flame_svg.h - a flame graph as one self-contained SVG file, interactive in a browser.
 *
 * Each frame is a <g> with its name and numbers in a <title> and its integer start and width on its <rect>, as fg:x and fg:w. Nothing
 * from the profile ever becomes part of the script.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FLAME_SVG_H
#define CAIRN_REPORT_FLAME_SVG_H

#include "base/error.h"
#include "report/flame.h"
#include "report/flame_attributes.h"
#include "report/flame_label.h"
#include "report/palette.h"

struct cairn_flame_svg_options {
	const char *title;      /* NULL for the default */
	const char *subtitle;   /* NULL for none */
	const char *notes;      /* written as a comment; NULL for none */
	const char *count_name; /* what is counted: "bytes" */
	const char *name_type;  /* the kind of names, shown before each name under the picture; NULL for none */
	const char *font;       /* a CSS font family; NULL for a fixed-width one */
	double font_size;       /* pixels */
	double letter_width;    /* mean width of a letter, as a fraction of font_size */
	double width;           /* of the picture */
	bool fluid;             /* in a browser the picture is as wide as the window; other viewers use the width above */
	bool plain;             /* full numbers without percentages and no legend, like flamegraph.pl */
	double row_height;
	const char *background; /* NULL for the palette's default; else yellow, blue, green, grey or #rrggbb */
	enum cairn_palette_kind palette;
	enum cairn_palette_spread spread;
	struct cairn_palette_map *palette_map; /* NULL for none; colours of new names are added to it */
	const struct cairn_flame_attributes *attributes; /* NULL for none */
	bool inverted;   /* the root is at the top */
	bool negate;     /* grown is blue */
	bool self_change; /* a frame's colour shows the change of its Self, not of its Total */
	double factor;   /* factor for the numbers shown */
	double least_width; /* pixels; narrower frames are left out */
	double least_part;  /* the same, as a fraction of the total */
	int64_t total;      /* the value of the whole width, if it is more than the sum; 0 for the sum */
};

/* The defaults of `cairn flame`. */
struct cairn_flame_svg_options cairn_flame_svg_defaults(void);

/* Makes the picture of a view: tree, layout, drawing. TREE has the options of the tree, except the smallest size. Fails with a message if
 * the background is invalid or there is nothing to draw. */
bool cairn_flame_svg_view(struct cairn_view *view, const struct cairn_tree_options *tree, const struct cairn_flame_svg_options *options,
			  struct cairn_buffer *out, struct cairn_error *error);

/* A picture that only shows MESSAGE, for clients that expect a picture. */
void cairn_flame_svg_message(const char *message, const struct cairn_flame_svg_options *options, struct cairn_buffer *out);

#endif
