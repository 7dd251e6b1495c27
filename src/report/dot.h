/* dot.h - the call graph as text for Graphviz.
 *
 * A box is an entry, with a font size by its Self; an arrow is a call, as thick as its total. A call that skips omitted boxes is dashed.
 * Names are escaped, so that no name can become Graphviz syntax or an entity.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_DOT_H
#define CAIRN_REPORT_DOT_H

#include "report/graph.h"

struct cairn_dot_options {
	struct cairn_shape shape; /* selects boxes and arrows; boxes are always ranked by Total */
	uint64_t max_degree;      /* the most arrows into, and out of, one box; 0 for any number. Its largest caller always stays */
	/* Formats VALUE; OUT holds at least 32 bytes and is returned. NULL for the default format. */
	char *(*number)(const void *context, double value, char *out);
	const void *number_context;
	/* Draws like jeprof: no colours, larger letters, dashed means inlined, and no arrow skips omitted boxes. */
	bool plain;
	const char *program; /* for the legend of a plain graph: the program, the unit and the total */
	const char *unit;
	double total;
};

/* Appends the graph of VIEW to OUT. Fails with a message if no box is left. */
bool cairn_dot_text(struct cairn_view *view, const struct cairn_dot_options *options, struct cairn_buffer *out,
		    struct cairn_error *error);

#endif
