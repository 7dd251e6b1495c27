/* collapsed.h - folded text, which flame graph tools read: one line for each stack, root to leaf, with its value.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_COLLAPSED_H
#define CAIRN_REPORT_COLLAPSED_H

#include "report/view.h"

enum cairn_collapsed_columns {
	CAIRN_COLLAPSED_VALUE,        /* with a base: the change, with its sign */
	CAIRN_COLLAPSED_BEFORE_AFTER, /* two numbers, as difffolded.pl has them: the base, and the value now, without fractions */
	CAIRN_COLLAPSED_CUT,          /* the value without its fraction, as jeprof and scripts that use it have it */
};

/* Appends the lines to OUT: whole numbers, whose sum is that of the estimates for CAIRN_COLLAPSED_VALUE. Stacks with the same names are one
 * line; those with the value 0 are left out. Semicolons and line ends in names become colons and spaces, since the format cannot escape
 * them. */
void cairn_collapsed_text(struct cairn_view *view, enum cairn_collapsed_columns columns, struct cairn_buffer *out);

#endif
