/* callgrind.h - Callgrind's format, for KCachegrind and callgrind_annotate.
 * https://valgrind.org/docs/manual/cl-format.html describes it.
 *
 * What costs something is a line of a function; a call is a line whose cost is the callee's. A function is named by its file and its
 * name, once in full with a number and by the number from then on. Who counts what is the caller's business: a view below, or jeprof.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_CALLGRIND_H
#define CAIRN_REPORT_CALLGRIND_H

#include "report/view.h"

/* One event, the value that is shown. What shrank cannot be written and is left out. */
void cairn_callgrind_write(struct cairn_view *view, struct cairn_buffer *out);

/* The writer itself. */
struct cairn_callgrind {
	struct cairn_buffer *out; /* borrowed */
	uint32_t *files, *functions; /* the numbers of those that were named, 0 for others */
	uint32_t last_file, last_function; /* numbers given so far */
};

/* A file or function is an id below its count, with a name. */
struct cairn_callgrind_name {
	uint32_t id;
	struct cairn_bytes text;
};

void cairn_callgrind_open(struct cairn_callgrind *callgrind, struct cairn_buffer *out, size_t file_count, size_t function_count);
void cairn_callgrind_close(struct cairn_callgrind *callgrind);

/* From here on costs and calls are those of this function. */
void cairn_callgrind_function(struct cairn_callgrind *callgrind, struct cairn_callgrind_name file, struct cairn_callgrind_name function);
/* VALUE on LINE of that function. */
void cairn_callgrind_cost(struct cairn_callgrind *callgrind, uint32_t line, double value);
/* COUNT calls from LINE of that function to CALLEE_LINE of another, which take VALUE. */
void cairn_callgrind_call(struct cairn_callgrind *callgrind, struct cairn_callgrind_name file, struct cairn_callgrind_name function,
			  uint32_t callee_line, double count, uint32_t line, double value);

#endif
