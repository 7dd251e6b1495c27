/* list.h - source code with the memory of each line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_LIST_H
#define CAIRN_REPORT_LIST_H

#include "base/pattern.h"
#include "report/source_file.h"
#include "report/top.h"

struct cairn_list {
	struct cairn_list_line {
		struct cairn_top_row row;
		uint32_t line; /* 0 when not known */
	} *lines; /* grouped by routine, in order */
	size_t line_count;
	struct cairn_list_routine {
		const char *name; /* borrowed from the view */
		const char *file; /* as the compiler knew it; "" when not known */
		struct cairn_top_row row; /* a stack counts once, however often it contains the routine; has no entry */
		size_t first, count; /* of the lines */
	} *routines; /* by name, then by file */
	size_t routine_count;
};

/* Finds the functions in VIEW, which must be by lines, whose short or full name matches PATTERN. Returns false if there is none. */
bool cairn_list_make(struct cairn_list *list, struct cairn_view *view, const struct cairn_pattern *pattern);
void cairn_list_free(struct cairn_list *list);

/* Writes the routines, "routines". SEARCH says where source files are. If a file is missing, or newer than the program, a note appears in
 * its place. */
void cairn_list_write(const struct cairn_list *list, struct cairn_report *report, const struct cairn_source_search *search);

#endif
