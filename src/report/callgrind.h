/* callgrind.h - Callgrind's format, for KCachegrind and callgrind_annotate, as described in
 * https://valgrind.org/docs/manual/cl-format.html.
 *
 * Costs belong to lines of functions; a call is a line with the cost of the callee. A function is identified by its file and name,
 * written once in full with a number, and by that number afterwards. The caller decides what is counted: a view below, or jeprof.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_CALLGRIND_H
#define CAIRN_REPORT_CALLGRIND_H

#include "report/view.h"

/* One event, the value that is shown. VIEW is by lines, which become those of their functions, unless each entry is to be a function of its
 * own. It must leave out stacks that shrank (drop_negative), which cannot be represented. */
void cairn_callgrind_write(struct cairn_view *view, struct cairn_buffer *out);

/* The writer itself. */
struct cairn_callgrind {
	struct cairn_buffer *out; /* borrowed */
	uint32_t *files, *functions; /* numbers of those already named; 0 for the others */
	uint32_t last_file, last_function; /* numbers given so far */
};

/* A file or function, identified by a number below its count, with its name. */
struct cairn_callgrind_name {
	uint32_t id;
	struct cairn_bytes text;
};

void cairn_callgrind_open(struct cairn_callgrind *callgrind, struct cairn_buffer *out, size_t file_count, size_t function_count);
void cairn_callgrind_close(struct cairn_callgrind *callgrind);

/* The following costs and calls belong to this function. */
void cairn_callgrind_function(struct cairn_callgrind *callgrind, struct cairn_callgrind_name file, struct cairn_callgrind_name function);
/* Writes the cost VALUE on LINE of that function. */
void cairn_callgrind_cost(struct cairn_callgrind *callgrind, uint32_t line, double value);
/* Writes COUNT calls from LINE of that function to CALLEE_LINE of another, with the cost VALUE. */
void cairn_callgrind_call(struct cairn_callgrind *callgrind, struct cairn_callgrind_name file, struct cairn_callgrind_name function,
			  uint32_t callee_line, double count, uint32_t line, double value);

#endif
