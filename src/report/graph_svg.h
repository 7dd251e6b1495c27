/* graph_svg.h - Graphviz's SVG of a call graph, made to be looked at in a browser: pan, zoom, and colours for the dark.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_GRAPH_SVG_H
#define CAIRN_REPORT_GRAPH_SVG_H

#include "base/buffer.h"

enum { CAIRN_GRAPH_SHADES = 10 };

/* Appends DRAWN, with a style after its <svg> and a script before its end, to OUT; as it is where it is no SVG. Nodes and edges of the
 * classes heatN, grewN and shrankN, with N below CAIRN_GRAPH_SHADES, have colours of their own in the dark (report/dot.c writes them). */
void cairn_graph_svg(struct cairn_bytes drawn, struct cairn_buffer *out);

#endif
