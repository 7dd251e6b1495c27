/* flame_heading.h - what a flame graph says of the view it draws.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FLAME_HEADING_H
#define CAIRN_REPORT_FLAME_HEADING_H

#include "report/flame_svg.h"

/* Fills those of title, subtitle and count_name that SVG does not have. The texts are in ARENA. */
void cairn_flame_describe(struct cairn_flame_svg_options *svg, const struct cairn_view *view, struct cairn_arena *arena);

/* The palette by default. */
enum cairn_palette_kind cairn_flame_palette(const struct cairn_view *view);

#endif
