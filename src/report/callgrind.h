/* callgrind.h - a view in Callgrind's format, for KCachegrind and callgrind_annotate.
 * https://valgrind.org/docs/manual/cl-format.html describes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_CALLGRIND_H
#define CAIRN_REPORT_CALLGRIND_H

#include "report/view.h"

/* One event, the value that is shown. What shrank cannot be written and is left out. */
void cairn_callgrind_write(struct cairn_view *view, struct cairn_buffer *out);

#endif
