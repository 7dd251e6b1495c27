/* list_html.h - the listing of source code as one page: each line with its memory, and its instructions when it is opened.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_LIST_HTML_H
#define CAIRN_REPORT_LIST_HTML_H

#include "report/disasm.h"
#include "report/list.h"

/* Appends the page. LIST belongs to VIEW, which is by lines, and WANTED is the pattern it was made with; SEARCH says where source files
 * are, FIND where the programs may be. Their instructions are shown if objdump is installed and can read them. */
void cairn_list_html(const struct cairn_list *list, struct cairn_view *view, const char *wanted, const struct cairn_source_search *search,
		     const struct cairn_find_options *find, struct cairn_buffer *out);

#endif
