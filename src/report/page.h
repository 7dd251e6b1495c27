/* page.h - the whole report as one HTML file that needs nothing else.
 *
 * The file is a fixed text (report/page/, put together when Cairn is built) with the facts as JSON and the data as base64 of
 * deflated columns (page_data.h). Its policy lets only the script it was built with run, and nothing be fetched.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_PAGE_H
#define CAIRN_REPORT_PAGE_H

#include "report/view.h"

/* One call path that keeps growing, as several dumps show it. Names are borrowed. */
struct cairn_page_growth {
	struct cairn_bytes name;   /* of the function that holds it */
	struct cairn_bytes caller; /* empty where there is none */
	double per_hour;
	double share;      /* of the whole growth */
	double confidence; /* 0 to 1 */
	double now;
};

/* What several dumps show beyond the one the page is of. */
struct cairn_page_series {
	const double *seconds; /* when each dump was taken, after the first */
	const double *totals;
	size_t count;
	const struct cairn_page_growth *growth; /* the fastest first */
	size_t growth_count;
};

struct cairn_page_options {
	const char *title; /* NULL for the name of the process */
	size_t node_most;  /* nodes of the call tree in the file; 0 is CAIRN_PAGE_NODES */
	const struct cairn_page_series *series; /* NULL when there is one dump only */
};

enum { CAIRN_PAGE_NODES = 500000 };

/* Appends the page of VIEW to OUT. */
void cairn_page_write(struct cairn_view *view, const struct cairn_page_options *options, struct cairn_buffer *out);

#endif
