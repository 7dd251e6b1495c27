/* page.h - the whole report as one HTML file that needs nothing else.
 *
 * The file is a fixed text (src/page/, put together when Cairn is built) with the facts as JSON and the data as base64 of
 * deflated columns (data.h). Its policy lets only the script it was built with run, and nothing be fetched.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_PAGE_H
#define CAIRN_PAGE_PAGE_H

#include "page/data.h"

/* One call path that keeps growing, as several dumps show it. Names are borrowed. */
struct cairn_page_growth {
	struct cairn_bytes name;   /* of the function that holds it */
	struct cairn_bytes caller; /* empty where there is none */
	double per_hour;
	double share;      /* of the whole growth */
	const char *words; /* the verdict, as `cairn leaks` has it: "growing for 3.5 hours" */
	const char *sure;  /* and how sure it is: "97 % sure" */
	double now;
};

/* What several dumps, or the ages in one, show beyond the memory of the one that the page is of. */
struct cairn_page_series {
	const char *summary;     /* the verdict on the service as a sentence, as `cairn leaks` has it */
	double observed_seconds; /* how long ages were recorded, if they count; else 0 */
	const double *seconds; /* when each dump was taken, after the first */
	const double *totals;
	size_t count;
	const struct cairn_page_growth *growth; /* the fastest first */
	size_t growth_count;
};

/* One dump of a film. */
struct cairn_page_point {
	double seconds; /* after the first */
	double total;
	double resident, limit; /* what the process weighed and might weigh; 0 when not known */
	uint32_t run;           /* of the service */
};

/* One call path of the picture, or all others together. Names are borrowed. */
struct cairn_page_layer {
	struct cairn_bytes name;
	struct cairn_bytes leaf; /* the function that holds it; empty for all others */
	const double *values;    /* at each point */
};

/* What several dumps hold, one by one, so that the page can show any of them or what changed from one to another. The view is of their
 * sum. */
struct cairn_page_film {
	int64_t start_ns; /* when the first was taken */
	const struct cairn_page_point *points;
	size_t point_count;
	const struct cairn_page_layer *layers; /* from the bottom */
	size_t layer_count;
	struct cairn_bytes chart; /* the picture of all that, as an <svg> element */
	struct cairn_page_cells_source cells;
	size_t from, to; /* of a course: which points the page is of; equal where it is of one */
};

struct cairn_page_options {
	const char *title; /* NULL for the name of the process */
	size_t node_most;  /* nodes of the call tree in the file; 0 is CAIRN_PAGE_NODES */
	const struct cairn_page_series *series; /* NULL when there is one dump only, without ages */
	const struct cairn_page_film *film;     /* NULL for a page that shows one profile */
	const struct cairn_page_film *course;   /* what came before and after that one, to be looked at only: without cells; or NULL */
	struct cairn_bytes churn; /* JSON, as cairn_churn_page writes it; empty where nothing is known */
	struct cairn_bytes bill;  /* JSON, as `cairn rss --json` prints it; empty where nothing is known */
	const char *state; /* what the page shows when its address does not say: what follows the # of one; NULL for the usual */
};

enum { CAIRN_PAGE_NODES = 500000 };

/* Appends the page of VIEW to OUT. */
void cairn_page_write(struct cairn_view *view, const struct cairn_page_options *options, struct cairn_buffer *out);

/* Appends what the page has of VIEW to OUT, for a page that runs already: the facts as JSON, the tree and the split (data.h), each with
 * its length as an unsigned LEB128 before it. */
void cairn_page_write_blocks(struct cairn_view *view, const struct cairn_page_options *options, struct cairn_buffer *out);

/* The page for a live process: its text with its style, which can be drawn at once, the script that it loads and that asks the server for
 * all else, and the digest of the style for the policy. */
extern const char cairn_page_live_text[], cairn_page_live_script[], cairn_page_live_digest[];

#endif
