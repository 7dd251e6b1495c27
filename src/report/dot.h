/* dot.h - the call graph as text for Graphviz.
 *
 * A box is an entry, its letters as large as what it holds itself; an arrow is a call, as thick as its total. A call
 * that leads over boxes which were left out is dashed. Names are escaped, so no name can become Graphviz's own language or
 * its entities.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_DOT_H
#define CAIRN_REPORT_DOT_H

#include "report/graph.h"

struct cairn_dot_options {
	struct cairn_shape shape; /* which boxes and arrows; boxes are always ranked by Total */
	uint64_t max_degree;      /* arrows into, and out of, one box at most; 0 is any number. Its largest caller always stays */
	/* VALUE as it is shown; OUT holds at least 32 bytes and is returned. NULL for the usual way. */
	char *(*number)(const void *context, double value, char *out);
	const void *number_context;
	/* As jeprof draws: no colours, larger letters, dashed is inlined, and no arrow leads over what was left out. */
	bool plain;
	const char *program; /* for the legend of a plain graph: what was run, what is counted in, and how much in all */
	const char *unit;
	double total;
};

/* Appends the graph of VIEW to OUT. Fails with a sentence where no box is left. */
bool cairn_dot_text(struct cairn_view *view, const struct cairn_dot_options *options, struct cairn_buffer *out,
		    struct cairn_error *error);

#endif
