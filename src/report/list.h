/* list.h - source code with what each line of it holds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_LIST_H
#define CAIRN_REPORT_LIST_H

#include "base/json.h"
#include "base/pattern.h"
#include "report/top.h"

struct cairn_list {
	struct cairn_list_line {
		struct cairn_top_row row;
		uint32_t line; /* 0 when not known */
		uint32_t routine; /* in `routines` */
	} *lines; /* those of a routine beside each other, in their order */
	size_t line_count;
	struct cairn_list_routine {
		const char *name; /* borrowed from the view */
		const char *file; /* as the compiler knew it; "" when not known */
		struct cairn_top_row row; /* a stack counts once, however often the routine is in it; has no entry */
		size_t first, count; /* of the lines */
	} *routines; /* by name, then by file */
	size_t routine_count;
};

/* Finds the functions that PATTERN matches in VIEW, which must have been made by lines: by their name, short or full.
 * False when there is none. */
bool cairn_list_make(struct cairn_list *list, struct cairn_view *view, const struct cairn_pattern *pattern);
void cairn_list_free(struct cairn_list *list);

/* SEARCH is where source files are looked for, as in report/code.h. A file that is not there, or is newer than the program,
 * has a note in its place. */
void cairn_list_text(const struct cairn_list *list, const struct cairn_view *view, const char *search, const struct cairn_shape *shape,
		     struct cairn_buffer *out);
/* Adds the member "routines". */
void cairn_list_json(const struct cairn_list *list, const struct cairn_view *view, const char *search, struct cairn_json *json);

#endif
