/* shape.h - how much of a view a report shows, and how it formats numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_SHAPE_H
#define CAIRN_REPORT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_shape {
	bool bytes;           /* plain integers instead of KiB and MiB */
	bool colour;          /* the text is for a terminal that shows colours */
	bool by_cum;          /* sort by Total instead of Self */
	uint64_t node_count;  /* the number of rows; 0 for all */
	double node_fraction; /* leave out rows below this fraction of the total */
	double edge_fraction; /* the same for calls from one row to another */
	bool direct;          /* only direct calls: none that skip omitted rows */
};

#endif
