/* page.h - the whole report as one HTML file that needs nothing else.
 *
 * The file is a fixed text (report/page/, put together when Cairn is built) with the facts as JSON and the data as base64 of
 * deflated columns (page_data.h). Its policy lets only the script it was built with run, and nothing be fetched.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_PAGE_H
#define CAIRN_REPORT_PAGE_H

#include "report/view.h"

struct cairn_page_options {
	const char *title; /* NULL for the name of the process */
	size_t node_most;  /* nodes of the call tree in the file; 0 is CAIRN_PAGE_NODES */
};

enum { CAIRN_PAGE_NODES = 1000000 };

/* Appends the page of VIEW to OUT. */
void cairn_page_write(struct cairn_view *view, const struct cairn_page_options *options, struct cairn_buffer *out);

#endif
