/* filter.h - filters of a view: stacks by their frames or labels, and frames by name.
 *
 * They apply in this order: exclude and retain remove frames by name alone; focus and ignore select stacks; hide and show remove frames;
 * show_from cuts off the callers of the outermost match in each stack; tagfocus and tagignore select samples by their labels. A stack
 * without any frames left is left out. A regular expression is matched against the function's full name, its name as shown, its file and
 * its module's path.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FILTER_H
#define CAIRN_REPORT_FILTER_H

#include "base/error.h"

struct cairn_view;

/* Regular expressions, or NULL. The tag filters are like pprof's: [key=]regex,regex or [key=]low:high with units, with either end open,
 * such as bytes=4KiB: or thread=worker. */
struct cairn_filter_options {
	const char *focus;
	const char *ignore;
	const char *hide;
	const char *show;
	const char *show_from;
	const char *exclude;
	const char *retain;
	const char *tag_focus;
	const char *tag_ignore;
};

/* Applies the options of VIEW, whose samples and locations are complete. Fails with a message if an expression does not compile or
 * nothing is left. */
bool cairn_filter_view(struct cairn_view *view, struct cairn_error *error);

#endif
