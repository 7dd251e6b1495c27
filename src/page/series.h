/* series.h - pages of several dumps: of the newest dump with the growing call paths, or of all dumps with a timeline.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PAGE_SERIES_H
#define CAIRN_PAGE_SERIES_H

#include "page/page.h"
#include "series/judge.h"
#include "series/timeline.h"

/* Fills PAGE with the verdict and the call paths that grow fastest. Its arrays are in ARENA; names are borrowed from the views of
 * JUDGEMENT. */
void cairn_page_describe(struct cairn_page_series *page, const struct cairn_judgement *judgement, struct cairn_arena *arena);

/* Makes a FILM of TIMELINE, without cells. LIMIT is the memory limit if the dumps do not have it. ARENA and TIMELINE must
 * outlive the film. */
void cairn_page_film_make(struct cairn_page_film *film, const struct cairn_timeline *timeline, double limit, struct cairn_arena *arena);

struct cairn_page_timeline_options {
	const char *title; /* NULL for the name of the process */
	size_t node_most;  /* nodes of the call tree in the file; 0 for as many as a browser can handle quickly */
	double limit;      /* the memory limit if the dumps do not have it, in bytes; 0 for none */
};

/* Appends the page of TIMELINE, whose view is VIEW, to OUT. */
void cairn_page_write_timeline(struct cairn_view *view, const struct cairn_timeline *timeline,
			       const struct cairn_page_timeline_options *options, struct cairn_buffer *out);

#endif
