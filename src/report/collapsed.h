/* collapsed.h - folded text: one line for each stack, root to leaf, and its value. What flame graph tools read.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_COLLAPSED_H
#define CAIRN_REPORT_COLLAPSED_H

#include "report/view.h"

enum cairn_collapsed_columns {
	CAIRN_COLLAPSED_VALUE,        /* with a base: the change, with its sign */
	CAIRN_COLLAPSED_BEFORE_AFTER, /* two numbers: what the base has, and what there is now */
};

/* Appends the lines to OUT. Stacks that read the same are one line; those that come to nothing are left out. Semicolons
 * and line ends in names become colons and spaces, since the format has no escape for them. */
void cairn_collapsed_text(struct cairn_view *view, enum cairn_collapsed_columns columns, struct cairn_buffer *out);

#endif
