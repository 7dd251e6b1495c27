/* filter.h - what a view leaves out: whole stacks by what they pass through or how they are labelled, and frames by name.
 *
 * In this order: exclude and retain take frames away by name alone; focus and ignore choose stacks; hide and show take
 * frames away; show_from cuts each stack above (towards the root of) the outermost match; tagfocus and tagignore
 * choose samples by their labels. A stack that has lost all its frames is left out.
 * A regular expression is matched against the function's full name, its name as shown, its file and its module's path.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_FILTER_H
#define CAIRN_REPORT_FILTER_H

#include "base/error.h"

struct cairn_view;

/* Regular expressions, NULL where nothing is asked for. The tag filters are as pprof's: [key=]regex,regex or
 * [key=]low:high with units, either end open, such as bytes=4KiB: or thread=worker. */
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

/* Applies the options of VIEW to it, whose samples and locations are there. Fails with a sentence where an expression does
 * not compile, and where nothing is left. */
bool cairn_filter_view(struct cairn_view *view, struct cairn_error *error);

#endif
