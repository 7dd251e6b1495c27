/* shape.h - how much of a view a report shows, and how it writes numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_SHAPE_H
#define CAIRN_REPORT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_shape {
	bool bytes;           /* plain integers instead of KiB and MiB */
	bool colour;          /* the text is for a terminal that shows colours */
	bool by_cum;          /* sort by Total instead of Self */
	uint64_t node_count;  /* rows at most; 0 is all */
	double node_fraction; /* leave out rows with less than this part of the total */
	double edge_fraction; /* the same of calls from one row to another */
	bool direct;          /* only calls between neighbours: none that lead over rows that were left out */
};

#endif
