/* list_html.h - the listing of source code as one page: each line with what it holds, and its instructions where it is opened.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_LIST_HTML_H
#define CAIRN_REPORT_LIST_HTML_H

#include "report/disasm.h"
#include "report/list.h"

/* Appends the page. LIST is of VIEW, made by lines; SEARCH is where sources are looked for. FIND says where the programs may be, whose
 * instructions are shown where objdump is there and has them, and are left out elsewhere. */
void cairn_list_html(const struct cairn_list *list, struct cairn_view *view, const char *wanted, const char *search,
		     const struct cairn_find_options *find, struct cairn_buffer *out);

#endif
