/* graph_svg.h - makes Graphviz's SVG of a call graph interactive: pan, zoom, and dark colours.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_GRAPH_SVG_H
#define CAIRN_REPORT_GRAPH_SVG_H

#include "base/buffer.h"

enum { CAIRN_GRAPH_SHADES = 10 };

/* Appends DRAWN to OUT, with a style after its <svg> and a script before its end; unchanged if it is not an SVG. Nodes and edges of the
 * classes heatN, grewN and shrankN, with N below CAIRN_GRAPH_SHADES, have their own dark colours (report/dot.c writes the classes). */
void cairn_graph_svg(struct cairn_bytes drawn, struct cairn_buffer *out);

#endif
