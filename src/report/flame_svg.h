/* flame_svg.h - a flame graph as one SVG file that needs nothing else: drawn for every viewer, and alive in a browser.
 *
 * Each frame is a <g> with its name and numbers in a <title> and its integer start and weight on its <rect>, as fg:x and fg:w.
 * Nothing that comes from the profile is ever part of the script.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FLAME_SVG_H
#define CAIRN_REPORT_FLAME_SVG_H

#include "base/error.h"
#include "report/flame.h"
#include "report/flame_attributes.h"
#include "report/flame_label.h"
#include "report/palette.h"

struct cairn_flame_svg_options {
	const char *title;      /* NULL for one that fits */
	const char *subtitle;   /* NULL for none */
	const char *notes;      /* kept in a comment; NULL for none */
	const char *count_name; /* what is counted: "bytes" */
	const char *name_type;  /* what the names are, before each name under the picture; NULL for nothing */
	const char *font;       /* a CSS font family; NULL for a fixed-width one */
	double font_size;       /* pixels */
	double letter_width;    /* mean width of a letter, as a part of font_size */
	double width;           /* of the picture */
	bool fluid;             /* in a browser it is as wide as the window; other viewers see the width above */
	bool plain;             /* numbers in full and nothing beside them, as flamegraph.pl has it; no legend */
	double row_height;
	const char *background; /* NULL for one that goes with the palette; else yellow, blue, green, grey or #rrggbb */
	enum cairn_palette_kind palette;
	enum cairn_palette_spread spread;
	struct cairn_palette_map *palette_map; /* NULL for none; colours of new names are added to it */
	const struct cairn_flame_attributes *attributes; /* NULL for none */
	bool inverted;   /* the root is above */
	bool negate;     /* grown is blue */
	bool self_change; /* a frame's colour shows the change of its own stack, not of its Total */
	double factor;   /* numbers are shown times this */
	double least_width; /* pixels; narrower frames are left out */
	double least_part;  /* the same, as a part of the whole */
	int64_t total;      /* what the whole width stands for, where that is more than the sum; 0 for the sum */
};

/* The options as `cairn flame` has them when nothing is asked for. */
struct cairn_flame_svg_options cairn_flame_svg_defaults(void);

/* From a view to its picture: tree, layout, drawing. TREE says how the tree is made, but for what is too narrow to be drawn.
 * Fails, with a sentence, for a background that is none, and where there is nothing to draw. */
bool cairn_flame_svg_view(struct cairn_view *view, const struct cairn_tree_options *tree, const struct cairn_flame_svg_options *options,
			  struct cairn_buffer *out, struct cairn_error *error);

/* A picture that only says MESSAGE, for those who wait for a picture. */
void cairn_flame_svg_message(const char *message, const struct cairn_flame_svg_options *options, struct cairn_buffer *out);

#endif
