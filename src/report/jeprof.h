/* jeprof.h - reports in the columns, widths and order of jemalloc's jeprof, for people and scripts that know them.
 *
 * A report is made from a view with jeprof's names and filters: --retain and --exclude remove addresses by the function they were
 * compiled into; --focus and --ignore select stacks only by address, short name or file:line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_JEPROF_H
#define CAIRN_REPORT_JEPROF_H

#include "report/jeprof_name.h"
#include "report/top.h"
#include "symbol/find.h"

struct cairn_jeprof {
	struct cairn_view view;
	struct cairn_jeprof_names names;
	double total; /* before the filters */
	bool show_bytes;
	struct cairn_find_options find; /* where programs may be, for --disasm */
};

/* Makes the view of PROFILE; of the filters in OPTIONS, the four above work like jeprof's. Fails with a message if an expression does not
 * compile or the profile has no such value; an empty result is not a failure. */
bool cairn_jeprof_make(struct cairn_jeprof *jeprof, const struct cairn_profile *profile, const struct cairn_view_options *options,
		       struct cairn_error *error);
void cairn_jeprof_free(struct cairn_jeprof *jeprof);

/* Formats VALUE as jeprof does: bytes, megabytes or a count. Returns OUT, which holds at least 32 bytes. */
char *cairn_jeprof_number(const struct cairn_jeprof *jeprof, double value, char *out);
/* The unit of that: "MB", "B", "objects" or "samples". */
const char *cairn_jeprof_unit(const struct cairn_jeprof *jeprof);

/* The table: all rows, or LIMIT of them if that is not 0. */
void cairn_jeprof_text(struct cairn_jeprof *jeprof, bool by_cum, size_t limit, struct cairn_buffer *out);

/* Source code of the functions that match the expression WANTED, with the memory of each line; the view must be by lines and without
 * inlined functions. */
bool cairn_jeprof_list(struct cairn_jeprof *jeprof, const char *wanted, struct cairn_buffer *out, struct cairn_error *error);

/* Machine code in the same way; the view must be by addresses and without inlined functions. */
bool cairn_jeprof_disasm(struct cairn_jeprof *jeprof, const char *wanted, struct cairn_buffer *out, struct cairn_error *error);

/* Calls between lines, for kcachegrind. */
void cairn_jeprof_callgrind(struct cairn_jeprof *jeprof, struct cairn_buffer *out);

#endif
