/* jeprof.h - reports in the columns, widths and order of jemalloc's jeprof, for people and scripts that know them.
 *
 * A report is made of a view with jeprof's names and filters: --retain and --exclude take out addresses by the function they were
 * compiled into; --focus and --ignore choose stacks by address, short name or file:line, and by nothing else.
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

/* Makes the view of PROFILE; of the filters in OPTIONS the four above are jeprof's. Fails with a sentence where an expression
 * does not compile or the profile has no such value; that nothing is left is no failure. */
bool cairn_jeprof_make(struct cairn_jeprof *jeprof, const struct cairn_profile *profile, const struct cairn_view_options *options,
		       struct cairn_error *error);
void cairn_jeprof_free(struct cairn_jeprof *jeprof);

/* VALUE as jeprof writes it: bytes, megabytes or a count. Returns OUT, which holds at least 32 bytes. */
char *cairn_jeprof_number(const struct cairn_jeprof *jeprof, double value, char *out);
/* What that counts: "MB", "B", "objects" or "samples". */
const char *cairn_jeprof_unit(const struct cairn_jeprof *jeprof);

/* The table: all rows, or LIMIT of them where that is not 0. */
void cairn_jeprof_text(struct cairn_jeprof *jeprof, bool by_cum, size_t limit, struct cairn_buffer *out);

/* Source code of the functions that the expression WANTED matches, with what each line holds; the view was made by lines and
 * without inlined functions. */
bool cairn_jeprof_list(struct cairn_jeprof *jeprof, const char *wanted, struct cairn_buffer *out, struct cairn_error *error);

/* Machine code the same way; the view was made by addresses and without inlined functions. */
bool cairn_jeprof_disasm(struct cairn_jeprof *jeprof, const char *wanted, struct cairn_buffer *out, struct cairn_error *error);

/* Calls between lines, for kcachegrind. */
void cairn_jeprof_callgrind(struct cairn_jeprof *jeprof, struct cairn_buffer *out);

#endif
