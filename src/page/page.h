/* page.h - the whole report as one self-contained HTML file.
 *
 * The file is a fixed text (src/page/, assembled when Cairn is built) with the facts as JSON and the data as base64 of compressed columns
 * (data.h). Its content security policy allows only its own script to run, and nothing to be fetched.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_PAGE_H
#define CAIRN_PAGE_PAGE_H

#include "page/data.h"

/* A call path that keeps growing over several dumps. Names are borrowed. */
struct cairn_page_growth {
	struct cairn_bytes name;   /* of the function that holds it */
	struct cairn_bytes caller; /* empty for none */
	double per_hour;
	double share;      /* of the total growth */
	const char *words; /* the verdict as `cairn leaks` prints it: "growing at this rate for 3.5 hours" */
	const char *sure;  /* its confidence: "99.6 %" */
	double now;
};

/* What several dumps, or the ages in one, show beyond the memory in the page's own dump. */
struct cairn_page_series {
	const char *summary;     /* the verdict on the service as a sentence, as `cairn leaks` prints it */
	double observed_seconds; /* how long ages were recorded, if the verdict is based on them; otherwise 0 */
	double seconds;          /* from the first dump to the last */
	size_t count;            /* of dumps */
	const struct cairn_page_growth *growth; /* the fastest first */
	size_t growth_count;
};

/* One dump of a film. */
struct cairn_page_point {
	double seconds; /* since the first */
	double total;
	double low, high;       /* the interval of the total, if the film has errors */
	double resident, limit; /* resident memory of the process and its limit; 0 if unknown */
	uint32_t run;           /* the run of the service that it belongs to */
	uint32_t stretch;       /* the same until the process or sampling begins anew */
};

/* One call path of the chart, or all others together. Names are borrowed. */
struct cairn_page_layer {
	struct cairn_bytes name;
	struct cairn_bytes leaf; /* the function that holds it; empty for all others */
	const char *verdict;     /* as in `cairn leaks --json` */
	const double *values;    /* at each point */
};

/* The content of several dumps, so that the page can show any of them or the change from one to another. The view is of their sum. */
struct cairn_page_film {
	int64_t start_ns; /* when the first was taken */
	const struct cairn_page_point *points;
	size_t point_count;
	const struct cairn_page_layer *layers; /* from the bottom */
	size_t layer_count;
	const char *limit_of; /* whose limit it is: "cgroup", "machine", "machines", or "" if there is none */
	bool has_errors;
	struct cairn_page_cells_source cells;
	size_t from, to; /* for a course: the points that the page compares; equal if it shows one */
};

struct cairn_page_options {
	const char *title; /* NULL for the name of the process */
	size_t node_most;  /* nodes of the call tree in the file; 0 for CAIRN_PAGE_NODES */
	const struct cairn_page_series *series; /* NULL if there is only one dump, without ages */
	const struct cairn_page_film *film;     /* NULL for a page that shows one profile */
	const struct cairn_page_film *course;   /* for such a page: the dumps before and after, without cells; or NULL */
	struct cairn_bytes churn; /* JSON, as cairn_churn_page writes it; empty for none */
	struct cairn_bytes bill;  /* JSON, as `cairn rss --json` prints it; empty for none */
	const char *state; /* the state to show by default, as it follows the # in an address; NULL for the usual one */
};

enum { CAIRN_PAGE_NODES = 500000 };

/* Appends the page of VIEW to OUT. */
void cairn_page_write(struct cairn_view *view, const struct cairn_page_options *options, struct cairn_buffer *out);

/* Appends the content of VIEW to OUT, for a page that is already open: the facts as JSON, the tree and the split (data.h), each preceded by
 * its length as an unsigned LEB128. */
void cairn_page_write_blocks(struct cairn_view *view, const struct cairn_page_options *options, struct cairn_buffer *out);

/* The page for a live process: its text with its style, which can be drawn at once, the script, which requests everything else from the
 * server, and the digest of the style for the policy. */
extern const char cairn_page_live_text[], cairn_page_live_script[], cairn_page_live_digest[];

#endif
